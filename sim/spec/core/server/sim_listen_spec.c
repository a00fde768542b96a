/*
 * sim_listen_spec.c - the cluster on a port: HTTP/1.1 with and without TLS, and
 * what faults look like there.
 */

#include "spec_case.h"
#include "base/base64.h"
#include "base/clock.h"

#include <poll.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

typedef struct fixture {
    kl_sim *sim;
    kl_transport *transport;
    kl__tls *tls;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    f->sim = kl_sim_new(NULL, NULL);
    f->transport = kl__curl_transport_new(NULL);
    *state = f;
    return f->sim != NULL && f->transport != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    fixture *f = *state;

    kl__transport_close(f->transport);
    kl_transport_unref(f->transport);
    kl__tls_unref(f->tls);
    kl_sim_unref(f->sim);
    free(f);
    sim_expect_nothing_lives();
    return 0;
}

static void listen_on(fixture *f, bool tls, int port)
{
    const kl_sim_listen_options options = {.tls = tls, .port = port};
    kl_error err;

    if (kl_sim_listen(f->sim, &options, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
}

/* The CA that the kubeconfig holds, for requests to come. */
static void trust(fixture *f)
{
    static const char name[] = "certificate-authority-data: ";
    char *text = kl_sim_kubeconfig(f->sim, NULL);
    const char *data = strstr(text, name) + sizeof(name) - 1;
    kl__buf pem = {0};

    assert_true(kl__base64_decode(&pem, data, strcspn(data, "\n")));
    f->tls = kl__tls_new(&(kl__tls_options){.ca = pem.bytes});
    assert_non_null(f->tls);
    kl__buf_deinit(&pem);
    kl_free(text);
}

static int64_t soon(void)
{
    return kl__clock_now(kl__clock_real()) + SIM_CLIENT_PATIENCE_MS;
}

/* One request over curl; what came of it, and the body as text. */
static kl_code call(fixture *f, const kl__request *request, int *status,
                    kl__buf *body, kl_error *err)
{
    kl__stream *stream = kl__transport_open(f->transport, request, err);
    kl__response response;
    char chunk[4096];
    size_t length;
    kl_code code;

    assert_non_null(stream);
    code = kl__stream_response(stream, &response, soon(), NULL, err);
    *status = code == KL_OK ? response.status : 0;
    do {
        length = 0;
        if (code == KL_OK) {
            code = kl__stream_read(stream, chunk, sizeof(chunk), &length,
                                   soon(), NULL, err);
        }
        kl__buf_append(body, chunk, length);
    } while (length != 0);
    kl__stream_close(stream);
    return code;
}

static int get(fixture *f, const char *target, kl__buf *body)
{
    const kl__request request = {.method = "GET",
                                 .base_url = kl_sim_url(f->sim),
                                 .target = target,
                                 .tls = f->tls};
    kl_error err;
    int status;

    if (call(f, &request, &status, body, &err) != KL_OK) {
        fail_msg("%s: %s", target, err.message);
    }
    return status;
}

#define CASE(name) SPEC_CASE(name, fixture *f, set_up, tear_down)

CASE(answers_over_http_equal_those_in_process)
{
    kl__buf body = {0};
    sim_reply reply;

    listen_on(f, false, 0);
    sim_add(f->sim, "a");
    assert_int_equal(get(f, CONFIGMAPS, &body), 200);
    reply = sim_ask(f->sim, "GET", CONFIGMAPS, NULL);
    assert_string_equal(body.bytes, reply.raw.body);
    sim_reply_clear(&reply);
    kl__buf_reset(&body);
    assert_int_equal(get(f, CONFIGMAPS "/none", &body), 404);
    kl__buf_deinit(&body);
}

/* Lists of a size that is compressed, as the transport asks for. */
CASE(large_lists_over_http_equal_those_in_process)
{
    char value[400], name[16];
    kl__buf body = {0};
    sim_reply reply;

    listen_on(f, false, 0);
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "a%d", i);
        sim_add(f->sim, name);
        sim_touch(f->sim, name, value);
    }
    assert_int_equal(get(f, CONFIGMAPS, &body), 200);
    assert_true(body.length > 150000);
    reply = sim_ask(f->sim, "GET", CONFIGMAPS, NULL);
    assert_string_equal(body.bytes, reply.raw.body);
    sim_reply_clear(&reply);
    kl__buf_deinit(&body);
}

