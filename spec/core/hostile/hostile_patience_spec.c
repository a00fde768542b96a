/*
 * hostile_patience_spec.c - servers that keep a client waiting, on the real
 * clock. The clients of all tests wait at the same time: begin_all() starts
 * every client before the first test runs.
 */
#include "http_client.h"
#include "kube_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define LIST_A LIST("10", NODE("a", "1"))
#define RESOURCES(verbs)                                               \
    "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":{}," \
    "\"versions\":[{\"version\":\"v1\",\"resources\":[" verbs "]}]}]}"
#define NODES                                                                 \
    "{\"resource\":\"nodes\",\"responseKind\":{\"kind\":\"Node\"},\"scope\":" \
    "\"Cluster\",\"verbs\":[\"list\",\"watch\"]}"

/* One cluster for each test, and the time at which all of them began. */
typedef struct company {
    kube **kubes;
    int64_t began;
    int descriptors;
    peer *mute; /* it never handshakes, and a stream to it */
    kl_transport *transport;
    kl__stream *to_mute;
} company;

static char second_login[] = "/tmp/kubelua-patience-XXXXXX"; /* a folder */

static int64_t now(void)
{
    return kl__clock_now(kl__clock_real());
}

typedef void (*beginning)(kube *k);

static void begin_no_list(kube *k);
static void begin_no_watch(kube *k);
static void begin_no_discovery(kube *k);
static void begin_half_a_list(kube *k);
static void begin_an_open_list(kube *k);
static void begin_an_open_error(kube *k);
static void begin_no_end(kube *k);
static void begin_silent_stream(kube *k);
static void begin_retry_after(kube *k);
static void begin_crd(kube *k);
static void begin_slow_plugin(kube *k);
static void begin_slow_plugin_first(kube *k);
static void begin_slow_plugin_again(kube *k);

static const beginning beginnings[] = {
    begin_no_list,          begin_no_watch,
    begin_no_discovery,     begin_half_a_list,
    begin_an_open_list,     begin_an_open_error,
    begin_no_end,           begin_silent_stream,
    begin_retry_after,      begin_crd,
    begin_slow_plugin,      begin_slow_plugin_first,
    begin_slow_plugin_again};

enum { COUNT = sizeof(beginnings) / sizeof(beginnings[0]), WAIT_MS = 60000 };

/* The cluster that `begin` has prepared. */
static kube *kube_of(const company *c, beginning begin)
{
    size_t i = 0;

    while (beginnings[i] != begin) {
        i++;
    }
    return c->kubes[i];
}

static void paged(kube *k)
{
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
}

/* ---- no answer ---- */

static void begin_no_list(kube *k)
{
    kube_on(k, "list", STEPS(HOSTILE_FREEZE));
    paged(k);
}

static void a_list_that_is_never_answered_is_asked_again(void **state)
{
    const company *c = *state;
    kube *k = kube_of(*state, begin_no_list);

    kube_told(k, "!timeout");
    assert_in_range(now() - c->began, 29000, 40000);
    kube_reason(k, "did not answer in time");
    kube_told(k, "!timeout *a@1 synced +b@11");
    kube_requests(k, "list", 2);
}

static void begin_no_watch(kube *k)
{
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch", STEPS(HOSTILE_FREEZE));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
}

static void a_watch_that_is_never_answered_is_asked_again(void **state)
{
    kube *k = kube_of(*state, begin_no_watch);

    kube_told(k, "*a@1 synced !timeout +b@11");
    kube_requests(k, "list", 1);
    kube_requests(k, "watch", 2);
}

static void begin_no_discovery(kube *k)
{
    k->options.resource = "nodes.v1"; /* not in the table: asks discovery */
    kube_on(k, "api", STEPS(HOSTILE_FREEZE));
    paged(k);
}

static void discovery_that_is_never_answered_is_asked_again(void **state)
{
    kube *k = kube_of(*state, begin_no_discovery);

    kube_told(k, "!timeout *a@1 synced +b@11");
    kube_requests(k, "api", 2);
}

/* A person at a browser may take longer than a server. */
static void begin_slow_plugin(kube *k)
{
    kube_log_in(k, "sleep 31");
    paged(k);
}

static void begin_slow_plugin_first(kube *k)
{
    begin_slow_plugin(k);
    k->options.resource = "nodes.v1"; /* not in the table: asks discovery */
}

/* Its second run takes long. */
static void begin_slow_plugin_again(kube *k)
{
    kube_log_in(k, kube_repeated(k, "rmdir ", second_login, 1,
                                 " 2>/dev/null || sleep 31"));
    kube_on(k, "list", ANSWER(401, STATUS(401, "Unauthorized", "who?")));
    paged(k);
}

