/*
 * hostile_watch_spec.c - watches that end at once, break, are refused or fall
 * silent: they go on from where they were, and not too soon. Events that repeat
 * themselves, go back, have no version, or come too late: handlers get each
 * change once.
 */
#include "kube_script.h"
#include "event_record.h"

#include "kubelua/memory.h"

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

/* ---- events ---- */

static void duplicate_events_are_delivered_once(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            OPEN_WATCH(ADDED("c", "11") ADDED("c", "11") MODIFIED("c", "11")
                           MODIFIED("a", "12") MODIFIED("a", "12") DELETED(
                               "b", "13") DELETED("b", "13") DELETED("x", "13")
                               BOOKMARK("13") BOOKMARK("13") ADDED("d", "14")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@11 ~a@1>12 -b@13 +d@14");
    kube_cache(k, "a@12 c@11 d@14", "14");
    kube_requests(k, "watch", 1);
}

/* An ADDED for a known object, a MODIFIED for an unknown one: handlers get what
 * happened, not what the server calls it. */
static void the_cache_decides_what_an_event_is(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            OPEN_WATCH(ADDED("a", "11") MODIFIED("c", "12")
                           EVENT("MODIFIED", NODE_OF("another", "b", "13"))));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced ~a@1>11 +c@12 ?b@2 +b@13");
}

