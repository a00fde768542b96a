/*
 * definitions.c - definitions of custom resources: the schema on the first
 * line, objects on the others. If a schema is valid, an object that was pruned
 * and given its defaults does not change when that is done once more; and an
 * object that fits the schema still fits as an update of itself.
 */
#include "tree.h"

#include "sim/core/schema/custom.h"
#include "sim/core/schema/definition.h"

#include <stdlib.h>
#include <string.h>

static const char before[] =
    "{\"metadata\":{\"name\":\"foos.a.b\"},\"spec\":{\"group\":\"a.b\","
    "\"scope\":\"Cluster\",\"names\":{\"plural\":\"foos\",\"singular\":"
    "\"foo\",\"kind\":\"Foo\",\"listKind\":\"FooList\"},\"versions\":[{"
    "\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
    "\"openAPIV3Schema\":";
static const char after[] = "}}]},\"status\":{\"storedVersions\":[\"v1\"]}}";

/* The definition with that schema; NULL: it is not JSON, or has a name
 * twice. */
static kl_doc *define(fuzz_text schema)
{
    kl__buf text = {0};
    kl_doc *doc;

    kl__buf_append(&text, before, sizeof(before) - 1);
    kl__buf_append(&text, schema.bytes, schema.length);
    kl__buf_append(&text, after, sizeof(after) - 1);
    doc = kl_doc_parse(text.bytes, text.length, NULL);
    if (doc != NULL && kl__check_repeated(kl_doc_root(doc), NULL) != KL_OK) {
        kl_doc_unref(doc);
        doc = NULL;
    }
    kl__buf_deinit(&text);
    return doc;
}

static size_t count_errors(const kl_value *source, const kl__schema *schema,
                           const kl__node *object, const kl__node *old)
{
    kl__field_errors errors = {0};
    size_t count;

    kl__custom_validate(source, object, old, "", &errors);
    if (old == NULL) {
        kl__custom_validate_lists(schema, object, &errors);
    }
    FUZZ_EXPECT(!errors.failed);
    count = errors.count;
    kl__field_errors_deinit(&errors);
    return count;
}

static void shape(const kl__schema *schema, kl__edit *edit, kl__node *object,
                  kl__buf *lines)
{
    FUZZ_EXPECT(kl__custom_prune(schema, object, lines, NULL) == KL_OK);
    kl__custom_drop_nulls(schema, object);
    FUZZ_EXPECT(kl__custom_default(schema, edit, object, NULL) == KL_OK);
}

static void expect_object(const kl_value *source, const kl__schema *schema,
                          fuzz_text text)
{
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *object = fuzz_tree(edit, text);
    kl__buf lines = {0};
    kl__node *once;

    if (kl__node_is(object, KL_OBJECT)) {
        shape(schema, edit, object, &lines);
        once = kl__edit_copy(edit, object);
        lines.length = 0;
        shape(schema, edit, object, &lines);
        FUZZ_EXPECT(lines.length == 0);
        FUZZ_EXPECT(kl__node_equal(once, object));
        if (count_errors(source, schema, object, NULL) == 0) {
            FUZZ_EXPECT(count_errors(source, schema, object, once) == 0);
        }
    }
    kl__buf_deinit(&lines);
    kl__edit_free(edit);
}

void fuzz_definitions(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    kl_doc *doc = define(fuzz_line(&text));
    kl__field_errors errors = {0};
    const kl_value *source = NULL;
    kl__schema *schema;

    if (doc != NULL) {
        kl__definition_validate(kl_doc_root(doc), NULL, &errors);
        source = kl_value_get(kl_doc_root(doc), "spec");
        source = kl_value_at(kl_value_get(source, "versions"), 0);
        source =
            kl_value_get(kl_value_get(source, "schema"), "openAPIV3Schema");
    }
    if (doc != NULL && errors.count == 0) {
        schema = kl__schema_custom(source, NULL);
        FUZZ_EXPECT(schema != NULL);
        while (text.length != 0) {
            expect_object(source, schema, fuzz_line(&text));
        }
        kl__schema_free(schema);
    }
    kl__field_errors_deinit(&errors);
    kl_doc_unref(doc);
}
