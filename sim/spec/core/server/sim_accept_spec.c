/*
 * sim_accept_spec.c - the form of an answer: what Accept asks for, the words of
 * refusals, as a real kube-apiserver 1.36 was seen to answer, and warnings.
 */
#include "spec_case.h"

#include "sim/core/answer/sim_answer.h"

#define NAMESPACES "/api/v1/namespaces"
#define DEFAULT NAMESPACES "/default"
#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"
#define PARTIAL "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
#define PARTIALS \
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

static sim_reply get(kl_sim *sim, const char *target, const char *accept)
{
    const kl_call call = {.method = "GET", .target = target, .accept = accept};
    sim_reply reply = {0};

    assert_int_equal(kl_sim_call(sim, &call, &reply.raw, NULL), KL_OK);
    reply.status = reply.raw.status;
    reply.doc = kl_doc_parse(reply.raw.body, reply.raw.body_length, NULL);
    return reply;
}

/* Asserts the kind of what comes, or the message of a refusal. */
static void expect(kl_sim *sim, const char *target, const char *accept,
                   const char *wanted)
{
    sim_reply reply = get(sim, target, accept);

    assert_string_equal(
        sim_text(reply.doc, reply.status == 200 ? "kind" : "message"), wanted);
    sim_reply_clear(&reply);
}

SIM_CASE(the_best_clause_that_is_served_wins)
{
    expect(sim, DEFAULT, "*/*", "Namespace");
    expect(sim, DEFAULT, "text/html, */*;q=0.1", "Namespace");
    expect(sim, DEFAULT, TABLE ",application/json", "Table");
    expect(sim, DEFAULT, "application/json;q=0.9, " PARTIAL,
           "PartialObjectMetadata");
    expect(sim, DEFAULT,
           "application/json;as=Foo;v=v1;g=meta.k8s.io, application/json;q=0.2",
           "Namespace");
    expect(sim, DEFAULT, "application/json;q=0", "Namespace");
}

/* Asserts status and type of a document. */
static void expect_type(kl_sim *sim, const char *target, const char *accept,
                        int status, const char *type)
{
    sim_reply reply = get(sim, target, accept);

    assert_int_equal(reply.status, status);
    if (type != NULL) {
        assert_string_equal(reply.raw.content_type, type);
    }
    sim_reply_clear(&reply);
}

SIM_CASE(openapi_has_types_of_its_own)
{
    static const char asked[] =
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    static const char given[] =
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

    expect_type(sim, "/openapi/v2", "*/*", 200, "application/json");
    expect_type(sim, "/openapi/v2", asked, 200, given);
    expect_type(sim, "/openapi/v2", given, 200, given);
    expect_type(sim, "/openapi/v2", "application/yaml", 406, NULL);
    expect_type(sim, "/openapi/v3/apis/apps/v1", asked, 406, NULL);
    expect_type(sim, "/openapi/v3/apis/apps/v1", "application/*", 200,
                "application/json");
}

SIM_CASE(an_unsupported_accept_header_is_406)
{
    static const char refusal[] =
        "only the following media types are accepted: application/json";

    expect(sim, DEFAULT, "application/xml", refusal);
    expect(sim, DEFAULT, "application/yaml", refusal);
    expect(sim, DEFAULT, "garbage", refusal);
    expect(sim, NAMESPACES, "text/html", refusal);
    expect(sim, DEFAULT, "application/json;as=Table;v=v1", refusal);
    expect(sim, DEFAULT, "application/json;as=Foo;v=v1;g=meta.k8s.io", refusal);
}

SIM_CASE(an_accept_header_for_the_wrong_shape_is_406)
{
    expect(sim, NAMESPACES, PARTIAL,
           "you requested PartialObjectMetadata, but the requested object is a "
           "list");
    expect(sim, DEFAULT, PARTIALS,
           "you requested PartialObjectMetadataList, but the requested object "
           "is not a list");
    expect(sim, NAMESPACES "?includeObject=All", TABLE,
           "Unable to convert to Table as requested: includeObject: Invalid "
           "value: \"All\": must be 'Metadata', 'Object', 'None', or empty");
}

SIM_CASE(curl_and_the_parameter_pretty_get_indented_json)
{
    sim_reply reply = get(sim, DEFAULT "?pretty=true", NULL);

    assert_non_null(strstr(reply.raw.body,
                           "{\n  \"kind\": \"Namespace\",\n  \"apiVersion\": "
                           "\"v1\",\n  \"metadata\": {\n    \"name\""));
    sim_reply_clear(&reply);
    reply = get(sim, DEFAULT "?pretty=0", NULL);
    assert_non_null(strstr(reply.raw.body, "{\"kind\":\"Namespace\","));
    sim_reply_clear(&reply);
}

static sim_reply post_protobuf(kl_sim *sim, const char *body, size_t length)
{
    const kl_call call = {.method = "POST",
                          .target = DEFAULT "/configmaps",
                          .body = body,
                          .body_length = length,
                          .content_type =
                              "application/vnd.kubernetes.protobuf"};
    sim_reply reply = {0};

    assert_int_equal(kl_sim_call(sim, &call, &reply.raw, NULL), KL_OK);
    reply.status = reply.raw.status;
    reply.doc = kl_doc_parse(reply.raw.body, reply.raw.body_length, NULL);
    return reply;
}