static void a_version_that_goes_back_leads_to_a_list(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            OPEN_WATCH(ADDED("c", "20") MODIFIED("a", "15") ADDED("x", "21")));
    kube_on(k, "list",
            ANSWER(200, LIST("30", NODE("a", "15") "," NODE("c", "20"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("d", "31")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@20 !parse ?b@2 ~a@1>15 +d@31");
    kube_reason(k, "from 20 to 15");
    kube_cache(k, "a@15 c@20 d@31", "31");
    kube_requests(k, "list", 2);
    kube_not_asked(k, "list", 1, "resourceVersion=");
}

/* The cluster was restored from a backup: all versions begin anew. */
static void a_cluster_that_begins_anew_is_followed(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
    kube_on(k, "list", ANSWER(200, LIST("5", NODE("a", "1"))));
    kube_on(k, "list", ANSWER(200, LIST("5", NODE("a", "1"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "6")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !gone ?b@2 +c@6");
    kube_cache(k, "a@1 c@6", "6");
    kube_requests(k, "list", 3);
    kube_asked(k, "watch", 1, "resourceVersion=5 ");
}

static void events_without_a_version_leave_the_version_alone(void **state)
{
    static const char unversioned[] =
        EVENT("ADDED", "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"
                       "\"name\":\"c\"}}") BOOKMARK("");
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", ENDED_WATCH(unversioned));
    kube_on(k, "watch", OPEN_WATCH(ADDED("d", "11")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@ +d@11");
    kube_asked(k, "watch", 1, "resourceVersion=10 ");
    kube_requests(k, "list", 1);
}

static void a_bookmark_of_another_kind_moves_the_version(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", RESET_WATCH(MARK("Table", "15", "")));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "16")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !unavailable +c@16");
    kube_asked(k, "watch", 1, "resourceVersion=15 ");
    kube_requests(k, "list", 1);
}

static void a_bookmark_that_goes_back_is_ignored(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            OPEN_WATCH(BOOKMARK("20") BOOKMARK("15") ADDED("c", "21")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@21");
    kube_cache(k, "a@1 b@2 c@21", "21");
}

static void a_version_that_is_no_number_is_carried_as_it_is(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", ENDED_WATCH(ADDED("c", "x/&=1")));
    kube_on(k, "watch", OPEN_WATCH(ADDED("d", "y")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@x/&=1 +d@y");
    kube_asked(k, "watch", 1, "resourceVersion=x%2F%26%3D1 ");
}

/* ---- the version is gone ---- */

static void a_410_delivers_what_was_missed(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "11") ERROR_EVENT(EXPIRED)));
    kube_on(
        k, "list",
        ANSWER(200, LIST("30", NODE("a", "20") "," NODE_OF(
                                   "another", "c", "25") "," NODE("d", "26"))));
    kube_on(k, "watch", OPEN_WATCH(BOOKMARK("40")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@11 !gone ?b@2 ?c@11 ~a@1>20 +c@25 +d@26");
    kube_asked(k, "list", 1, "resourceVersion=11&");
    kube_asked(k, "list", 1, "resourceVersionMatch=NotOlderThan");
}

/* A handler with a thread of its own gets the same events, and errors in their
 * place among them. */
static void a_handler_gets_what_was_missed(void **state)
{
    kube *k = *state;
    event_record record;
    kl_handler handler;
    kl_registration *registration;
    char *text;

    begin(k);
    kube_on(k, "watch",
            STEPS(HOSTILE_GATE("handler"), HOSTILE_STREAM,
                  HOSTILE_CHUNK(ADDED("c", "11") ERROR_EVENT(EXPIRED)),
                  HOSTILE_FREEZE));
    kube_on(k, "list", ANSWER(200, LIST("30", NODE("a", "20"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("d", "31")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced");
    event_record_init(&record);
    handler = event_record_handler(&record);
    registration = kl_informer_add_handler(k->informer, &handler, NULL, NULL);
    assert_non_null(registration);
    hostile_open_gate(k->server, "handler");
    assert_true(event_record_await(&record, 9));
    text = event_record_text(&record);
    assert_string_equal(text, "+a@1 initial; +b@2 initial; synced; +c@11; "
                              "!gone; -b@2 unknown; -c@11 unknown; ~a@1>20; "
                              "+d@31");
    kl_free(text);
    kl_registration_remove(registration);
    assert_true(event_record_await_dropped(&record));
    event_record_deinit(&record);
}

static void a_410_in_any_form_causes_a_relist(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", ANSWER(410, EXPIRED));
    kube_on(k, "list", ANSWER(200, LIST("20", NODE("a", "1"))));
    kube_on(k, "watch", ANSWER(410, "gone, sorry"));
    kube_on(k, "list", ANSWER(200, LIST("30", NODE("a", "1"))));
    kube_on(k, "watch",
            OPEN_WATCH(ERROR_EVENT(STATUS(410, "Gone", "of old servers"))));
    kube_on(k, "list", ANSWER(200, LIST("40", NODE("a", "1"))));
    kube_on(k, "watch",
            OPEN_WATCH(ERROR_EVENT("{\"kind\":\"Status\",\"code\":410}")));
    kube_on(k, "list", ANSWER(200, LIST("50", NODE("a", "1"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "51")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !gone ?b@2 !gone !gone !gone +c@51");
    kube_requests(k, "list", 5);
    kube_requests(k, "watch", 5);
}

static void lists_that_are_always_too_old_are_no_hot_loop(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_always(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
    kube_always(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
    kube_open(k);
    assert_true(hostile_await_requests(k->server, "watch", 12));
    assert_true(kube_elapsed(k) >= 800 * 7 + 30000);
    /* Each list ends the error; a failure after it is reported again. */
    kube_told(k, "*a@1 synced !gone !gone");
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
        KUBE_CASE(duplicate_events_are_delivered_once),
        KUBE_CASE(the_cache_decides_what_an_event_is),
        KUBE_CASE(a_version_that_goes_back_leads_to_a_list),
        KUBE_CASE(a_cluster_that_begins_anew_is_followed),
        KUBE_CASE(events_without_a_version_leave_the_version_alone),
        KUBE_CASE(a_bookmark_of_another_kind_moves_the_version),
        KUBE_CASE(a_bookmark_that_goes_back_is_ignored),
        KUBE_CASE(a_version_that_is_no_number_is_carried_as_it_is),
        KUBE_CASE(a_410_delivers_what_was_missed),
        KUBE_CASE(a_handler_gets_what_was_missed),
        KUBE_CASE(a_410_in_any_form_causes_a_relist),
        KUBE_CASE(lists_that_are_always_too_old_are_no_hot_loop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
