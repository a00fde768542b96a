/*
 * values.c - documents and paths into them: a path on the first line, a
 * document on the others. A path finds the value that a walk over the tree
 * finds; a document that is written reads back the same; what a cursor finds in
 * the text is what the tree has.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "cursor_walk.h"
#include "json/search.h"
#include "json/text.h"
#include "kubelua/memory.h"
#include "kubelua/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 300 };

/* A walk over all values of a document, with the path to the current one. */
typedef struct walk {
    const kl_value *root;
    kl__buf path;
    size_t visited;
    kl_writer *writer;
} walk;

static void expect_number(const kl_value *value)
{
    double real = kl_value_real(value);
    int64_t integer = kl_value_integer(value);
    uint64_t positive = kl_value_unsigned(value);

    FUZZ_EXPECT(!isnan(real));
    if (integer > 0) {
        FUZZ_EXPECT(positive == (uint64_t)integer);
    }
    if (integer != 0) {
        FUZZ_EXPECT(real == (double)integer);
    }
    if (positive != 0) {
        FUZZ_EXPECT(real == (double)positive);
    }
}

static void write_scalar(kl_writer *writer, const kl_value *value)
{
    size_t length;
    const char *text = kl_value_string(value, &length);

    switch (kl_value_type(value)) {
    case KL_NULL:
        kl_writer_null(writer);
        break;
    case KL_BOOL:
        kl_writer_bool(writer, kl_value_bool(value));
        break;
    case KL_INTEGER:
        expect_number(value);
        kl_writer_integer(writer, kl_value_integer(value));
        break;
    case KL_REAL:
        expect_number(value);
        kl_writer_real(writer, kl_value_real(value));
        break;
    case KL_STRING:
        FUZZ_EXPECT(text[length] == '\0');
        kl_writer_string(writer, text, length);
        break;
    default:
        expect_number(value);
        kl_writer_value(writer, value);
        break;
    }
}

/* The path of the walk finds this value. */
static void expect_found(walk *self, const kl_value *value)
{
    kl_error err;
    kl_path *path;

    self->visited++;
    if (self->path.length == 0 || self->visited > MOST_VALUES) {
        return;
    }
    path = kl_path_parse(self->path.bytes, &err);
    FUZZ_EXPECT(path != NULL);
    FUZZ_EXPECT(strcmp(kl_path_text(path), self->path.bytes) == 0);
    FUZZ_EXPECT(kl_path_first(path, self->root) ==
                (kl_value_type(value) != KL_NULL ? value : NULL));
    kl_path_free(path);
}

static void put_name(kl__buf *path, const char *name, size_t length)
{
    kl__buf_puts(path, "[\"");
    for (size_t i = 0; i < length; i++) {
        if (name[i] == '"' || name[i] == '\\') {
            kl__buf_putc(path, '\\');
        }
        kl__buf_putc(path, name[i]);
    }
    kl__buf_puts(path, "\"]");
}

/* `found`: the path finds this value; not so if a later member has the same
 * name, or a name has a NUL byte. */
static void walk_value(walk *self, const kl_value *value, bool found)
{
    bool is_object = kl_value_type(value) == KL_OBJECT;
    size_t before = self->path.length, index = 0;
    const kl_value *key, *element;
    kl_value_iter iter = {0};

    if (found) {
        expect_found(self, value);
    }
    if (!is_object && kl_value_type(value) != KL_ARRAY) {
        write_scalar(self->writer, value);
        return;
    }
    (is_object ? kl_writer_begin_object : kl_writer_begin_array)(self->writer);
    while ((element = kl_value_next(value, &iter, &key)) != NULL) {
        bool reaches = found;

        FUZZ_EXPECT(is_object == (key != NULL));
        if (is_object) {
            size_t length;
            const char *name = kl_value_string(key, &length);

            kl_writer_name(self->writer, name, length);
            reaches = reaches && strlen(name) == length &&
                      kl_value_get(value, name) == element;
            put_name(&self->path, name, length);
        } else {
            FUZZ_EXPECT(index > 40 || kl_value_at(value, index) == element);
            kl__buf_printf(&self->path, "[%zu]", ++index);
        }
        walk_value(self, element, reaches);
        self->path.length = before;
        if (self->path.bytes != NULL) {
            self->path.bytes[before] = '\0';
        }
    }
    (is_object ? kl_writer_end_object : kl_writer_end_array)(self->writer);
    FUZZ_EXPECT(kl_value_next(value, &iter, NULL) == NULL);
    FUZZ_EXPECT(iter.index == kl_value_size(value));
}

static void expect_reads_back(const kl_value *root, const char *json,
                              size_t length)
{
    kl_doc *again = kl_doc_parse(json, length, NULL);

    FUZZ_EXPECT(again != NULL);
    FUZZ_EXPECT(fuzz_same(root, kl_doc_root(again)));
    kl_doc_unref(again);
}

/* What a path finds. */
typedef struct found {
    const kl_value *first;
    size_t count;
    size_t stop; /* stop after so many */
} found;

static kl_code take(void *context, const kl_value *value)
{
    found *self = context;

    FUZZ_EXPECT(kl_value_type(value) != KL_NULL);
    self->first = self->count == 0 ? value : self->first;
    self->count++;
    return self->count == self->stop ? KL_EGONE : KL_OK;
}

