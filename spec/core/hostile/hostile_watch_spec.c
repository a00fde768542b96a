/*
 * hostile_watch_spec.c - watches that end at once, break, are refused or fall
 * silent: they go on from where they were, and not too soon.
 */
#include "kube_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void begin(kube *k)
{
    k->leaps = true;
    kube_on(k, "list",
            ANSWER(200, LIST("10", NODE("a", "1") "," NODE("b", "2"))));
}

/* ---- ends ---- */

static void a_watch_that_is_always_closed_at_once_is_no_hot_loop(void **state)
{
    kube *k = *state;

    begin(k);
    k->options.idle_timeout_ms = -1; /* no probe */
    kube_always(k, "watch", STEPS(HOSTILE_STREAM, HOSTILE_STREAM_END));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !unavailable");
    kube_reason(k, "ends each watch as soon as it has begun");
    assert_true(hostile_await_requests(k->server, "watch", 12));
    /* Before the 12th there were 11 failures: 0.8 s, 1.6 s, ... 30 s. */
    assert_true(kube_elapsed(k) >= 800 * 63 + 30000 * 4);
    kube_requests(k, "list", 1);
    kube_cache(k, "a@1 b@2", "10");
    kube_told_no_more(k, "*a@1 *b@2 synced !unavailable");
}

static void a_connection_that_is_always_reset_is_no_hot_loop(void **state)
{
    kube *k = *state;

    begin(k);
    k->options.idle_timeout_ms = -1; /* else the version is checked by a list */
    kube_always(k, "watch", STEPS(HOSTILE_RESET));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !unavailable");
    assert_true(hostile_await_requests(k->server, "watch", 12));
    assert_true(kube_elapsed(k) >= 800 * 7 + 30000);
    kube_told_no_more(k, "*a@1 *b@2 synced !unavailable");
    kube_requests(k, "list", 1);
}

/* In real time: in the first two seconds there is time for two delays, each at
 * least 0.8 s, so for three requests. */
static void watches_that_are_closed_at_once_are_paced_in_real_time(void **state)
{
    kube *k = *state;
    int64_t began;

    kube_on(k, "list", ANSWER(200, LIST("10", "")));
    kube_always(k, "watch", STEPS(HOSTILE_STREAM, HOSTILE_STREAM_END));
    kube_open(k);
    assert_true(hostile_await_requests(k->server, "watch", 1));
    began = kl__clock_now(kl__clock_real());
    assert_true(hostile_await_requests(k->server, "watch", 3));
    assert_true(kl__clock_now(kl__clock_real()) - began >= 800 + 1600 - 50);
    kube_requests(k, "list", 1);
}

static void watches_that_bring_an_event_each_go_on(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", ENDED_WATCH(ADDED("c", "11")));
    kube_on(k, "watch", ENDED_WATCH(BOOKMARK("15")));
    kube_on(k, "watch", RESET_WATCH(ADDED("d", "16")));
    kube_on(k, "watch", OPEN_WATCH(ADDED("e", "17")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@11 +d@16 !unavailable +e@17");
    assert_true(kube_elapsed(k) < 800);
    kube_asked(k, "watch", 3, "resourceVersion=16 ");
    kube_requests(k, "list", 1);
    kube_await_health(k);
}

static void half_an_event_at_the_end_is_not_delivered(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            ENDED_WATCH(ADDED("c", "11") "{\"type\":\"DELETED\",\"object\":"
                                         "{\"kind\":\"Node\",\"meta"));
    kube_on(k, "watch", OPEN_WATCH(ADDED("d", "12")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@11 !unavailable +d@12");
    kube_asked(k, "watch", 1, "resourceVersion=11 ");
}

/* ---- errors that do not question the version ---- */

static void an_error_event_about_something_else_keeps_the_version(void **state)
{
    static const struct {
        const char *object;
        const char *code;
    } errors[] = {
        {STATUS(500, "InternalError", "etcd is unwell"), "internal"},
        {STATUS(504, "Timeout", "request did not complete"), "unavailable"},
        {STATUS(429, "TooManyRequests", "slow down"), "too_many_requests"},
        {STATUS(403, "Forbidden", "not any more"), "forbidden"},
        {STATUS(401, "Unauthorized", "not any more"), "unauthorized"},
        {"{\"kind\":\"Node\"}", "parse"},
        {"{}", "parse"},
        {"\"oops\"", "parse"},
    };
    kube *k = *state;

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        kl__buf event = {0};
        kl__buf story = {0};

        kl__buf_printf(&event, "{\"type\":\"ERROR\",\"object\":%s}\n",
                       errors[i].object);
        kl__buf_printf(&story, "*a@1 *b@2 synced +c@11 !%s +d@12",
                       errors[i].code);
        begin(k);
        kube_on(k, "watch",
                STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(ADDED("c", "11")),
                      HOSTILE_CHUNK(event.bytes), HOSTILE_FREEZE));
        kube_on(k, "watch", OPEN_WATCH(ADDED("d", "12")));
        kube_open(k);
        kube_told(k, story.bytes);
        kube_requests(k, "list", 1);
        kube_asked(k, "watch", 1, "resourceVersion=11 ");
        kl__buf_deinit(&event);
        kl__buf_deinit(&story);
        k = kube_renew(state);
    }
}

static void a_refused_watch_is_tried_again_without_a_list(void **state)
{
    kube *k = *state;

    begin(k);
    for (int i = 0; i < 4; i++) {
        kube_on(k, "watch",
                ANSWER(403, STATUS(403, "Forbidden",
                                   "nodes is forbidden: User \\\"u\\\" cannot "
                                   "watch resource \\\"nodes\\\"")));
    }
    kube_on(k, "watch", ANSWER(401, STATUS(401, "Unauthorized", "who?")));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "11")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !forbidden !unauthorized +c@11");
    assert_true(kube_elapsed(k) >= 800 * 31);
    kube_requests(k, "list", 1);
    kube_requests(k, "watch", 6);
    kube_await_health(k);
}

