/*
 * sim_listen_spec.c - the cluster on a port: HTTP/1.1 with and without TLS, and
 * what faults look like there.
 */
#include "spec_case.h"

#include "base/base64.h"
#include "base/clock.h"
#include "sim_socket.h"

#include <poll.h>
#include <unistd.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define WATCH "WATCH configmaps?resourceVersion=3\n"

/* A rig whose transport is curl. */
static int set_up(void **state)
{
    sim_rig *f = calloc(1, sizeof(*f));

    f->sim = kl_sim_new(NULL, NULL);
    f->transport = kl__curl_transport_new(false, NULL);
    *state = f;
    return f->sim != NULL && f->transport != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    sim_rig *f = *state;

    sim_watch_close(&f->watch);
    kl__transport_close(f->transport);
    return sim_rig_tear_down(state);
}

static void listen_on(sim_rig *f, bool tls, int port)
{
    const kl_sim_listen_options options = {.tls = tls, .port = port};
    kl_error err;

    if (kl_sim_listen(f->sim, &options, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
    f->url = kl_sim_url(f->sim);
}

/* The CA that the kubeconfig holds, for requests to come. */
static void trust(sim_rig *f)
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

/* The failure of a GET of /healthz. */
static kl_code failure(sim_rig *f, kl_error *err)
{
    const kl__request request = {
        .method = "GET", .base_url = f->url, .target = "/healthz"};
    kl__stream *stream = kl__transport_open(f->transport, &request, err);
    kl__response response;
    kl_code code = kl__stream_response(
        stream, &response,
        kl__clock_now(kl__clock_real()) + SIM_CLIENT_PATIENCE_MS, NULL, err);

    kl__stream_close(stream);
    return code;
}

static void expect_broken_watch(sim_rig *f)
{
    kl_error err;

    assert_int_equal(sim_watch_failure(&f->watch, &err), KL_EUNAVAILABLE);
}

/* Asserts that a list over the port has the bytes of one in-process. */
static void expect_same_list(sim_rig *f, size_t least)
{
    sim_reply reply = sim_ask(f->sim, "GET", CONFIGMAPS, NULL);
    kl__buf line = {0};

    assert_true(reply.raw.body_length > least);
    kl__buf_printf(&line, "GET configmaps @ over -> 200 #body=%zu | ^%s",
                   reply.raw.body_length, reply.raw.body);
    line.bytes[--line.length] = '\0'; /* the line's end */
    rig_play(f, line.bytes);
    kl__buf_deinit(&line);
    sim_reply_clear(&reply);
}

#define CASE(name) SPEC_CASE(name, sim_rig *f, set_up, tear_down)

CASE(answers_over_http_equal_those_in_process)
{
    listen_on(f, false, 0);
    sim_add(f->sim, "a");
    expect_same_list(f, 0);
    rig_play(f, "GET configmaps/none @ over -> 404\n");
}

/* Lists of a size that is compressed, as the transport asks for. */
CASE(large_lists_over_http_equal_those_in_process)
{
    char value[400], name[16];

    listen_on(f, false, 0);
    memset(value, 'x', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "a%d", i);
        sim_add(f->sim, name);
        sim_touch(f->sim, name, value);
    }
    expect_same_list(f, 150000);
}

CASE(queries_arrive_as_they_were_sent)
{
    char *asked;

    listen_on(f, false, 0);
    rig_play(f, "GET configmaps?labelSelector=a%3D%3Db%2Cc&limit=1+1 @ over -> "
                "400\n");
    asked = kl_sim_requests(f->sim, NULL);
    assert_non_null(strstr(asked,
                           "[{\"method\":\"GET\",\"target\":\"" CONFIGMAPS
                           "?labelSelector=a%3D%3Db%2Cc&limit=1+1\","
                           "\"status\":400,"));
    assert_non_null(strstr(
        asked, "\"query\":{\"labelSelector\":\"a==b,c\",\"limit\":\"1 1\"}"));
    kl_free(asked);
}

CASE(a_body_is_uploaded)
{
    listen_on(f, false, 0);
    rig_play(f, "POST configmaps {metadata: {name: a}} @ over -> 201\n"
                "GET configmaps/a -> 200\n");
}

CASE(too_large_an_upload_is_refused)
{
    enum { BIG = 4 * 1024 * 1024 };
    kl__buf line = {0};

    listen_on(f, false, 0);
    kl__buf_puts(&line, "POST configmaps =");
    memset(kl__buf_reserve(&line, BIG), 'x', BIG);
    line.length += BIG;
    kl__buf_puts(&line, " @ over -> 413\n");
    rig_play(f, line.bytes);
    kl__buf_deinit(&line);
}

CASE(tls_is_trusted_through_the_kubeconfig_alone)
{
    kl_error err;

    listen_on(f, true, 0);
    assert_memory_equal(f->url, "https://127.0.0.1:", 18);
    assert_int_equal(failure(f, &err), KL_ETLS);
    trust(f);
    rig_play(f, "GET /healthz @ over -> 200 body=ok\n");
}

CASE(a_watch_is_streamed_as_it_happens)
{
    listen_on(f, false, 0);
    rig_play(f, WATCH "ADD a\n"
                      "ADDED a\n"
                      "TOUCH a 1\n"
                      "MODIFIED a\n");
}

CASE(a_watch_ends_in_order_after_its_time)
{
    listen_on(f, false, 0);
    rig_play(f, "WATCH configmaps?resourceVersion=3&timeoutSeconds=1\n"
                "END\n");
}

CASE(a_cut_breaks_the_connection)
{
    listen_on(f, false, 0);
    rig_play(f, WATCH);
    kl_sim_cut(f->sim);
    expect_broken_watch(f);
}

CASE(refusing_closes_the_port_and_keeps_it)
{
    kl_error err;

    listen_on(f, false, 0);
    rig_play(f, WATCH);
    for (int i = 0; i < 3; i++) {
        kl_sim_refuse(f->sim, true);
        kl_sim_refuse(f->sim, true);
        assert_int_equal(failure(f, &err), KL_EUNAVAILABLE);
        assert_non_null(strstr(err.message, "refused"));
        kl_sim_refuse(f->sim, false);
        assert_int_equal(failure(f, &err), KL_OK);
    }
    expect_broken_watch(f);
}

CASE(a_frozen_connection_is_silent_and_stays_open)
{
    listen_on(f, false, 0);
    rig_play(f, WATCH);
    kl_sim_freeze(f->sim, true);
    rig_play(f, "ADD a\n"
                "SILENCE\n");
    kl_sim_freeze(f->sim, false);
    rig_play(f, "ADDED a\n");
}

CASE(a_port_can_be_closed_and_opened_again)
{
    kl_error err;
    int port;

    listen_on(f, false, 0);
    port = atoi(strrchr(f->url, ':') + 1);
    rig_play(f, WATCH);
    kl_sim_unlisten(f->sim);
    assert_null(kl_sim_url(f->sim));
    expect_broken_watch(f);
    assert_null(kl_sim_kubeconfig(f->sim, &err));
    assert_int_equal(err.code, KL_EINVAL);
    listen_on(f, false, port);
    rig_play(f, "GET /healthz @ over -> 200\n");
}

CASE(a_port_in_use_is_said_to_be_so)
{
    kl_sim *other = kl_sim_new(NULL, NULL);
    kl_sim_listen_options options = {.port = 70000};
    kl_error err;

    listen_on(f, false, 0);
    assert_int_equal(kl_sim_listen(other, &options, &err), KL_EINVAL);
    options.port = atoi(strrchr(f->url, ':') + 1);
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
    listen_on(f, false, 0);
    rig_play(f, WATCH);
    kl_sim_unref(f->sim);
    f->sim = NULL;
    expect_broken_watch(f);
}

CASE(a_kubeconfig_with_its_token_is_let_in)
{
    const kl_sim_options options = {.token = "a\"secret\":#"};
    char *text;

    kl_sim_unref(f->sim);
    f->sim = kl_sim_new(&options, NULL);
    listen_on(f, false, 0);
    text = kl_sim_kubeconfig(f->sim, NULL);
    assert_non_null(strstr(text, "token: \"a\\\"secret\\\":#\""));
    assert_non_null(strstr(text, f->url));
    kl_free(text);
}

CASE(a_client_that_goes_away_is_noticed)
{
    int64_t until = kl__clock_now(kl__clock_real()) + SIM_CLIENT_PATIENCE_MS;

    listen_on(f, false, 0);
    rig_play(f, WATCH);
    assert_int_equal(kl_live_count(KL_LIVE_STREAM), 2);
    sim_watch_close(&f->watch);
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
        transports[i] = kl__curl_transport_new(false, NULL);
    }
    for (int i = 0; i < MANY; i++) {
        sim_watch_open(&streams[i], transports[i % (MANY / 20)], f->url,
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

/* ---- A port that is closed, or refuses connections, while requests of
 * every kind are under way. */

enum { ROUNDS = 400, PEERS = 6 };

/* Until the first of them hears something: the others are being answered. */
static void await_first(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&ready, 1, SIM_CLIENT_PATIENCE_MS), 1);
}

/* libmicrohttpd before 1.0.1 follows a NULL pointer where it is stopped while
 * it refuses a request: once in some hundred such ends. */
PLAIN_CASE(a_port_can_be_closed_while_it_refuses_requests)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);
    int peers[PEERS];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PEERS; i++) {
            peers[i] = sim_dial(sim);
        }
        for (int i = 0; i < PEERS; i++) {
            sim_say(peers[i], "GET / HTTP/1.1\r\nX: x\r\n\x93\x93\r\n\r\n");
        }
        if (round % 2 == 0) {
            await_first(peers[0]);
        }
        kl_sim_unlisten(sim);
        for (int i = 0; i < PEERS; i++) {
            close(peers[i]);
        }
    }
    sim_expect(sim, "GET", "/version", NULL, 200);
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}
