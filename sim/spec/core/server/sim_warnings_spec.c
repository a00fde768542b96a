/*
 * sim_warnings_spec.c - warnings of answers: their form, and the requests that
 * a real server warns of.
 */
#include "spec_case.h"
#include "sim/core/answer/sim_answer.h"

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

CASE(a_deprecated_version_is_warned_of)
{
    sim_reply reply = sim_ask(self->sim, "GET", "/api/v1/endpoints", NULL);

    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.raw.warnings,
                        "v1 Endpoints is deprecated in v1.33+; use "
                        "discovery.k8s.io/v1 EndpointSlice");
    sim_reply_clear(&reply);
    reply = sim_ask(self->sim, "GET", "/api/v1/pods", NULL);
    assert_null(reply.raw.warnings);
    sim_reply_clear(&reply);
}

CASE(a_transport_hands_warnings_over)
{
    kl_transport *transport = kl_sim_transport(self->sim, NULL);
    const kl__request request = {
        .method = "GET", .base_url = "", .target = "/api/v1/endpoints"};
    kl__stream *stream = kl__transport_open(transport, &request, NULL);
    kl__response response;

    assert_non_null(stream);
    assert_int_equal(kl__stream_response(stream, &response, -1, NULL, NULL),
                     KL_OK);
    assert_non_null(strstr(response.warnings, "use discovery.k8s.io/v1"));
    kl__stream_close(stream);
    kl_transport_unref(transport);
}