CASE(queries_arrive_as_they_were_sent)
{
    kl__buf body = {0};
    char *asked;

    listen_on(f, false, 0);
    get(f, CONFIGMAPS "?labelSelector=a%3D%3Db%2Cc&limit=1+1", &body);
    asked = kl_sim_requests(f->sim, NULL);
    assert_non_null(strstr(asked,
                           "[{\"method\":\"GET\",\"target\":\"" CONFIGMAPS
                           "?labelSelector=a%3D%3Db%2Cc&limit=1+1\","
                           "\"status\":400,"));
    assert_non_null(strstr(
        asked, "\"query\":{\"labelSelector\":\"a==b,c\",\"limit\":\"1 1\"}"));
    kl_free(asked);
    kl__buf_deinit(&body);
}

CASE(a_body_is_uploaded)
{
    const kl__header header = {"Content-Type", "application/json"};
    const char *body = "{\"metadata\":{\"name\":\"a\"}}";
    kl__request request = {.method = "POST",
                           .target = CONFIGMAPS,
                           .headers = &header,
                           .header_count = 1,
                           .body = body,
                           .body_length = strlen(body)};
    kl__buf reply = {0};
    int status;

    listen_on(f, false, 0);
    request.base_url = kl_sim_url(f->sim);
    assert_int_equal(call(f, &request, &status, &reply, NULL), KL_OK);
    assert_int_equal(status, 201);
    kl__buf_deinit(&reply);
    sim_expect(f->sim, "GET", CONFIGMAPS "/a", NULL, 200);
}

CASE(too_large_an_upload_is_refused)
{
    enum { BIG = 4 * 1024 * 1024 };
    char *body = calloc(1, BIG);
    kl__request request = {.method = "POST",
                           .target = CONFIGMAPS,
                           .body = body,
                           .body_length = BIG};
    kl__buf reply = {0};
    int status;

    listen_on(f, false, 0);
    request.base_url = kl_sim_url(f->sim);
    assert_int_equal(call(f, &request, &status, &reply, NULL), KL_OK);
    assert_int_equal(status, 413);
    kl__buf_deinit(&reply);
    free(body);
}

CASE(tls_is_trusted_through_the_kubeconfig_alone)
{
    kl__buf body = {0};
    kl__request request = {.method = "GET", .target = "/healthz"};
    kl_error err;
    int status;

    listen_on(f, true, 0);
    assert_memory_equal(kl_sim_url(f->sim), "https://127.0.0.1:", 18);
    request.base_url = kl_sim_url(f->sim);
    assert_int_equal(call(f, &request, &status, &body, &err), KL_ETLS);
    trust(f);
    assert_int_equal(get(f, "/healthz", &body), 200);
    assert_string_equal(body.bytes, "ok");
    kl__buf_deinit(&body);
}

CASE(a_watch_is_streamed_as_it_happens)
{
    sim_watch stream;

    listen_on(f, false, 0);
    sim_watch_open(&stream, f->transport, kl_sim_url(f->sim),
                   CONFIGMAPS "?watch=true&resourceVersion=3");
    sim_add(f->sim, "a");
    sim_watch_expect(&stream, "ADDED", "a");
    sim_touch(f->sim, "a", "1");
    sim_watch_expect(&stream, "MODIFIED", "a");
    sim_watch_close(&stream);
}

CASE(a_watch_ends_in_order_after_its_time)
{
    sim_watch stream;

    listen_on(f, false, 0);
    sim_watch_open(&stream, f->transport, kl_sim_url(f->sim),
                   CONFIGMAPS "?watch=true&resourceVersion=3&timeoutSeconds=1");
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
}

CASE(a_cut_breaks_the_connection)
{
    sim_watch stream;
    kl_error err;

    listen_on(f, false, 0);
    sim_watch_open(&stream, f->transport, kl_sim_url(f->sim),
                   CONFIGMAPS "?watch=true&resourceVersion=3");
    kl_sim_cut(f->sim);
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    sim_watch_close(&stream);
}

CASE(refusing_closes_the_port_and_keeps_it)
{
    kl__request request = {.method = "GET", .target = "/healthz"};
    kl__buf body = {0};
    sim_watch stream;
    kl_error err;
    int status;

    listen_on(f, false, 0);
    request.base_url = kl_sim_url(f->sim);
    sim_watch_open(&stream, f->transport, kl_sim_url(f->sim),
                   CONFIGMAPS "?watch=true&resourceVersion=3");
    for (int i = 0; i < 3; i++) {
        kl_sim_refuse(f->sim, true);
        kl_sim_refuse(f->sim, true);
        assert_int_equal(call(f, &request, &status, &body, &err),
                         KL_EUNAVAILABLE);
        assert_non_null(strstr(err.message, "refused"));
        kl_sim_refuse(f->sim, false);
        assert_int_equal(call(f, &request, &status, &body, &err), KL_OK);
    }
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    sim_watch_close(&stream);
    kl__buf_deinit(&body);
}

