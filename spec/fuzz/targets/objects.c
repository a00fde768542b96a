/*
 * objects.c - the object reader: options on the first line ("k" a kind and "a"
 * an apiVersion to add, "m" keeps managedFields, "p" keeps metadata only), the
 * object's text on the others. The object has the identity that yyjson's tree
 * has, and its text is that tree.
 */
#include "fuzz.h"

#include "json/text.h"
#include "kubelua/cursor.h"
#include "kubelua/memory.h"
#include "kubelua/object.h"
#include "object/object.h"
#include "object/prune.h"

#include <stdlib.h>
#include <string.h>

/* True if a name is in an object; *found gets its last value. */
static bool has_member(const kl_value *object, const char *name,
                       const kl_value **found)
{
    kl_value_iter iter = {0};
    const kl_value *key, *value;

    *found = NULL;
    if (kl_value_type(object) != KL_OBJECT) {
        return false;
    }
    while ((value = kl_value_next(object, &iter, &key)) != NULL) {
        size_t length;
        const char *text = kl_value_string(key, &length);

        if (fuzz_is((fuzz_text){text, length}, name)) {
            *found = value;
        }
    }
    return *found != NULL;
}

/* True if a member can be part of the identity. `text` gets the member, "" if
 * it is absent or null. */
static bool text_of(const kl_value *object, const char *name, const char **text)
{
    const kl_value *value;
    size_t length = 0;

    *text = "";
    has_member(object, name, &value);
    if (kl_value_type(value) == KL_NULL) {
        return true;
    }
    if (kl_value_type(value) != KL_STRING) {
        return false;
    }
    *text = kl_value_string(value, &length);
    return strlen(*text) == length;
}

/* What the object should be, according to the tree. */
typedef struct expected {
    const char *kind, *api_version, *name, *name_space, *uid, *version;
    bool adds_kind, adds_api_version;
} expected;

static bool type_of(const kl_value *root, const char *name,
                    const char *otherwise, const char **text, bool *adds)
{
    const kl_value *value;
    bool sound = text_of(root, name, text);

    *adds = !has_member(root, name, &value) && otherwise != NULL;
    *text = *adds ? otherwise : *text;
    return sound;
}

/* With metadata alone, kind and apiVersion are not kept but added again; a
 * PartialObjectMetadata gets those of the whole object. */
static bool keep_metadata(const kl_object_options *options, expected *out)
{
    if (!options->metadata_only) {
        return true;
    }
    if (strcmp(out->kind, "PartialObjectMetadata") == 0 &&
        (strcmp(out->api_version, "meta.k8s.io/v1") == 0 ||
         strcmp(out->api_version, "meta.k8s.io/v1beta1") == 0)) {
        out->kind = options->kind != NULL ? options->kind : "";
        out->api_version =
            options->api_version != NULL ? options->api_version : "";
    }
    out->adds_kind = *out->kind != '\0';
    out->adds_api_version = *out->api_version != '\0';
    return true;
}

/* False: the text is not an object that can be kept. */
static bool expect_of(const kl_value *root, const kl_object_options *options,
                      expected *out)
{
    const kl_value *metadata;

    return kl_value_type(root) == KL_OBJECT &&
           has_member(root, "metadata", &metadata) &&
           kl_value_type(metadata) == KL_OBJECT &&
           type_of(root, "kind", options->kind, &out->kind, &out->adds_kind) &&
           type_of(root, "apiVersion", options->api_version, &out->api_version,
                   &out->adds_api_version) &&
           text_of(metadata, "name", &out->name) && *out->name != '\0' &&
           strchr(out->name, '/') == NULL &&
           text_of(metadata, "namespace", &out->name_space) &&
           strchr(out->name_space, '/') == NULL &&
           text_of(metadata, "uid", &out->uid) &&
           text_of(metadata, "resourceVersion", &out->version) &&
           keep_metadata(options, out);
}

/* True if two objects have the same members, except one name of the first; with
 * `inner` except that name in its member "metadata". */
