/*
 * openapi_protobuf_spec.c - an OpenAPI document as protobuf, field by field. In
 * sim/spec/kubectl and sim/spec/clients, decoders of other projects read whole
 * documents.
 */
#include "spec_case.h"
#include "failing_alloc.h"
#include "sim/core/schema/openapi_protobuf.h"
#include "sim/core/schema/protobuf_wire.h"

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
