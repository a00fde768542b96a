/*
 * protobuf_write_spec.c - objects are encoded as protobuf: byte for byte as by
 * a real server, and every field of every type survives a round trip.
 */
#include "base/base64.h"
#include "kubelua/memory.h"
#include "sim/core/schema/protobuf_scalar.h"
#include "sim/core/schema/protobuf_write.h"
#include "sim/core/schema/schema_protobuf.h"
#include "sim/core/request/sim_protobuf.h"

#include "failing_alloc.h"
#include "protobuf_golden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GOLDENS = sizeof(protobuf_goldens) / sizeof(protobuf_goldens[0]) };

static int tear_down(void **state)
{
    (void)state;
    kl__schema_release();
    return 0;
}

static const char *text_of(const kl_value *object, const char *name)
{
    return kl_value_string(kl_value_get(object, name), NULL);
}

/* The envelope with the object in it; out of memory sticks in `out`. */
static void put_object(const kl_value *object, kl__buf *out)
{
    const char *version = text_of(object, "apiVersion");
    const char *kind = text_of(object, "kind");
    const kl__schema *schema = kl__sim_protobuf_schema(version, kind, NULL);
    size_t begin;

    if (schema == NULL) {
        out->failed = true;
        return;
    }
    kl__protobuf_begin(out, version, kind);
    begin = kl__wire_begin(out, KL__PROTOBUF_RAW);
    kl__protobuf_encode(schema, object, out);
    kl__wire_end(out, begin);
    kl__protobuf_end(out);
}

static void the_bytes_are_those_of_a_real_server(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        const char *json = protobuf_goldens[i].json;
        const char *wanted = protobuf_goldens[i].protobuf;
        kl_doc *doc = kl_doc_parse(json, strlen(json), NULL);
        kl__buf bytes = {0}, made = {0};

        assert_true(kl__base64_decode(&bytes, wanted, strlen(wanted)));
        put_object(kl_doc_root(doc), &made);
        assert_false(made.failed);
        assert_int_equal(made.length, bytes.length);
        assert_memory_equal(made.bytes, bytes.bytes, bytes.length);
        kl__buf_deinit(&bytes);
        kl__buf_deinit(&made);
        kl_doc_unref(doc);
    }
}

/* --- Objects that have all that their schema knows. ----------------------- */

enum { MAX_WITHIN = 32 };

/* The types that an object is within, which are not put in once more. */
typedef struct filling {
    kl__edit *edit;
    const kl__schema_field *within[MAX_WITHIN];
    size_t depth;
    int64_t count; /* of values, so that no two are the same */
} filling;

static kl__node *fill(filling *self, const kl__schema *schema);

static bool is_within(const filling *self, const kl__schema *schema)
{
    while (schema->type == KL__SCHEMA_ARRAY || schema->type == KL__SCHEMA_MAP) {
        schema = schema->items;
    }
    for (size_t i = 0; i < self->depth; i++) {
        if (schema->type == KL__SCHEMA_OBJECT &&
            self->within[i] == schema->fields) {
            return true;
        }
    }
    return false;
}

static kl__node *fill_object(filling *self, const kl__schema *schema)
{
    kl__node *object = kl__edit_object(self->edit);

    assert_true(self->depth < MAX_WITHIN);
    self->within[self->depth++] = schema->fields;
    for (size_t i = 0; i < schema->field_count; i++) {
        const kl__schema_field *field = &schema->fields[i];

        if (field->number != 0 && !is_within(self, field->schema)) {
            kl__node_put(self->edit, object, field->name,
                         fill(self, field->schema));
        }
    }
    self->depth--;
    return object;
}

static kl__node *fill_text(filling *self, const kl__schema *schema)
{
    static const char *const texts[] = {
        [KL__FORMAT_NONE] = "t\xc3\xa4xt",
        [KL__FORMAT_BYTE] = "AAEC/w==",
        [KL__FORMAT_TIME] = "2026-01-02T03:04:05Z",
        [KL__FORMAT_MICROTIME] = "2026-01-02T03:04:05.000006Z",
        [KL__FORMAT_QUANTITY] = "1500m",
    };

    assert_int_not_equal(schema->format, KL__FORMAT_DURATION);
    return kl__edit_text(self->edit, texts[schema->format]);
}

