/*
 * yaml.c - manifests: YAML or JSON text. Every document that comes out is JSON
 * that has each name once, and means the same when it is read again, as JSON
 * and as YAML; a text that is one JSON value comes out as that value.
 */
#include "fuzz.h"

#include "config/yaml_json.h"
#include "config/yaml_tree.h"
#include "kubelua/manifest.h"
#include "kubelua/memory.h"

#include <stdlib.h>
#include <string.h>

/* Keys of YAML have at most 1,024 bytes unless they are marked, and JSON's are
 * not; escapes may double their length. */
enum {
    LONGEST_KEY = 500,
    MOST_DOCUMENTS = 64,
    MOST_LINES = 50,
    MOST_MEMBERS = 200,
    LONGEST_NUMBER = 400
};

typedef struct documents {
    fuzz_text source;
    bool is_json; /* each is a part of the source, not written anew */
    kl_doc *docs[MOST_DOCUMENTS];
    size_t count;
} documents;

static kl_code keep(void *context, const char *json, size_t length,
                    kl_error *err)
{
    documents *self = context;
    kl_doc *doc = kl_doc_parse(json, length, err);

    FUZZ_EXPECT(doc != NULL);
    self->is_json = json >= self->source.bytes &&
                    json < self->source.bytes + self->source.length;
    if (self->count == MOST_DOCUMENTS) {
        kl_doc_unref(doc);
        return KL_ECANCELED;
    }
    self->docs[self->count++] = doc;
    return KL_OK;
}

static void drop(documents *self)
{
    while (self->count > 0) {
        kl_doc_unref(self->docs[--self->count]);
    }
}

/* True if YAML can hold the keys and texts of a value as JSON spells them. */
static bool is_yaml_too(const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *key, *element;
    size_t length;
    const char *text = kl_value_string(value, &length);

    if (text != NULL) {
        return fuzz_is_plain(text, length);
    }
    while ((element = kl_value_next(value, &iter, &key)) != NULL) {
        if (key != NULL) {
            text = kl_value_string(key, &length);
            if (length > LONGEST_KEY || !fuzz_is_plain(text, length)) {
                return false;
            }
        }
        if (!is_yaml_too(element)) {
            return false;
        }
    }
    return true;
}

/* True if YAML reads the same number. It reads 1.0 as an integer, and a number
 * that is very long or beyond a double as a text. */
static bool is_exact(const kl_value *value)
{
    size_t length;
    const char *text = kl_value_string(value, &length);

    return kl_value_type(value) != KL_REAL &&
           (kl_value_type(value) != KL_NUMBER ||
            (length < LONGEST_NUMBER && strpbrk(text, ".eE") == NULL));
}

/* True if a JSON value, with all its parts, means the same in YAML. */
static bool is_same_in_yaml(const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *key, *element;

    if (!is_exact(value) || kl_value_size(value) > MOST_MEMBERS) {
        return false;
    }
    while ((element = kl_value_next(value, &iter, &key)) != NULL) {
        size_t length = 0;
        const char *name = key != NULL ? kl_value_string(key, &length) : NULL;

        if (!is_same_in_yaml(element) ||
            (key != NULL && kl_value_get_n(value, name, length) != element)) {
            return false;
        }
    }
    return true;
}

static void expect_names_once(const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *key, *element;
    size_t seen = 0;

    while ((element = kl_value_next(value, &iter, &key)) != NULL) {
        if (key != NULL && seen++ < 100) {
            size_t length;
            const char *name = kl_value_string(key, &length);

            FUZZ_EXPECT(kl_value_get_n(value, name, length) == element);
        }
        expect_names_once(element);
    }
}