static void the_time_of_a_plugin_is_not_the_servers(void **state)
{
    static const struct {
        beginning begin;
        size_t lists;
    } all[] = {{begin_slow_plugin, 1},
               {begin_slow_plugin_first, 1},
               {begin_slow_plugin_again, 2}};
    const company *c = *state;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        kube *k = kube_of(*state, all[i].begin);

        kube_told(k, "*a@1 synced +b@11");
        assert_true(now() - c->began >= 31000);
        kube_requests(k, "list", all[i].lists);
    }
}

/* ---- no connection ---- */

/* Nothing but its own clock tells curl that the time is over. */
static void a_handshake_that_does_not_end_is_given_up(void **state)
{
    const company *c = *state;
    int64_t most_ms = c->began + WAIT_MS;
    kl__response response;
    kl_error err;

    assert_int_equal(
        kl__stream_response(c->to_mute, &response, most_ms, NULL, &err),
        KL_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "did not finish the TLS handshake"));
    assert_in_range(now() - c->began, 10000, 25000);
}

/* ---- half an answer ---- */

static void begin_half_a_list(kube *k)
{
    kube_on(k, "list",
            STEPS(HOSTILE_STREAM,
                  HOSTILE_CHUNK("{\"kind\":\"NodeList\",\"apiVersion\":\"v1\","
                                "\"metadata\":{\"resourceVersion\":\"10\"},"
                                "\"items\":[" NODE("x", "1") ","),
                  HOSTILE_FREEZE));
    paged(k);
}

static void a_list_that_stops_in_the_middle_is_asked_again(void **state)
{
    kube *k = kube_of(*state, begin_half_a_list);

    kube_told(k, "!timeout *a@1 synced +b@11");
    kube_reason(k, "stopped in the middle");
    kube_requests(k, "list", 2);
}

/* All that a list says has come; that its body does not end matters little. */
static void begin_an_open_list(kube *k)
{
    kube_on(k, "list",
            STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(LIST_A), HOSTILE_FREEZE));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
}

static void a_list_is_complete_although_its_body_does_not_end(void **state)
{
    const company *c = *state;
    kube *k = kube_of(*state, begin_an_open_list);

    kube_told(k, "*a@1 synced +b@11");
    kube_requests(k, "list", 1);
    assert_in_range(now() - c->began, 0, 20000);
}

/* The error's message is the part of the body that comes in time. */
static void begin_an_open_error(kube *k)
{
    kube_on(
        k, "list",
        STEPS(HOSTILE_TEXT("HTTP/1.1 500 Oops\r\nContent-Type: text/plain"
                           "\r\nContent-Length: 1000\r\n\r\netcd is unwell"),
              HOSTILE_FREEZE));
    paged(k);
}

static void an_error_is_reported_although_its_body_does_not_end(void **state)
{
    kube *k = kube_of(*state, begin_an_open_error);

    kube_told(k, "!internal *a@1 synced +b@11");
    kube_reason(k, "etcd is unwell");
}

/* ---- sendInitialEvents is ignored ---- */

static void begin_no_end(kube *k)
{
    k->options.no_streaming_list = false;
    kube_on(k, "stream", OPEN_WATCH(ADDED("x", "1") ADDED("y", "2")));
    kube_on(k, "stream", OPEN_WATCH(ADDED("x", "1") ADDED("y", "2")));
    paged(k);
}

static void a_streaming_list_without_its_end_is_a_paged_one(void **state)
{
    kube *k = kube_of(*state, begin_no_end);

    kube_told(k, "*a@1 synced +b@11");
    kube_cache(k, "a@1 b@11", "11");
    kube_requests(k, "stream", 2);
    kube_requests(k, "list", 1);
}

static void begin_silent_stream(kube *k)
{
    k->options.no_streaming_list = false;
    kube_on(k, "stream", QUIET_WATCH);
    kube_on(k, "stream", OPEN_WATCH(ADDED("a", "1") END_BOOKMARK("10")));
}

static void a_streaming_list_that_is_silent_is_asked_again(void **state)
{
    kube *k = kube_of(*state, begin_silent_stream);

    kube_told(k, "*a@1 synced");
    kube_requests(k, "stream", 2);
    kube_requests(k, "list", 0);
}

/* ---- the server asks for patience ---- */

