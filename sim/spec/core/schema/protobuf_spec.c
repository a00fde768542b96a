/*
 * protobuf_spec.c - objects are decoded from protobuf messages, and malformed
 * messages refused. The same bytes were sent to a real kube-apiserver 1.36.
 */
#include "spec_case.h"
#include "base/buf.h"
#include "kubelua/memory.h"
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
