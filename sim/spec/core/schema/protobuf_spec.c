/*
 * protobuf_spec.c - objects and OpenAPI documents in protobuf.
 */
#include "spec_case.h"

#include "base/buf.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "sim/core/schema/openapi_protobuf.h"
#include "sim/core/schema/protobuf_wire.h"
#include "sim/core/schema/schema_protobuf.h"

/* Appends a field of bytes. */
static void put(kl__buf *out, int number, const void *bytes, size_t length)
{
    kl__buf_putc(out, (char)(number << 3 | 2));
    kl__buf_putc(out, (char)length); /* none of these is longer than 127 */
    kl__buf_append(out, bytes, length);
}

static void put_text(kl__buf *out, int number, const char *text)
{
    put(out, number, text, strlen(text));
}

static void put_number(kl__buf *out, int number, uint64_t value)
{
    kl__buf_putc(out, (char)(number << 3));
    while (value >= 0x80) {
        kl__buf_putc(out, (char)(value | 0x80));
        value >>= 7;
    }
    kl__buf_putc(out, (char)value);
}

/* Puts a message into a field of another, and empties it. */
static void put_message(kl__buf *out, int number, kl__buf *message)
{
    kl__buf_append(message, "", 0);
    put(out, number, message->bytes, message->length);
    kl__buf_reset(message);
}

/* Asserts the JSON of a message of that type, or the error. */
static void expect(const char *type, const char *bytes, size_t length,
                   const char *wanted)
{
    kl_error err = {0};
    kl__edit *edit = kl__edit_new(NULL);
    const kl__schema *schema = kl__schema_type_named(type, NULL);
    kl__node *node;
    char *json;

    assert_non_null(schema);
    node = kl__protobuf_decode(edit, schema, bytes, length, &err);
    if (node == NULL) {
        assert_int_equal(err.code, KL_EPARSE);
        assert_string_equal(err.message, wanted);
    } else {
        json = kl__node_json(node, NULL, NULL);
        assert_string_equal(json, wanted);
        kl_free(json);
    }
    kl__edit_free(edit);
}

static void expect_buf(const char *type, kl__buf *bytes, const char *wanted)
{
    expect(type, bytes->bytes, bytes->length, wanted);
    kl__buf_deinit(bytes);
}

#define CORE "io.k8s.api.core.v1."
#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

PLAIN_CASE(texts_maps_and_times_are_read)
{
    kl__buf object = {0}, metadata = {0}, part = {0};

    put_text(&metadata, 1, "a");
    put_text(&metadata, 3, ""); /* namespace: empty and left out */
    put_number(&part, 1, 1795392000);
    put_message(&metadata, 8, &part);
    put_text(&part, 1, "k");
    put_text(&part, 2, "v");
    put_message(&metadata, 11, &part);
    put_message(&object, 1, &metadata);
    put_text(&part, 1, "d");
    put(&part, 2, "\xff", 1);
    put_message(&object, 2, &part);
    put_text(&part, 1, "b");
    put(&part, 2, "\x01\x02", 2);
    put_message(&object, 3, &part);
    expect_buf(CORE "ConfigMap", &object,
               "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":"
               "\"2026-11-23T00:00:00Z\",\"labels\":{\"k\":\"v\"}},\"data\":{"
               "\"d\":\"\xef\xbf\xbd\"},\"binaryData\":{\"b\":\"AQI=\"}}");
    kl__buf_deinit(&metadata);
    kl__buf_deinit(&part);
}

PLAIN_CASE(structs_that_go_inlines_are_messages)
{
    kl__buf volume = {0}, source = {0}, part = {0};

    put_text(&volume, 1, "v");
    put_text(&part, 1, "/tmp");
    put_message(&source, 1, &part);
    put_message(&volume, 2, &source);
    expect_buf(CORE "Volume", &volume,
               "{\"name\":\"v\",\"hostPath\":{\"path\":\"/tmp\"}}");
    kl__buf_deinit(&source);
    kl__buf_deinit(&part);
}