/* In turn what may stand there. */
static kl__node *fill_either(filling *self, const kl__schema *schema)
{
    static const char whole[] = "{\"type\":\"x\"}";
    const char *text = self->count % 2 == 0                        ? whole
                       : (schema->flags & KL__SCHEMA_OR_BOOL) != 0 ? "false"
                       : (schema->flags & KL__SCHEMA_OR_NAMES) != 0
                           ? "[\"a\",\"b\"]"
                           : "[{\"type\":\"a\"},{\"type\":\"b\"}]";

    return kl__edit_parse(self->edit, text, strlen(text), NULL);
}

static kl__node *fill(filling *self, const kl__schema *schema)
{
    static const char any[] = "{\"z\":[1,\"b\",null,1.5],\"a\":{}}";
    kl__node *node;

    self->count++;
    switch (schema->type) {
    case KL__SCHEMA_OBJECT:
        return fill_object(self, schema);
    case KL__SCHEMA_MAP:
        node = kl__edit_object(self->edit);
        kl__node_put(self->edit, node, "z", fill(self, schema->items));
        kl__node_put(self->edit, node, "a", fill(self, schema->items));
        return node;
    case KL__SCHEMA_ARRAY:
        node = kl__edit_array(self->edit);
        kl__node_append(node, fill(self, schema->items));
        return node;
    case KL__SCHEMA_STRING:
        return fill_text(self, schema);
    case KL__SCHEMA_INTEGER:
        return kl__edit_integer(
            self->edit, self->count % 2 == 0 ? self->count : -self->count);
    case KL__SCHEMA_NUMBER:
        return kl__edit_real(self->edit, (double)self->count + 0.5);
    case KL__SCHEMA_BOOLEAN:
        return kl__edit_bool(self->edit, true);
    case KL__SCHEMA_INT_OR_STRING:
        return self->count % 2 == 0 ? kl__edit_integer(self->edit, -8)
                                    : kl__edit_text(self->edit, "80%");
    default:
        return (schema->flags & KL__PROTOBUF_EITHER) != 0
                   ? fill_either(self, schema)
                   : kl__edit_parse(self->edit, any, strlen(any), NULL);
    }
}

/* What comes back of an object; a node of `edit`. */
static kl__node *there_and_back(kl__edit *edit, const kl__schema *schema,
                                const kl__node *object)
{
    kl__edit *copy = kl__edit_new(NULL);
    kl_doc *doc;
    kl_error err = {0};
    kl__buf bytes = {0};
    kl__node *back;

    kl__edit_set_root(copy, kl__edit_copy(copy, object));
    doc = kl__edit_doc(copy, NULL);
    kl__protobuf_encode(schema, kl_doc_root(doc), &bytes);
    assert_false(bytes.failed);
    back = kl__protobuf_decode(edit, schema, bytes.bytes, bytes.length, &err);
    if (back == NULL) {
        fail_msg("%s: %s", schema->name, err.message);
    }
    kl__buf_deinit(&bytes);
    kl_doc_unref(doc);
    kl__edit_free(copy);
    return back;
}

static void every_field_survives_a_round_trip(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; (name = kl__schema_name_at(i)) != NULL; i++) {
        const kl__schema *schema = kl__schema_type_named(name, NULL);
        filling self = {.edit = kl__edit_new(NULL), .count = (int64_t)i};
        kl__node *object, *back;

        object = fill(&self, schema);
        back = there_and_back(self.edit, schema, object);
        if (!kl__node_equal(object, back)) {
            fail_msg("%s: %s, not %s", name, kl__node_json(back, NULL, NULL),
                     kl__node_json(object, NULL, NULL));
        }
        kl__edit_free(self.edit);
    }
}

/* --- What is not there, or not so. ---------------------------------------- */