static bool same_without(const kl_value *a, const kl_value *b,
                         kl_value_iter at_b, const char *without, bool inner)
{
    kl_value_iter at_a = {0};
    const kl_value *a_key, *b_key, *value, *other;

    while ((value = kl_value_next(a, &at_a, &a_key)) != NULL) {
        size_t length;
        const char *name = kl_value_string(a_key, &length);

        /* A name with a NUL byte is another name. */
        if (without != NULL && !inner && strlen(without) == length &&
            memcmp(name, without, length) == 0) {
            continue;
        }
        other = kl_value_next(b, &at_b, &b_key);
        if (other == NULL || !fuzz_same(a_key, b_key)) {
            return false;
        }
        if (inner && strcmp(name, "metadata") == 0) {
            kl_value_iter start = {0};

            if (!same_without(value, other, start, without, false)) {
                return false;
            }
        } else if (!fuzz_same(value, other)) {
            return false;
        }
    }
    return kl_value_next(b, &at_b, NULL) == NULL;
}

/* Skips a member that was added, which must be there. */
static void skip_added(const kl_value *root, kl_value_iter *iter, bool adds,
                       const char *name, const char *text)
{
    const kl_value *key, *value;

    if (!adds) {
        return;
    }
    value = kl_value_next(root, iter, &key);
    FUZZ_EXPECT(value != NULL && kl_value_type(value) == KL_STRING);
    FUZZ_EXPECT(strcmp(kl_value_string(key, NULL), name) == 0);
    FUZZ_EXPECT(strcmp(kl_value_string(value, NULL), text) == 0);
}

static void expect_identity(const kl_object *object, const expected *want)
{
    size_t space = strlen(want->name_space);
    const char *key = kl_object_key(object);

    FUZZ_EXPECT(strcmp(kl_object_name(object), want->name) == 0);
    FUZZ_EXPECT(strcmp(kl_object_namespace(object), want->name_space) == 0);
    FUZZ_EXPECT(strcmp(kl_object_uid(object), want->uid) == 0);
    FUZZ_EXPECT(strcmp(kl_object_resource_version(object), want->version) == 0);
    FUZZ_EXPECT(strcmp(kl_object_kind(object), want->kind) == 0);
    FUZZ_EXPECT(strcmp(kl_object_api_version(object), want->api_version) == 0);
    if (space > 0) {
        FUZZ_EXPECT(strncmp(key, want->name_space, space) == 0);
        FUZZ_EXPECT(key[space] == '/');
        key += space + 1;
    }
    FUZZ_EXPECT(strcmp(key, want->name) == 0);
}

static void expect_text(kl_object *object, const kl_value *root,
                        const kl_object_options *options, const expected *want)
{
    kl_value_iter iter = {0};
    size_t length;
    const char *json = kl_object_json(object, &length, NULL);
    const kl_value *tree = kl_object_open(object, NULL);
    const char *without;
    kl_object *again;

    FUZZ_EXPECT(strlen(json) == length);
    FUZZ_EXPECT(kl__text_measure(json, length).spaces == 0);
    FUZZ_EXPECT(kl_object_bytes(object) > length);
    FUZZ_EXPECT(tree != NULL && kl_object_open(object, NULL) == tree);
    kl_object_close(object);
    skip_added(tree, &iter, want->adds_api_version, "apiVersion",
               want->api_version);
    skip_added(tree, &iter, want->adds_kind, "kind", want->kind);
    without = options->keep_managed_fields ? NULL : "managedFields";
    if (options->metadata_only) {
        const kl_value *key, *metadata = kl_value_next(tree, &iter, &key);
        kl_value_iter start = {0};

        FUZZ_EXPECT(strcmp(kl_value_string(key, NULL), "metadata") == 0);
        FUZZ_EXPECT(same_without(kl_value_get(root, "metadata"), metadata,
                                 start, without, false));
        FUZZ_EXPECT(kl_value_next(tree, &iter, NULL) == NULL);
    } else {
        FUZZ_EXPECT(same_without(root, tree, iter, without, true));
    }
    kl_object_close(object);
    again = kl_object_parse(json, length, options, NULL);
    FUZZ_EXPECT(again != NULL);
    /* With metadata alone, an empty kind is left out, and added the next
     * time. */
    FUZZ_EXPECT((options->metadata_only &&
                 (*want->kind == '\0' || *want->api_version == '\0')) ||
                strcmp(kl_object_json(again, NULL, NULL), json) == 0);
    kl_object_unref(again);
}