PLAIN_CASE(messages_of_quantities_and_times_become_texts)
{
    kl__buf object = {0}, part = {0}, inner = {0};

    put_number(&part, 1, 1);
    put_text(&part, 3, "50%");
    put_message(&object, 1, &part);
    expect_buf("io.k8s.api.policy.v1.PodDisruptionBudgetSpec", &object,
               "{\"minAvailable\":\"50%\"}");
    put_number(&part, 1, 0);
    put_number(&part, 2, 3);
    put_message(&object, 1, &part);
    expect_buf("io.k8s.api.policy.v1.PodDisruptionBudgetSpec", &object,
               "{\"minAvailable\":3}");
    put_text(&part, 1, "cpu");
    put_text(&inner, 1, "100m");
    put_message(&part, 2, &inner);
    put_message(&object, 1, &part);
    expect_buf(CORE "ResourceRequirements", &object,
               "{\"limits\":{\"cpu\":\"100m\"}}");
    put_text(&part, 1, "{\"f:data\":{}}");
    put_message(&object, 7, &part);
    expect_buf(META "ManagedFieldsEntry", &object,
               "{\"fieldsV1\":{\"f:data\":{}}}");
    put_number(&part, 1, 1795392000);
    put_number(&part, 2, 123456789);
    put_message(&object, 4, &part);
    expect_buf("io.k8s.api.coordination.v1.LeaseSpec", &object,
               "{\"renewTime\":\"2026-11-23T00:00:00.123456Z\"}");
    kl__buf_deinit(&part);
    kl__buf_deinit(&inner);
}

PLAIN_CASE(a_zero_behind_a_pointer_is_kept)
{
    kl__buf object = {0};

    put_number(&object, 1, 0);
    put_number(&object, 5, 0); /* minReadySeconds, which is none */
    expect_buf("io.k8s.api.apps.v1.DeploymentSpec", &object,
               "{\"replicas\":0}");
    put_number(&object, 4, UINT64_MAX); /* terminationGracePeriodSeconds */
    expect_buf(CORE "PodSpec", &object,
               "{\"terminationGracePeriodSeconds\":-1}");
}

PLAIN_CASE(a_malformed_message_is_refused)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *message;
    } rows[] = {
        {"\x0a\x05"
         "a",
         3, "unexpected EOF"},
        {"\x0a", 1, "unexpected EOF"},
        {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12,
         "proto: integer overflow"},
        {"\x0a\x80\x80\x80\x80\x80\x20", 7, "unexpected EOF"},
        {"\x0a\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
         "proto: negative length found during unmarshaling"},
        {"\x08\x01", 2, "proto: wrong wireType = 0 for field ObjectMeta"},
        {"\x0b", 1, "proto: wrong wireType = 3 for field ObjectMeta"},
        {"\x7f\x01", 2, "proto: illegal wireType 7"},
        {"\x02\x01"
         "a",
         3, "proto: ConfigMap: illegal tag 0 (wire type 2)"},
        {"\x0c", 1, "proto: ConfigMap: wiretype end group for non-group"},
        {"\x7b\x7c", 2, "{}"}, /* a group of a field that is not known */
        {"\x7b\x7b\x7c", 3, "unexpected EOF"},
        {"", 0, "{}"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        expect(CORE "ConfigMap", rows[i].bytes, rows[i].length,
               rows[i].message);
    }
}