static void begin_retry_after(kube *k)
{
    kube_on(k, "list",
            STEPS(HOSTILE_ANSWER_WITH(429, "Retry-After: 3\r\n", "later")));
    kube_on(k, "list",
            STEPS(HOSTILE_ANSWER_WITH(503, "Retry-After: 500\r\n", "later")));
}

static void a_retry_after_delays_the_next_list(void **state)
{
    const company *c = *state;
    kube *k = kube_of(*state, begin_retry_after);
    kl_informer_status status;
    kl_error err = {0};

    kube_told(k, "!too_many_requests !unavailable");
    assert_in_range(now() - c->began, 3000, 40000);
    kube_await_state(k, KL_STATE_BACKOFF);
    status = kube_status(k);
    assert_in_range(status.retry_in_ms, 200000, 301600);
    assert_int_equal(status.error.http_status, 503);
    assert_int_equal(status.failures, 2);
    assert_int_equal(kl_informer_wait_synced(k->informer, 1, &err),
                     KL_ETIMEOUT);
    assert_non_null(strstr(err.message, "HTTP 503"));
    kube_requests(k, "list", 2);
}

/* ---- a CRD is deleted, and installed again ---- */

static void begin_crd(kube *k)
{
    k->options.resource = "nodes.v1"; /* not in the table: asks discovery */
    kube_on(k, "api", ANSWER(200, RESOURCES(NODES)));
    kube_on(k, "api", ANSWER(200, RESOURCES("")));
    kube_on(k, "api", ANSWER(200, RESOURCES("")));
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch",
            STEPS(HOSTILE_STREAM, HOSTILE_STALL(1500), HOSTILE_STREAM_END));
    kube_on(k, "watch", ANSWER(404, "404 page not found\n"));
    kube_on(k, "list", ANSWER(200, LIST("20", NODE("b", "15"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "21")));
}

static void a_crd_that_goes_and_comes_is_followed(void **state)
{
    kube *k = kube_of(*state, begin_crd);

    kube_told(k, "*a@1 synced !not_found !unknown_kind ?a@1 +b@15 +c@21");
    kube_requests(k, "api", 4);
    kube_requests(k, "list", 2);
    kube_not_asked(k, "list", 1, "resourceVersion=");
}

/* ---- all at once ---- */

static int begin_all(void **state)
{
    company *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    assert_non_null(mkdtemp(second_login));
    c->descriptors = kube_descriptors();
    c->kubes = calloc(COUNT, sizeof(*c->kubes));
    assert_non_null(c->kubes);
    c->began = now();
    for (size_t i = 0; i < COUNT; i++) {
        c->kubes[i] = kube_new();
        c->kubes[i]->patience_ms = WAIT_MS;
        beginnings[i](c->kubes[i]);
        kube_open(c->kubes[i]);
    }
    c->mute = peer_new(PEER_NO_TLS, true);
    c->transport = new_transport();
    c->to_mute = get(c->transport, c->mute->url, "/");
    *state = c;
    return 0;
}

static int end_all(void **state)
{
    company *c = *state;
    int descriptors = c->descriptors;

    (void)rmdir(second_login); /* if no plugin has done so */
    kl__stream_close(c->to_mute);
    kl_transport_unref(c->transport);
    peer_free(c->mute);
    for (size_t i = 0; i < COUNT; i++) {
        kube_close(c->kubes[i]);
    }
    kube_nothing_lives();
    for (size_t i = 0; i < COUNT; i++) {
        kube_free(c->kubes[i]);
    }
    free(c->kubes);
    free(c);
    assert_int_equal(kube_descriptors(), descriptors);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_is_complete_although_its_body_does_not_end),
        cmocka_unit_test(a_retry_after_delays_the_next_list),
        cmocka_unit_test(an_error_is_reported_although_its_body_does_not_end),
        cmocka_unit_test(a_crd_that_goes_and_comes_is_followed),
        cmocka_unit_test(a_handshake_that_does_not_end_is_given_up),
        cmocka_unit_test(a_streaming_list_that_is_silent_is_asked_again),
        cmocka_unit_test(a_streaming_list_without_its_end_is_a_paged_one),
        cmocka_unit_test(a_list_that_is_never_answered_is_asked_again),
        cmocka_unit_test(a_watch_that_is_never_answered_is_asked_again),
        cmocka_unit_test(discovery_that_is_never_answered_is_asked_again),
        cmocka_unit_test(a_list_that_stops_in_the_middle_is_asked_again),
        cmocka_unit_test(the_time_of_a_plugin_is_not_the_servers),
    };

    return cmocka_run_group_tests(tests, begin_all, end_all);
}