static bool has_repeated(const kl_value *object)
{
    size_t *numbers, count;

    FUZZ_EXPECT(kl_value_replaced(object, &numbers, &count, NULL) == KL_OK);
    kl_free(numbers);
    return count > 0;
}

/* What is kept of a text: if a name is twice among the outermost members or in
 * the metadata, the members that count. */
static kl_doc *kept_of(fuzz_text text, kl_doc *doc)
{
    const kl_value *root = doc != NULL ? kl_doc_root(doc) : NULL;
    char *compact, *copy;
    size_t length;

    if (!has_repeated(root) && !has_repeated(kl_value_get(root, "metadata"))) {
        return kl_doc_ref(doc);
    }
    compact = malloc(text.length + 1);
    length = kl__text_compact(compact, text.bytes, text.length);
    compact[length] = '\0';
    FUZZ_EXPECT(kl_cursor_distinct(compact, compact + length, &copy, &length,
                                   NULL) == KL_OK);
    doc = kl_doc_parse(copy, length, NULL);
    FUZZ_EXPECT(doc != NULL);
    kl_free(copy);
    free(compact);
    return doc;
}

static void expect_object(fuzz_text text, const kl_doc *doc,
                          const kl_object_options *options)
{
    kl__text_shape shape = kl__text_measure(text.bytes, text.length);
    kl_error err = {.code = KL_OK};
    expected want;
    kl_object *object = kl_object_parse(text.bytes, text.length, options, &err);
    bool sound = doc != NULL && expect_of(kl_doc_root(doc), options, &want);

    FUZZ_EXPECT(sound == (object != NULL));
    if (object != NULL) {
        kl_object *measured = kl__object_parse_measured(text.bytes, text.length,
                                                        &shape, options, &err);

        FUZZ_EXPECT(strcmp(kl_object_json(object, NULL, NULL),
                           kl_object_json(measured, NULL, NULL)) == 0);
        kl_object_unref(measured);
        expect_identity(object, &want);
        expect_text(object, kl_doc_root(doc), options, &want);
    } else {
        FUZZ_EXPECT(err.code == KL_EPARSE && err.message[0] != '\0');
    }
    kl_object_unref(object);
}

/* Pruned JSON is JSON; of any other bytes, nothing beyond the text is read. */
static void expect_pruned(fuzz_text text, const kl_doc *doc)
{
    static const char *const drop[] = {"spec[*].a", "metadata.annotations",
                                       NULL};
    static const char *const keep[] = {"spec", "status.a", NULL};
    kl__prune *prune;
    kl__buf out = {0};
    kl_code code;

    FUZZ_EXPECT(kl__prune_new(drop, keep, &prune, NULL) == KL_OK);
    code = kl__prune_text(prune, text.bytes, text.length, &out);
    if (doc != NULL && kl_value_type(kl_doc_root(doc)) == KL_OBJECT) {
        kl_doc *left = kl_doc_parse(out.bytes, out.length, NULL);

        FUZZ_EXPECT(code == KL_OK && left != NULL);
        kl_doc_unref(left);
    }
    kl__buf_deinit(&out);
    kl__prune_unref(prune);
}

void fuzz_objects(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text line = fuzz_line(&text);
    kl_object_options options = {0};
    char *block;
    kl_doc *doc, *kept;

    for (size_t i = 0; i < line.length; i++) {
        options.kind = line.bytes[i] == 'k' ? "Pod\"s" : options.kind;
        options.api_version = line.bytes[i] == 'a' ? "v1" : options.api_version;
        options.keep_managed_fields |= line.bytes[i] == 'm';
        options.metadata_only |= line.bytes[i] == 'p';
    }
    block = fuzz_block(text);
    text.bytes = block;
    doc = kl_doc_parse(text.bytes, text.length, NULL);
    kept = doc != NULL ? kept_of(text, doc) : NULL;
    expect_object(text, kept, &options);
    expect_pruned(text, doc);
    kl_doc_unref(kept);
    kl_doc_unref(doc);
    free(block);
}