PLAIN_CASE(too_deep_nesting_is_refused)
{
    static char bytes[4000];
    size_t length = 0;
    kl_error err = {0};
    kl__edit *edit = kl__edit_new(NULL);

    while (length < 1500) { /* `not` within `not`: each wraps what is there */
        char head[4] = {(char)0xe2, 0x01, 0, 0};
        size_t size = 3;

        if (length < 128) {
            head[2] = (char)length;
        } else {
            head[2] = (char)(length | 0x80);
            head[3] = (char)(length >> 7);
            size = 4;
        }
        memmove(bytes + size, bytes, length);
        memcpy(bytes, head, size);
        length += size;
    }
    assert_null(kl__protobuf_decode(
        edit,
        kl__schema_type_named("io.k8s.apiextensions-apiserver.pkg.apis."
                              "apiextensions.v1.JSONSchemaProps",
                              NULL),
        bytes, length, &err));
    assert_int_equal(err.code, KL_EPARSE);
    kl__edit_free(edit);
}

PLAIN_CASE(a_protobuf_envelope_is_opened)
{
    static const char bytes[] = "k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
                                "ConfigMap\x12\x02{}";
    kl__protobuf open;
    kl_error err;

    assert_int_equal(kl__protobuf_open(bytes, sizeof(bytes) - 1, &open, NULL),
                     KL_OK);
    assert_int_equal(open.kind_length, 9);
    assert_memory_equal(open.kind, "ConfigMap", 9);
    assert_memory_equal(open.api_version, "v1", 2);
    assert_int_equal(open.raw_length, 2);
    assert_int_equal(kl__protobuf_open("", 0, &open, &err), KL_EPARSE);
    assert_string_equal(err.message, "empty data");
    assert_int_equal(kl__protobuf_open(bytes, 4, &open, &err), KL_EPARSE);
    assert_string_equal(err.message, "empty body");
    assert_int_equal(kl__protobuf_open("k8x", 3, &open, &err), KL_EPARSE);
    assert_int_equal(kl__protobuf_open(bytes, 12, &open, &err), KL_EPARSE);
    assert_string_equal(err.message, "unexpected EOF");
}

/* ---- An OpenAPI document as protobuf, field by field. In sim/spec/kubectl
 * and sim/spec/clients, decoders of other projects read whole documents. */

static const char document[] =
    "{\"swagger\":\"2.0\",\"other\":[1],\"info\":{\"title\":\"K\"},"
    "\"paths\":{\"/a\":{\"get\":{\"responses\":{\"200\":{\"description\":"
    "\"OK\",\"schema\":{\"$ref\":\"#/b\"}}}},\"patch\":{\"parameters\":[{"
    "\"name\":\"dryRun\",\"in\":\"query\",\"uniqueItems\":true}],"
    "\"x-kubernetes-action\":\"patch\"}}},"
    "\"definitions\":{\"T\":{\"type\":\"object\",\"required\":[\"a\",\"b\"],"
    "\"minimum\":1.5,\"minItems\":300,\"properties\":{\"x-a\":{\"items\":{"
    "\"format\":\"c\"}},\"m\":{\"additionalProperties\":{\"$ref\":\"d\"}},"
    "\"n\":{\"additionalProperties\":true}},\"enum\":[\"e\",1],"
    "\"x-kubernetes-group-version-kind\":[{\"kind\":\"T\"}]}}}";

static void write_document(kl__buf *out)
{
    kl_doc *doc = kl_doc_parse(document, sizeof(document) - 1, NULL);

    if (doc == NULL) {
        out->failed = true;
        return;
    }
    kl__openapi_protobuf(kl_doc_root(doc), out);
    kl_doc_unref(doc);
}

/* The field at the end of a path: numbers, after each which of the fields of
 * that number it is; 0 ends. */
static kl__wire_field find(const kl__buf *bytes, const int *path)
{
    kl__wire wire = kl__wire_of(bytes->bytes, bytes->length);
    kl__wire_field field = {0};

    for (; *path != 0; path += 2) {
        for (int seen = -1; seen < path[1];) {
            assert_false(kl__wire_is_empty(&wire));
            assert_int_equal(kl__wire_next(&wire, "it", &field, NULL), KL_OK);
            seen += field.number == path[0];
        }
        wire = field.bytes;
    }
    return field;
}