static void expect_back(const char *type, const char *json, const char *wanted)
{
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *object = kl__edit_parse(edit, json, strlen(json), NULL);
    kl__node *want = kl__edit_parse(edit, wanted, strlen(wanted), NULL);
    kl__node *back =
        there_and_back(edit, kl__schema_type_named(type, NULL), object);

    if (!kl__node_equal(back, want)) {
        fail_msg("%s", kl__node_json(back, NULL, NULL));
    }
    kl__edit_free(edit);
}

#define CORE "io.k8s.api.core.v1."
#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

static void absent_fields_are_written_as_zero(void **state)
{
    (void)state;
    expect_back(CORE "ContainerPort", "{}", "{\"containerPort\":0}");
    expect_back(CORE "ResourceFieldSelector", "{}",
                "{\"resource\":\"\",\"divisor\":\"0\"}");
    expect_back(CORE "HTTPGetAction", "{}", "{\"port\":0}");
    expect_back(META "Condition", "{\"lastTransitionTime\":null}",
                "{\"type\":\"\",\"status\":\"\",\"reason\":\"\","
                "\"message\":\"\"}");
    expect_back(CORE "SecurityContext", "{\"runAsUser\":0}",
                "{\"runAsUser\":0}");
    expect_back(CORE "ConfigMapEnvSource", "{\"optional\":null}", "{}");
}

static void a_year_has_four_digits(void **state)
{
    static const char year_172[] =
        "{\"creationTimestamp\":\"0172-01-01T00:00:00Z\"}";

    (void)state;
    expect_back(META "ObjectMeta", year_172, year_172);
}

static void a_value_of_a_wrong_type_counts_as_absent(void **state)
{
    (void)state;
    expect_back(CORE "ContainerPort",
                "{\"containerPort\":\"x\",\"name\":7,\"nothing\":1}",
                "{\"containerPort\":0}");
    expect_back(CORE "ConfigMap", "{\"metadata\":1,\"data\":[1]}",
                "{\"metadata\":{}}");
}

static void an_envelope_is_opened_again(void **state)
{
    kl__buf bytes = {0};
    kl__protobuf open;

    (void)state;
    kl__protobuf_begin(&bytes, "apps/v1", "Deployment");
    kl__wire_put_bytes(&bytes, KL__PROTOBUF_RAW, "raw", 3);
    kl__protobuf_end(&bytes);
    assert_int_equal(kl__protobuf_open(bytes.bytes, bytes.length, &open, NULL),
                     KL_OK);
    assert_memory_equal(open.api_version, "apps/v1", 7);
    assert_memory_equal(open.kind, "Deployment", 10);
    assert_int_equal(open.raw_length, 3);
    assert_memory_equal(open.raw, "raw", 3);
    kl__buf_deinit(&bytes);
}

static kl_code write_all(void *context)
{
    kl__buf bytes = {0};
    bool failed;

    for (size_t i = 0; i < GOLDENS; i++) {
        put_object(kl_doc_root(((kl_doc **)context)[i]), &bytes);
    }
    failed = bytes.failed;
    kl__buf_deinit(&bytes);
    kl__schema_release();
    return failed ? KL_ENOMEM : KL_OK;
}

static void running_out_of_memory_is_an_error(void **state)
{
    kl_doc *docs[GOLDENS];

    (void)state;
    kl__schema_release(); /* what was read before */
    for (size_t i = 0; i < GOLDENS; i++) {
        const char *json = protobuf_goldens[i].json;

        docs[i] = kl_doc_parse(json, strlen(json), NULL);
    }
    failing_alloc_each(write_all, docs);
    for (size_t i = 0; i < GOLDENS; i++) {
        kl_doc_unref(docs[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_those_of_a_real_server),
        cmocka_unit_test(every_field_survives_a_round_trip),
        cmocka_unit_test(absent_fields_are_written_as_zero),
        cmocka_unit_test(a_year_has_four_digits),
        cmocka_unit_test(a_value_of_a_wrong_type_counts_as_absent),
        cmocka_unit_test(an_envelope_is_opened_again),
        cmocka_unit_test_teardown(running_out_of_memory_is_an_error, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