/* A value of the text at the path, as many times as in the tree. */
static bool count_place(void *context, size_t i, const char *value)
{
    size_t *count = context;

    FUZZ_EXPECT(i == 0 && *value != 'n');
    ++*count;
    return true;
}

static void forget_places(void *context)
{
    size_t *count = context;

    *count = 0;
}

static void expect_searched(const kl_path *path, fuzz_text json,
                            size_t expected)
{
    size_t count = 0;
    kl__search search = {.paths = &path,
                         .count = 1,
                         .take = count_place,
                         .forget = forget_places,
                         .context = &count};
    char *text = malloc(json.length + 1);
    size_t length;

    FUZZ_EXPECT(text != NULL);
    length = kl__text_compact(text, json.bytes, json.length);
    text[length] = '\0';
    FUZZ_EXPECT(kl__search_run(&search, text, text + length));
    FUZZ_EXPECT(count == expected);
    free(text);
}

/* True if an object of the value has a name twice. */
static bool has_repeated(const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *part;
    size_t *numbers, count;
    bool is_found;

    FUZZ_EXPECT(kl_value_replaced(value, &numbers, &count, NULL) == KL_OK);
    kl_free(numbers);
    is_found = count > 0;
    while (!is_found && (part = kl_value_next(value, &iter, NULL)) != NULL) {
        is_found = has_repeated(part);
    }
    return is_found;
}

/* Without the members that do not count, the value has the same hash, for which
 * they do not count either; and no name is twice in an object. */
static void expect_distinct(const kl_value *root, fuzz_text json)
{
    char *text = malloc(json.length + 1), *copy, *none;
    size_t length = kl__text_compact(text, json.bytes, json.length);
    char hash[KL_HASH_SIZE], other[KL_HASH_SIZE];
    kl_doc *doc;

    text[length] = '\0';
    FUZZ_EXPECT(kl_cursor_distinct(text, text + length, &copy, &length, NULL) ==
                KL_OK);
    FUZZ_EXPECT((copy != NULL) == has_repeated(root));
    if (copy != NULL) {
        doc = kl_doc_parse(copy, length, NULL);
        FUZZ_EXPECT(doc != NULL);
        FUZZ_EXPECT(kl_value_hash(root, hash, NULL) == KL_OK);
        FUZZ_EXPECT(kl_value_hash(kl_doc_root(doc), other, NULL) == KL_OK);
        FUZZ_EXPECT(strcmp(hash, other) == 0);
        FUZZ_EXPECT(kl_cursor_distinct(copy, copy + length, &none, &length,
                                       NULL) == KL_OK);
        FUZZ_EXPECT(none == NULL);
        kl_doc_unref(doc);
    }
    kl_free(copy);
    free(text);
}

static void expect_path(fuzz_text line, const kl_value *root, fuzz_text json)
{
    char *text = fuzz_string(line);
    kl_error err = {.code = KL_OK};
    kl_path *path = kl_path_parse(text, &err);
    found all = {0}, some = {.stop = 2};

    if (path == NULL) {
        FUZZ_EXPECT(err.code == KL_EINVAL && err.message[0] != '\0');
    } else {
        FUZZ_EXPECT(strcmp(kl_path_text(path), text) == 0);
        FUZZ_EXPECT(kl_path_each(path, root, take, &all) == KL_OK);
        FUZZ_EXPECT(kl_path_first(path, root) == all.first);
        FUZZ_EXPECT(kl_path_each(path, root, take, &some) ==
                    (all.count >= 2 ? KL_EGONE : KL_OK));
        FUZZ_EXPECT(strstr(text, "[*]") != NULL || all.count <= 1);
        if (root != NULL) {
            expect_searched(path, json, all.count);
        }
    }
    kl_path_free(path);
    free(text);
}

void fuzz_values(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text line = fuzz_line(&text);
    char *block = fuzz_block(text), *json;
    kl_error err = {.code = KL_OK};
    kl_doc *doc = kl_doc_parse(block, text.length, &err);
    walk self = {.writer = kl_writer_new()};
    const char *written;

    if (doc != NULL) {
        FUZZ_EXPECT(cursor_walk(block, text.length, kl_doc_root(doc)) == NULL);
    }
    if (doc != NULL) {
        expect_distinct(kl_doc_root(doc), (fuzz_text){block, text.length});
    }
    expect_path(line, doc != NULL ? kl_doc_root(doc) : NULL,
                (fuzz_text){block, text.length});
    free(block);
    if (doc == NULL) {
        FUZZ_EXPECT(err.code == KL_EPARSE && err.message[0] != '\0');
        kl_writer_free(self.writer);
        return;
    }
    self.root = kl_doc_root(doc);
    walk_value(&self, self.root, true);
    written = kl_writer_finish(self.writer, &length, &err);
    FUZZ_EXPECT(written != NULL);
    expect_reads_back(self.root, written, length);
    json = kl_value_json(self.root, &length, NULL);
    expect_reads_back(self.root, json, length);
    kl_free(json);
    kl__buf_deinit(&self.path);
    kl_writer_free(self.writer);
    kl_doc_unref(doc);
}