CASE(a_frozen_connection_is_silent_and_stays_open)
{
    sim_watch stream;

    listen_on(f, false, 0);
    sim_watch_open(&stream, f->transport, kl_sim_url(f->sim),
                   CONFIGMAPS "?watch=true&resourceVersion=3");
    kl_sim_freeze(f->sim, true);
    sim_add(f->sim, "a");
    sim_watch_expect_silence(&stream);
    kl_sim_freeze(f->sim, false);
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_close(&stream);
}

CASE(a_port_can_be_closed_and_opened_again)
{
    kl__buf body = {0};
    sim_watch stream;
    kl_error err;
    int port;

    listen_on(f, false, 0);
    port = atoi(strrchr(kl_sim_url(f->sim), ':') + 1);
    sim_watch_open(&stream, f->transport, kl_sim_url(f->sim),
                   CONFIGMAPS "?watch=true&resourceVersion=3");
    kl_sim_unlisten(f->sim);
    assert_null(kl_sim_url(f->sim));
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    sim_watch_close(&stream);
    assert_null(kl_sim_kubeconfig(f->sim, &err));
    assert_int_equal(err.code, KL_EINVAL);
    listen_on(f, false, port);
    assert_int_equal(get(f, "/healthz", &body), 200);
    kl__buf_deinit(&body);
}

CASE(a_port_in_use_is_said_to_be_so)
{
    kl_sim *other = kl_sim_new(NULL, NULL);
    kl_sim_listen_options options = {.port = 70000};
    kl_error err;

    listen_on(f, false, 0);
    assert_int_equal(kl_sim_listen(other, &options, &err), KL_EINVAL);
    options.port = atoi(strrchr(kl_sim_url(f->sim), ':') + 1);
    assert_int_equal(kl_sim_listen(f->sim, &options, &err), KL_EINVAL);
    assert_int_equal(kl_sim_listen(other, &options, &err), KL_EIO);
    assert_non_null(strstr(err.message, "in use"));
    options.port = 0;
    options.address = "no such address";
    assert_int_equal(kl_sim_listen(other, &options, &err), KL_EINVAL);
    kl_sim_unref(other);
}

CASE(the_last_reference_ends_everything)
{
    sim_watch stream;
    kl_error err;

    listen_on(f, false, 0);
    sim_watch_open(&stream, f->transport, kl_sim_url(f->sim),
                   CONFIGMAPS "?watch=true&resourceVersion=3");
    kl_sim_unref(f->sim);
    f->sim = NULL;
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    sim_watch_close(&stream);
}

CASE(a_kubeconfig_with_its_token_is_let_in)
{
    const kl_sim_options options = {.token = "a\"secret\":#"};
    kl_sim *sim = kl_sim_new(&options, NULL);
    char *text;

    kl_sim_unref(f->sim);
    f->sim = sim;
    listen_on(f, false, 0);
    text = kl_sim_kubeconfig(sim, NULL);
    assert_non_null(strstr(text, "token: \"a\\\"secret\\\":#\""));
    assert_non_null(strstr(text, kl_sim_url(sim)));
    kl_free(text);
}

CASE(a_client_that_goes_away_is_noticed)
{
    int64_t until;
    sim_watch stream;

    listen_on(f, false, 0);
    sim_watch_open(&stream, f->transport, kl_sim_url(f->sim),
                   CONFIGMAPS "?watch=true&resourceVersion=3");
    assert_int_equal(kl_live_count(KL_LIVE_STREAM), 2);
    sim_watch_close(&stream);
    until = soon();
    while (kl_live_count(KL_LIVE_STREAM) != 0) {
        assert_true(kl__clock_now(kl__clock_real()) < until);
        poll(NULL, 0, 10); /* nothing else tells */
    }
}

CASE(many_watchers_are_served_at_once)
{
    enum { MANY = 100 };
    sim_watch *streams = calloc(MANY, sizeof(*streams));
    kl_transport *transports[MANY / 20];

    listen_on(f, false, 0);
    for (int i = 0; i < MANY / 20; i++) {
        transports[i] = kl__curl_transport_new(NULL);
    }
    for (int i = 0; i < MANY; i++) {
        sim_watch_open(&streams[i], transports[i % (MANY / 20)],
                       kl_sim_url(f->sim),
                       CONFIGMAPS "?watch=true&resourceVersion=3");
    }
    sim_add(f->sim, "a");
    for (int i = 0; i < MANY; i++) {
        sim_watch_expect(&streams[i], "ADDED", "a");
        sim_watch_close(&streams[i]);
    }
    for (int i = 0; i < MANY / 20; i++) {
        kl__transport_close(transports[i]);
        kl_transport_unref(transports[i]);
    }
    free(streams);
}