static void a_forbidden_watch_names_its_remedy(void **state)
{
    kube *k = *state;

    begin(k);
    kube_always(k, "watch",
                ANSWER(403, STATUS(403, "Forbidden",
                                   "nodes is forbidden: User \\\"u\\\" cannot "
                                   "watch resource \\\"nodes\\\"")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !forbidden");
    kube_reason(k, "cannot watch resource");
    kube_reason(k, "RBAC");
}

/* ---- silence ---- */

/* Alive, but silent for longer than idle_timeout_ms: that is no error. */
static void a_silent_watch_is_made_again_without_a_relist(void **state)
{
    kube *k = *state;
    kl_informer_status status;
    size_t connections;

    k->options.idle_timeout_ms = 800;
    kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
    kube_always(k, "list", ANSWER(200, LIST("12", NODE("a", "1"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_on(k, "watch", OPEN_WATCH("{\"type\":\"ADDED\",\"object\":{"));
    kube_on(
        k, "watch",
        STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(ADDED("c", "12")), HOSTILE_FREEZE));
    kube_open(k);
    kube_told(k, "*a@1 synced +b@11");
    connections = hostile_connections(k->server);
    kube_told(k, "*a@1 synced +b@11 +c@12");
    assert_true(hostile_connections(k->server) >= connections + 2);
    kube_asked(k, "watch", 1, "resourceVersion=11 ");
    kube_asked(k, "watch", 2, "resourceVersion=11 ");
    kube_asked(k, "list", 1, "limit=1&resourceVersion=11&");
    kube_asked(k, "list", 2, "limit=1&resourceVersion=11&");
    status = kube_status(k);
    assert_int_equal(status.lists, 1);
    assert_int_equal(status.failures, 0);
    assert_int_equal(status.error.code, KL_OK);
}

#define TRICKLE HOSTILE_CHUNK("\n"), HOSTILE_STALL(300)

/* A proxy, or a hostile server, that keeps the connection busy. */
static void a_watch_that_trickles_blank_lines_is_silent(void **state)
{
    kube *k = *state;

    k->options.idle_timeout_ms = 1000;
    kube_on(k, "list", ANSWER(200, LIST("10", "")));
    kube_always(k, "list", ANSWER(200, LIST("10", "")));
    kube_on(k, "watch",
            STEPS(HOSTILE_STREAM, TRICKLE, TRICKLE, TRICKLE, TRICKLE, TRICKLE,
                  TRICKLE, TRICKLE, TRICKLE, TRICKLE, TRICKLE, TRICKLE,
                  HOSTILE_CHUNK("{\"type\":"), TRICKLE, TRICKLE, TRICKLE,
                  TRICKLE, TRICKLE, TRICKLE, HOSTILE_FREEZE));
    kube_on(k, "watch", OPEN_WATCH(ADDED("a", "11")));
    kube_open(k);
    kube_told(k, "synced +a@11");
    kube_requests(k, "watch", 2);
    assert_int_equal(kube_status(k).failures, 0);
}

static void bookmarks_keep_a_watch_alive(void **state)
{
    kube *k = *state;

    k->options.idle_timeout_ms = 1500;
    kube_on(k, "list", ANSWER(200, LIST("10", "")));
    kube_on(k, "watch",
            STEPS(HOSTILE_STREAM, HOSTILE_STALL(600),
                  HOSTILE_CHUNK(BOOKMARK("11")), HOSTILE_STALL(600),
                  HOSTILE_CHUNK(BOOKMARK("12")), HOSTILE_STALL(600),
                  HOSTILE_CHUNK(BOOKMARK("13")), HOSTILE_STALL(600),
                  HOSTILE_CHUNK(ADDED("a", "14")), HOSTILE_FREEZE));
    kube_open(k);
    kube_told(k, "synced +a@14");
    kube_requests(k, "watch", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KUBE_CASE(a_watch_that_is_always_closed_at_once_is_no_hot_loop),
        KUBE_CASE(a_connection_that_is_always_reset_is_no_hot_loop),
        KUBE_CASE(watches_that_are_closed_at_once_are_paced_in_real_time),
        KUBE_CASE(watches_that_bring_an_event_each_go_on),
        KUBE_CASE(half_an_event_at_the_end_is_not_delivered),
        KUBE_CASE(an_error_event_about_something_else_keeps_the_version),
        KUBE_CASE(a_refused_watch_is_tried_again_without_a_list),
        KUBE_CASE(a_forbidden_watch_names_its_remedy),
        KUBE_CASE(a_silent_watch_is_made_again_without_a_relist),
        KUBE_CASE(a_watch_that_trickles_blank_lines_is_silent),
        KUBE_CASE(bookmarks_keep_a_watch_alive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