SIM_CASE(typed_clients_may_send_protobuf)
{
    static const char body[] = "k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
                               "ConfigMap\x12\x0d\x0a\x03\x0a\x01"
                               "a\x12\x06\x0a\x01k\x12\x01v";
    sim_reply reply = post_protobuf(sim, body, sizeof(body) - 1);

    assert_int_equal(reply.status, 201);
    assert_string_equal(sim_text(reply.doc, "metadata.name"), "a");
    assert_string_equal(sim_text(reply.doc, "data.k"), "v");
    sim_reply_clear(&reply);
    reply = post_protobuf(sim, body, sizeof(body) - 2);
    assert_int_equal(reply.status, 400);
    assert_string_equal(
        sim_text(reply.doc, "message"),
        "the object provided is unrecognized (must be of type ConfigMap): "
        "unexpected EOF "
        "(6b3873000a0f0a0276311209436f6e6669674d6170120d0a030a0161"
        "1206 ...)");
    sim_reply_clear(&reply);
}

SIM_CASE(no_answer_is_in_protobuf)
{
    static const char type[] = "application/vnd.kubernetes.protobuf";

    expect_type(sim, DEFAULT, type, 406, NULL);
    expect_type(sim, DEFAULT,
                "application/vnd.kubernetes.protobuf, application/json", 200,
                "application/json");
    expect_type(sim, NAMESPACES, "application/vnd.kubernetes.protobuf, */*",
                200, "application/json");
}

/* ---- Warnings of answers: their form, and the requests that a real server
 * warns of. */

typedef struct world {
    kl_sim *sim;
    kl__sim_answer *answer;
    kl__buf out;
} world;

static int set_up(void **state)
{
    static const kl__sim_request request = {.method = "GET", .target = "/api"};
    static world self;

    self = (world){0};
    self.sim = kl_sim_new(NULL, NULL);
    assert_non_null(self.sim);
    self.answer = kl__sim_answer_new(self.sim, &request, NULL);
    assert_non_null(self.answer);
    *state = &self;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl__buf_deinit(&self->out);
    kl__sim_answer_free(self->answer);
    kl_sim_unref(self->sim);
    sim_expect_nothing_lives();
    return 0;
}

static void warn(world *self, const char *text)
{
    assert_int_equal(kl__sim_warn(self->answer, text, NULL), KL_OK);
}

/* All headers, a line each. */
static const char *headers(world *self)
{
    size_t index = 0;

    kl__buf_reset(&self->out);
    while (
        kl__sim_warnings_header(&self->answer->warnings, &index, &self->out)) {
        kl__buf_putc(&self->out, '\n');
    }
    return self->out.length != 0 ? self->out.bytes : "";
}

#define CASE(name) SPEC_CASE(name, world *self, set_up, tear_down)

CASE(warnings_are_unique_quoted_and_in_order)
{
    warn(self, "b is \"old\" and \\odd");
    warn(self, "a");
    warn(self, "b is \"old\" and \\odd");
    warn(self, "");
    assert_string_equal(headers(self),
                        "299 - \"b is \\\"old\\\" and \\\\odd\"\n"
                        "299 - \"a\"\n");
}

CASE(a_text_with_control_characters_is_dropped)
{
    warn(self, "two\nlines");
    warn(self, "a \xc2\x85");
    warn(self, "caf\xc3\xa9");
    assert_string_equal(headers(self), "299 - \"caf\xc3\xa9\"\n");
}

/* Serves a kind whose only version is deprecated. */
static void deprecate(world *self)
{
    sim_play(self->sim,
             "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions "
             "{metadata: {name: foos.a.io}, spec: {group: a.io, scope: "
             "Namespaced, names: {plural: foos, kind: Foo}, versions: [{name: "
             "v1, served: true, storage: true, deprecated: true, schema: "
             "{openAPIV3Schema: {type: object}}}]}} -> 201\n");
}

CASE(a_deprecated_version_is_warned_of)
{
    sim_reply reply;

    deprecate(self);
    reply = sim_ask(self->sim, "GET", "/apis/a.io/v1/foos", NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.raw.warnings, "a.io/v1 Foo is deprecated");
    sim_reply_clear(&reply);
    reply = sim_ask(self->sim, "GET", "/api/v1/pods", NULL);
    assert_null(reply.raw.warnings);
    sim_reply_clear(&reply);
}

CASE(a_transport_hands_warnings_over)
{
    kl_transport *transport = kl_sim_transport(self->sim, NULL);
    const kl__request request = {
        .method = "GET", .base_url = "", .target = "/apis/a.io/v1/foos"};
    kl__stream *stream;
    kl__response response;

    deprecate(self);
    stream = kl__transport_open(transport, &request, NULL);
    assert_non_null(stream);
    assert_int_equal(kl__stream_response(stream, &response, -1, NULL, NULL),
                     KL_OK);
    assert_non_null(strstr(response.warnings, "Foo is deprecated"));
    kl__stream_close(stream);
    kl_transport_unref(transport);
}