#define FIND(whole, ...) find(whole, (const int[]){__VA_ARGS__, 0})

#define EXPECT(whole, text, ...)                                          \
    do {                                                                  \
        kl__wire_field found = FIND(whole, __VA_ARGS__);                  \
                                                                          \
        assert_int_equal(found.bytes.end - found.bytes.at, strlen(text)); \
        assert_memory_equal(found.bytes.at, text, strlen(text));          \
    } while (false)

PLAIN_CASE(each_member_of_openapi_has_its_protobuf_field)
{
    const double minimum = 1.5;
    kl__wire_field real;
    kl__buf bytes = {0};

    write_document(&bytes);
    EXPECT(&bytes, "2.0", 1, 0);
    EXPECT(&bytes, "K", 2, 0, 1, 0);
    /* paths.path[0]: its name, get.responses.response_code[0] */
    EXPECT(&bytes, "/a", 8, 0, 2, 0, 1, 0);
    EXPECT(&bytes, "200", 8, 0, 2, 0, 2, 0, 2, 0, 9, 0, 1, 0, 1, 0);
    EXPECT(&bytes, "#/b", 8, 0, 2, 0, 2, 0, 2, 0, 9, 0, 1, 0, 2, 0, 1, 0, 2, 0,
           1, 0, 1, 0);
    /* patch.parameters[0].parameter.non_body_parameter.query */
    EXPECT(&bytes, "dryRun", 8, 0, 2, 0, 2, 0, 8, 0, 8, 0, 1, 0, 2, 0, 3, 0, 4,
           0);
    EXPECT(&bytes, "\"patch\"", 8, 0, 2, 0, 2, 0, 8, 0, 13, 0, 2, 0, 2, 0);
    /* definitions[0]: its name, then the schema */
    EXPECT(&bytes, "T", 9, 0, 1, 0, 1, 0);
    EXPECT(&bytes, "object", 9, 0, 1, 0, 2, 0, 22, 0, 1, 0);
    EXPECT(&bytes, "b", 9, 0, 1, 0, 2, 0, 19, 1);
    EXPECT(&bytes, "1", 9, 0, 1, 0, 2, 0, 20, 1, 2, 0);
    EXPECT(&bytes, "[{\"kind\":\"T\"}]", 9, 0, 1, 0, 2, 0, 31, 0, 2, 0, 2, 0);
    real = FIND(&bytes, 9, 0, 1, 0, 2, 0, 9, 0);
    assert_memory_equal(&real.value, &minimum, sizeof(minimum));
    assert_int_equal(FIND(&bytes, 9, 0, 1, 0, 2, 0, 15, 0).value, 300);
    /* properties[n].value: items, additional properties */
    EXPECT(&bytes, "x-a", 9, 0, 1, 0, 2, 0, 25, 0, 1, 0, 1, 0);
    EXPECT(&bytes, "c", 9, 0, 1, 0, 2, 0, 25, 0, 1, 0, 2, 0, 23, 0, 1, 0, 2, 0);
    EXPECT(&bytes, "d", 9, 0, 1, 0, 2, 0, 25, 0, 1, 1, 2, 0, 21, 0, 1, 0, 1, 0);
    assert_int_equal(
        FIND(&bytes, 9, 0, 1, 0, 2, 0, 25, 0, 1, 2, 2, 0, 21, 0, 2, 0).value,
        1);
    kl__buf_deinit(&bytes);
}

static kl_code try(void *context)
{
    kl__buf bytes = {0};
    kl_code code;

    (void)context;
    write_document(&bytes);
    code = bytes.failed ? KL_ENOMEM : KL_OK;
    kl__buf_deinit(&bytes);
    return code;
}

PLAIN_CASE(openapi_in_protobuf_can_run_out_of_memory)
{
    failing_alloc_each(try, NULL);
}