/* Reads a document's JSON as YAML: it is the same value. */
static void expect_yaml(const char *json, size_t length, const kl_doc *doc)
{
    kl__yaml *yaml = kl__yaml_new(json, length);
    kl_writer *writer = kl_writer_new();
    kl__yaml_node *root = NULL;
    kl_error err = {.message = ""};
    kl_doc *again;
    const char *text;

    FUZZ_EXPECT(kl__yaml_next(yaml, &root, &err) == KL_OK);
    FUZZ_EXPECT(root != NULL);
    FUZZ_EXPECT(kl__yaml_write(writer, root, &err) == KL_OK);
    text = kl_writer_finish(writer, &length, &err);
    FUZZ_EXPECT(text != NULL);
    again = kl_doc_parse(text, length, &err);
    FUZZ_EXPECT(again != NULL);
    FUZZ_EXPECT(fuzz_same(kl_doc_root(doc), kl_doc_root(again)));
    kl_doc_unref(again);
    kl_writer_free(writer);
    kl__yaml_free(yaml);
}

static void expect_stable(const kl_doc *doc, bool is_json)
{
    const kl_value *root = kl_doc_root(doc);
    size_t length;
    char *json = kl_value_json(root, &length, NULL);
    documents again = {.source = {json, length}};
    kl_error err = {.message = ""};
    kl_code code;

    code = kl_manifest_each(json, length, keep, &again, &err);
    if (kl_value_type(root) == KL_OBJECT || kl_value_type(root) == KL_ARRAY) {
        FUZZ_EXPECT(code == KL_OK && again.count == 1);
        FUZZ_EXPECT(fuzz_same(root, kl_doc_root(again.docs[0])));
    }
    if (!is_json) {
        expect_names_once(root);
    }
    if ((!is_json || is_same_in_yaml(root)) && is_yaml_too(root)) {
        expect_yaml(json, length, doc);
    }
    drop(&again);
    kl_free(json);
}

static bool is_one_json(fuzz_text text, const kl_doc *whole)
{
    kl_type type = whole != NULL ? kl_value_type(kl_doc_root(whole)) : KL_NULL;

    return text.length > 0 && (type == KL_OBJECT || type == KL_ARRAY);
}

static void expect_line(fuzz_text text, const kl_doc *doc)
{
    kl_value_iter iter = {0};
    const kl_value *key;
    /* an absent path at the end counts as the line after it */
    size_t lines = 2;

    for (size_t i = 0; i < text.length; i++) {
        lines += text.bytes[i] == '\n';
    }
    while (kl_value_next(kl_doc_root(doc), &iter, &key) != NULL &&
           iter.index < MOST_LINES) {
        const char *name = key != NULL ? kl_value_string(key, NULL) : "1";
        const char *path[] = {name, "name", "1", NULL};
        size_t line = kl__yaml_line(text.bytes, text.length, path);

        /* YAML has more line ends than this counts: CR, NEL, LS, PS. */
        FUZZ_EXPECT(!fuzz_is_plain(text.bytes, text.length) ||
                    memchr(text.bytes, '\r', text.length) != NULL ||
                    line <= lines);
    }
}

void fuzz_yaml(const char *bytes, size_t length)
{
    char *block = fuzz_block((fuzz_text){bytes, length});
    fuzz_text text = {block, length};
    kl_doc *whole = kl_doc_parse(text.bytes, text.length, NULL);
    documents all = {.source = text};
    kl_error err = {.code = KL_OK};
    kl_code code = kl_manifest_each(text.bytes, text.length, keep, &all, &err);

    FUZZ_EXPECT(code == KL_OK || code == KL_ECANCELED ||
                ((code == KL_EPARSE || code == KL_ETOO_LARGE) &&
                 err.code == code && strncmp(err.message, "line ", 5) == 0));
    if (is_one_json(text, whole)) {
        FUZZ_EXPECT(code == KL_OK && all.count == 1);
        FUZZ_EXPECT(fuzz_same(kl_doc_root(whole), kl_doc_root(all.docs[0])));
    }
    for (size_t i = 0; i < all.count; i++) {
        expect_stable(all.docs[i], all.is_json);
    }
    if (all.count > 0 && text.length < 4096) {
        expect_line(text, all.docs[0]);
    }
    drop(&all);
    kl_doc_unref(whole);
    free(block);
}
