/*
 * fields.c - an object of a built-in kind, which the first line names ("apps v1
 * Deployment"). An object that decodes without an error has a canonical form,
 * which has no error, and does not change when it is decoded again. An object
 * without unknown fields is the same after protobuf and back.
 */
#include "fuzz.h"

#include "kubelua/memory.h"
#include "sim/core/schema/schema_check.h"
#include "sim/core/schema/schema_normal.h"
#include "sim/core/schema/protobuf_scalar.h"
#include "sim/core/schema/schema_protobuf.h"

#include <string.h>

/* The schema of "group version kind", the group "-" for the core; NULL: there
 * is no such kind. */
static const kl__schema *schema_of(fuzz_text line)
{
    char text[128] = "";
    char *version, *kind;

    if (line.length >= sizeof(text)) {
        return NULL;
    }
    memcpy(text, line.bytes, line.length);
    version = strchr(text, ' ');
    kind = version != NULL ? strchr(version + 1, ' ') : NULL;
    if (kind == NULL) {
        return NULL;
    }
    *version = *kind = '\0';
    return kl__schema_builtin(*text == '-' ? "" : text, version + 1, kind + 1,
                              NULL);
}

static void store(kl__edit *edit, kl__node *object, const kl__schema *schema)
{
    FUZZ_EXPECT(kl__schema_normalize(edit, object, schema));
    FUZZ_EXPECT(kl__schema_complete(edit, object, schema));
    FUZZ_EXPECT(kl__schema_normalize(edit, object, schema));
}

static void check_stored(kl__edit *edit, kl__node *object,
                         const kl__schema *schema)
{
    kl__findings found = {0};
    kl__node *again;

    store(edit, object, schema);
    FUZZ_EXPECT(kl__schema_check(object, schema, &found, NULL) == KL_OK);
    FUZZ_EXPECT(found.error == NULL && found.field_count == 0);
    kl__findings_deinit(&found);
    again = kl__edit_copy(edit, object);
    store(edit, again, schema);
    FUZZ_EXPECT(kl__node_equal(object, again));
}

static bool strip(kl__node *node, const kl__schema *schema);

/* Strips all members of an object, and removes those that protobuf cannot tell
 * from absent ones. */
static void strip_members(kl__node *object, const kl__schema *schema)
{
    kl__node_iter iter = {0};
    kl__node *value;
    const char *name;
    size_t length;

    while ((value = kl__node_next(object, &iter, &name, &length)) != NULL) {
        const kl__schema_field *field = kl__schema_get(schema, name, length);
        bool is_map = schema->type == KL__SCHEMA_MAP;
        const kl__schema *inner = is_map ? schema->items : field->schema;
        /* The decoder does not check yet that such a value has one of its two
         * types. */
        bool is_either = (inner->flags & KL__PROTOBUF_EITHER) != 0;
        bool is_nothing = strip(value, inner);

        if (is_either || (!is_map && (is_nothing || field->number == 0))) {
            kl__node_drop(&iter);
        }
    }
}

/* Removes values that protobuf cannot tell from absent ones. True: the value
 * itself is such a value. */
static bool strip(kl__node *node, const kl__schema *schema)
{
    kl__node_iter iter = {0};
    kl__node *element;
    const char *text;
    size_t length;

    switch (kl__node_type(node)) {
    case KL_OBJECT:
        if (schema->type == KL__SCHEMA_OBJECT ||
            schema->type == KL__SCHEMA_MAP) {
            strip_members(node, schema);
        }
        return kl__node_size(node) == 0;
    case KL_ARRAY:
        while (schema->type == KL__SCHEMA_ARRAY &&
               (element = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
            strip(element, schema->items);
        }
        return kl__node_size(node) == 0;
    case KL_STRING:
        text = kl__node_string(node, &length);
        return length == 0 || strncmp(text, "0001-01-01T00:00:00", 19) == 0;
    case KL_NULL:
        return true;
    case KL_BOOL:
        return !kl__node_bool(node);
    default:
        return kl__node_real(node) == 0;
    }
}

/* True if a value has a part of one of two types. The decoder does not check
 * yet that the part has either type, and reads any other part as nothing. */
static bool has_either(const kl__node *node, const kl__schema *schema)
{
    bool is_map = schema->type == KL__SCHEMA_MAP;
    bool has = (schema->flags & KL__PROTOBUF_EITHER) != 0;
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;
    size_t length;

    if ((!kl__node_is(node, KL_OBJECT) ||
         (!is_map && schema->type != KL__SCHEMA_OBJECT)) &&
        (!kl__node_is(node, KL_ARRAY) || schema->type != KL__SCHEMA_ARRAY)) {
        return has;
    }
    while (!has &&
           (value = kl__node_next(node, &iter, &name, &length)) != NULL) {
        has =
            has_either(value, schema->type == KL__SCHEMA_OBJECT
                                  ? kl__schema_get(schema, name, length)->schema
                                  : schema->items);
    }
    return has;
}

static void put(kl__node *object, const kl__schema *schema, kl__buf *out)
{
    kl__edit *copy = kl__edit_new(NULL);
    kl_doc *doc;

    kl__edit_set_root(copy, kl__edit_copy(copy, object));
    doc = kl__edit_doc(copy, NULL);
    kl__protobuf_encode(schema, kl_doc_root(doc), out);
    FUZZ_EXPECT(!out->failed);
    kl_doc_unref(doc);
    kl__edit_free(copy);
}

static void check_protobuf(kl__edit *edit, kl__node *object,
                           const kl__schema *schema)
{
    kl__buf bytes = {0}, again = {0};
    kl__node *back;

    put(object, schema, &bytes);
    back = kl__protobuf_decode(edit, schema, bytes.bytes, bytes.length, NULL);
    FUZZ_EXPECT(back != NULL);
    put(back, schema, &again);
    FUZZ_EXPECT(has_either(object, schema) ||
                (bytes.length == again.length &&
                 (bytes.length == 0 ||
                  memcmp(bytes.bytes, again.bytes, bytes.length) == 0)));
    strip(object, schema);
    strip(back, schema);
    FUZZ_EXPECT(kl__node_equal(object, back));
    kl__buf_deinit(&bytes);
    kl__buf_deinit(&again);
}

void fuzz_fields(const char *bytes, size_t length)
{
    fuzz_text rest = {bytes, length};
    const kl__schema *schema = schema_of(fuzz_line(&rest));
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *object = kl__edit_parse(edit, rest.bytes, rest.length, NULL);
    kl__findings found = {0};

    if (schema != NULL && kl__node_is(object, KL_OBJECT)) {
        FUZZ_EXPECT(kl__schema_check(object, schema, &found, NULL) == KL_OK);
        FUZZ_EXPECT(found.field_count <= 100);
        if (found.error == NULL) {
            check_stored(edit, object, schema);
        }
        if (found.error == NULL && found.field_count == 0) {
            check_protobuf(edit, object, schema);
        }
        kl__findings_deinit(&found);
    }
    kl__edit_free(edit);
    kl__schema_release();
}
