/*
 * hostile_events_spec.c - events that repeat themselves, go back, have no
 * version, or come too late: handlers get each change once.
 */
#include "event_record.h"
#include "kube_script.h"

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
