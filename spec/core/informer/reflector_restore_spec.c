/*
 * reflector_restore_spec.c - servers whose versions do not only grow: one that
 * was restored from a backup, and has not reached the version that the watch is
 * to go on from; and an aggregated one, whose versions are no order: it may
 * send an event whose version is below the list's (KEP-5504).
 */
#include "reflector_world.h"

#include "kubelua/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The script begins after a list at version 10 that holds a@1. */
#define LISTED "a@1 =10; "
#define ASKED "resolve; list limit=500; watch rv=10"
#define PROBE "list rv=10 match=NotOlderThan limit=1"
#define PROBE_NEWEST "list limit=1"

static void expect(void **state, const char *script, const char *requests,
                   const char *deltas)
{
    reflector_world *world = *state;

    world->options.no_streaming_list = true;
    reflector_world_play(world, script);
    assert_string_equal(reflector_world_requests(world), requests);
    assert_string_equal(reflector_world_deltas(world), deltas);
}

static void a_watch_refused_as_too_large_relists_at_once(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "!version_ahead:504; b@3 =4; ok",
           ASKED "; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead [b@3]=4");
    assert_in_range(reflector_world_delay(world, 3), 0, 199);
    assert_int_equal(world->status.failures, 1);
}

static void a_too_large_version_in_an_error_event_relists(void **state)
{
    expect(state, LISTED "ok !version_ahead:504; b@3 =4; ok",
           ASKED "; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead [b@3]=4");
}

static void a_relist_waits_for_retry_after(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "!version_ahead:504/7000; b@3 =4; ok",
           ASKED "; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead [b@3]=4");
    assert_in_range(reflector_world_delay(world, 3), 7000, 14000);
}

static void a_relist_that_is_refused_too_is_reported_once(void **state)
{
    expect(state, LISTED "!version_ahead:504; !version_ahead:504; b@3 =4; ok",
           ASKED "; list limit=500; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead [b@3]=4");
}

static void a_silent_watch_is_followed_by_a_probe(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "ok; a@1 =10; ok",
           ASKED "; " PROBE " fresh; watch rv=10 fresh", "[a@1]=10");
    assert_in_range(reflector_world_delay(world, 3), 90000, 99000);
    assert_int_equal(reflector_world_delay(world, 4), 0);
    assert_int_equal(world->status.failures, 0);
    assert_int_equal(world->status.lists, 1);
}

static void a_probe_finds_a_version_of_the_future(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "ok; !version_ahead:504; b@3 =4; ok",
           ASKED "; " PROBE " fresh; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead [b@3]=4");
    assert_in_range(reflector_world_delay(world, 4), 0, 199);
}

static void an_older_version_in_a_probe_causes_a_relist(void **state)
{
    expect(state, LISTED "ok; =4; b@3 =4; ok",
           ASKED "; " PROBE " fresh; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead [b@3]=4");
}

static void an_unanswered_probe_keeps_the_watch(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED "ok; !forbidden:403; ok; !bad_request:400; ok; "
                  "!gone:410; ok; !unavailable:503; ok; !parse; +b@11",
           ASKED "; " PROBE " fresh; watch rv=10 fresh; " PROBE
                 " fresh; watch rv=10 fresh; " PROBE
                 " fresh; watch rv=10 fresh; " PROBE
                 " fresh; watch rv=10 fresh; " PROBE_NEWEST
                 " fresh; watch rv=10 fresh",
           "[a@1]=10 +b@11");
    assert_int_equal(world->status.failures, 0);
}

static void a_probe_reads_two_objects_at_most(void **state)
{
    expect(state, LISTED "ok; a@1 b@2 c@3 =4; +d@11",
           ASKED "; " PROBE " fresh; watch rv=10 fresh", "[a@1]=10 +d@11");
}

static void an_unreachable_server_is_reported_by_the_probe(void **state)
{
    expect(state, LISTED "ok; !unavailable; =10; +b@11",
           ASKED "; " PROBE " fresh; " PROBE "; watch rv=10",
           "[a@1]=10 !unavailable +b@11");
}

static void bookmarks_below_the_version_are_no_sign_of_life(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "%60000 ^8 %60000 ^9; !version_ahead:504; b@3 =4; ok",
           ASKED "; " PROBE "; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead [b@3]=4");
    assert_int_equal(reflector_world_delay(world, 3), 120000);
}

static void bookmarks_of_the_version_itself_are_a_sign_of_life(void **state)
{
    expect(state, LISTED "%60000 ^10 %60000 ^10 %60000 ^10 %60000 +b@11 !gone",
           ASKED "; list rv=11 match=NotOlderThan", "[a@1]=10 ^10 +b@11 !gone");
}

static void an_unclear_answer_is_probed_again_soon(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "ok; !unavailable:504; ok; !version_ahead:504; =4; ok",
           ASKED "; " PROBE " fresh; watch rv=10 fresh; " PROBE_NEWEST
                 " fresh; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead []=4");
    assert_in_range(reflector_world_delay(world, 5), 22500, 32000);
}

/* A proxy puts a page of its own in the place of each 504: only the newest
 * state shows that the server is behind. */
static void a_restore_is_found_though_a_proxy_hides_each_504(void **state)
{
    expect(state, LISTED "ok; !unavailable:504; ok; =4; b@3 =4; ok",
           ASKED "; " PROBE " fresh; watch rv=10 fresh; " PROBE_NEWEST
                 " fresh; list limit=500; watch rv=4",
           "[a@1]=10 !version_ahead [b@3]=4");
}

static void an_answered_probe_makes_the_next_name_the_version(void **state)
{
    expect(state, LISTED "ok; !unavailable:504; ok; =10; ok; =10; ok",
           ASKED "; " PROBE " fresh; watch rv=10 fresh; " PROBE_NEWEST
                 " fresh; watch rv=10 fresh; " PROBE
                 " fresh; watch rv=10 fresh",
           "[a@1]=10");
}

static void bookmarks_below_after_a_probe_do_not_probe_at_once(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED
           "ok; !unavailable:503; ^8 %10000 ^8 %10000 ^9 %10000 ^9; =10; ok",
           ASKED "; " PROBE " fresh; watch rv=10 fresh; " PROBE_NEWEST
                 "; watch rv=10",
           "[a@1]=10");
    assert_int_equal(reflector_world_delay(world, 5), 30000);
}

static void a_403_to_a_probe_waits_for_an_idle_timeout(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "ok; !forbidden:403; ok; !forbidden:403; ok",
           ASKED "; " PROBE " fresh; watch rv=10 fresh; " PROBE
                 " fresh; watch rv=10 fresh",
           "[a@1]=10");
    assert_in_range(reflector_world_delay(world, 5), 90000, 99000);
}

static void watches_closed_at_once_lead_to_a_probe(void **state)
{
    expect(
        state,
        LISTED
        "$; $; $; $; $; $; $; !unavailable:504; $; !version_ahead:504; =4; ok",
        ASKED "; watch rv=10; watch rv=10; watch rv=10; watch rv=10; "
              "watch rv=10; watch rv=10; " PROBE "; watch rv=10; " PROBE_NEWEST
              "; list limit=500; watch rv=4",
        "[a@1]=10 !unavailable !version_ahead []=4");
}

static void short_silent_watches_lead_to_a_probe(void **state)
{
    expect(state, LISTED "%60000 $; %60000 $; =10; %60000 $; ok",
           ASKED "; watch rv=10; " PROBE "; watch rv=10; watch rv=10",
           "[a@1]=10");
}

static void a_bookmark_puts_the_probe_off(void **state)
{
    expect(state, LISTED "%60000 ^10 $; %60000 $; ok",
           ASKED "; watch rv=10; watch rv=10", "[a@1]=10 ^10");
}

static void without_an_idle_timeout_there_is_no_probe(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = -1;
    expect(state, LISTED "%400000 $; ok", ASKED "; watch rv=10", "[a@1]=10");
}

#define WORLD_TEST(name)                                         \
    cmocka_unit_test_setup_teardown(name, reflector_world_setup, \
                                    reflector_world_teardown)

/* The script begins after a list at version 100 that holds a@1; an event of
 * version 2 leads to another list, and the next event to opaque versions. */
#define LISTED_100 "a@1 =100; "
#define ASKED_100 "resolve; list limit=500; watch rv=100"
#define OPAQUE LISTED_100 "+b@2; a@1 b@2 =101; +c@3"
#define OPAQUE_ASKED ASKED_100 "; list limit=500; watch rv=101"
#define OPAQUE_DELTAS "[a@1]=100 !parse [a@1 b@2]=101 +c@3"
#define PROBE_3 "list rv=3 match=NotOlderThan limit=1"

static int warnings;

static void count_warning(void *context, kl_log_level level, const char *text)
{
    (void)context;
    warnings +=
        level == KL_LOG_WARN && strstr(text, "not compared") != NULL ? 1 : 0;
}

static void expect_opaque(void **state, const char *script,
                          const char *requests, const char *deltas)
{
    reflector_world *world = *state;

    warnings = 0;
    kl_set_log(count_warning, NULL, KL_LOG_WARN);
    world->options.no_streaming_list = true;
    reflector_world_play(world, script);
    kl_set_log(NULL, NULL, KL_LOG_WARN);
    assert_string_equal(reflector_world_requests(world), requests);
    assert_string_equal(reflector_world_deltas(world), deltas);
}

static void events_below_the_list_are_delivered_after_a_relist(void **state)
{
    expect_opaque(state, OPAQUE " ~a@2 -b@1 +d@300 ~d@4", OPAQUE_ASKED,
                  OPAQUE_DELTAS " ~a@2 -b@1 +d@300 ~d@4");
    assert_int_equal(warnings, 1);
}

static void a_watch_resumes_from_what_the_server_sent_last(void **state)
{
    expect_opaque(state, OPAQUE " %10000 $; +d@2 %10000 $; ok",
                  OPAQUE_ASKED "; watch rv=3; watch rv=2",
                  OPAQUE_DELTAS " +d@2");
}

static void a_relist_asks_for_the_newest_state(void **state)
{
    expect_opaque(state, OPAQUE " !gone; a@1 c@3 =90; +d@5",
                  OPAQUE_ASKED "; list limit=500; watch rv=90",
                  OPAQUE_DELTAS " !gone [a@1 c@3]=90 +d@5");
    assert_int_equal(warnings, 1);
}

/* The backoff of an outage before it does not delay the list. */
static void a_relist_after_an_outage_comes_at_once(void **state)
{
    reflector_world *world = *state;

    expect_opaque(
        state,
        LISTED_100 "!gone; !unavailable; !unavailable; !unavailable; a@1 =100; "
                   "+b@2; a@1 b@2 =101; ok",
        ASKED_100 "; list rv=100 match=NotOlderThan; list rv=100 "
                  "match=NotOlderThan; list rv=100 match=NotOlderThan; list "
                  "rv=100 match=NotOlderThan; watch rv=100; list limit=500; "
                  "watch rv=101",
        "[a@1]=100 !gone !unavailable [a@1]=100 !parse [a@1 b@2]=101");
    assert_in_range(reflector_world_delay(world, 8), 0, 1600);
}

static void an_older_list_explains_an_event_below_the_version(void **state)
{
    expect_opaque(state, LISTED_100 "+b@2; b@2 =3; +c@1; c@1 =1; +d@2",
                  ASKED_100
                  "; list limit=500; watch rv=3; list limit=500; watch rv=1",
                  "[a@1]=100 !parse [b@2]=3 !parse [c@1]=1 +d@2");
    assert_int_equal(warnings, 0);
}

static void one_event_below_the_version_causes_a_relist(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = -1;
    expect_opaque(
        state,
        LISTED_100
        "+b@2; a@1 b@2 =101; %3600000 +c@3; a@1 b@2 c@3 =102; +d@103",
        OPAQUE_ASKED "; list limit=500; watch rv=102",
        "[a@1]=100 !parse [a@1 b@2]=101 !parse [a@1 b@2 c@3]=102 +d@103");
    assert_int_equal(warnings, 0);
}

static void a_probe_after_silence_finds_a_restored_server(void **state)
{
    expect_opaque(state, OPAQUE "; !version_ahead:504; a@1 =50; +d@2",
                  OPAQUE_ASKED "; " PROBE_3
                               " fresh; list limit=500; watch rv=50",
                  OPAQUE_DELTAS " !version_ahead [a@1]=50 +d@2");
}

static void a_list_below_the_last_one_finds_a_restored_server(void **state)
{
    expect_opaque(state, OPAQUE "; =99; a@1 =99; +d@2",
                  OPAQUE_ASKED "; " PROBE_3
                               " fresh; list limit=500; watch rv=99",
                  OPAQUE_DELTAS " !version_ahead [a@1]=99 +d@2");
}

static void a_list_above_the_last_event_is_no_restored_server(void **state)
{
    expect_opaque(state, OPAQUE "; =101; +d@2",
                  OPAQUE_ASKED "; " PROBE_3 " fresh; watch rv=3 fresh",
                  OPAQUE_DELTAS " +d@2");
}

/* A restore breaks the streams; what comes after it may be told at once. */
static void a_broken_stream_leads_to_a_probe(void **state)
{
    expect_opaque(state, OPAQUE " !unavailable; =101; +d@2",
                  OPAQUE_ASKED "; " PROBE_3 "; watch rv=3",
                  OPAQUE_DELTAS " !unavailable +d@2");
}

static void bookmarks_are_compared_with_lists_and_bookmarks(void **state)
{
    expect_opaque(state, OPAQUE " ^102 +d@2 ^100 %10000 $; ok",
                  OPAQUE_ASKED "; watch rv=2", OPAQUE_DELTAS " ^102 +d@2");
}

static void bookmarks_below_the_last_one_are_no_sign_of_life(void **state)
{
    expect_opaque(state,
                  OPAQUE " %60000 ^50 %60000 ^50; !version_ahead:504; =50; ok",
                  OPAQUE_ASKED "; " PROBE_3 "; list limit=500; watch rv=50",
                  OPAQUE_DELTAS " !version_ahead []=50");
}

/* Bookmarks are not trusted before the server has said whether it has reached
 * the version: a restored server may be above the last list's version, and
 * below the last event's. */
static void bookmarks_are_trusted_after_an_answered_probe(void **state)
{
    expect_opaque(state,
                  OPAQUE " !unavailable; !unavailable:503; ^102 %30000 ^102; "
                         "!version_ahead:504; a@1 =102; ^103 +d@2",
                  OPAQUE_ASKED "; " PROBE_3 "; watch rv=3; " PROBE_3
                               "; list limit=500; watch rv=102",
                  OPAQUE_DELTAS
                  " !unavailable !version_ahead [a@1]=102 ^103 +d@2");
}

static void without_an_idle_timeout_only_a_break_leads_to_a_probe(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = -1;
    expect_opaque(state, OPAQUE " !unavailable; !unavailable:503; %20000 $; ok",
                  OPAQUE_ASKED "; " PROBE_3 "; watch rv=3; watch rv=3",
                  OPAQUE_DELTAS " !unavailable");
}

static void a_resource_that_is_installed_anew_may_have_an_order(void **state)
{
    expect_opaque(
        state,
        OPAQUE " !not_found:404; a@1 =500; +b@501 +c@502 ~c@3; c@3 =503; ok",
        OPAQUE_ASKED "; resolve; list limit=500; watch rv=500; "
                     "list limit=500; watch rv=503",
        OPAQUE_DELTAS " !not_found [a@1]=500 +b@501 +c@502 !parse [c@3]=503");
    assert_int_equal(warnings, 1);
}

/* Such a list holds pages of several versions: events that its watch tells once
 * more could not be told from new ones. */
static void an_expired_token_is_not_renewed(void **state)
{
    reflector_world *world = *state;

    world->options.page_size = 1;
    expect_opaque(state,
                  LISTED_100 "+b@2; a@1 =101>t; !gone>u; a@1 b@900 =102; ~b@3",
                  "resolve; list limit=1; watch rv=100; list limit=1; "
                  "list continue=t limit=1; list limit=1; watch rv=102",
                  "[a@1]=100 !parse !gone [a@1 b@900]=102 ~b@3");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_watch_refused_as_too_large_relists_at_once),
        WORLD_TEST(a_too_large_version_in_an_error_event_relists),
        WORLD_TEST(a_relist_waits_for_retry_after),
        WORLD_TEST(a_relist_that_is_refused_too_is_reported_once),
        WORLD_TEST(a_silent_watch_is_followed_by_a_probe),
        WORLD_TEST(a_probe_finds_a_version_of_the_future),
        WORLD_TEST(an_older_version_in_a_probe_causes_a_relist),
        WORLD_TEST(an_unanswered_probe_keeps_the_watch),
        WORLD_TEST(a_probe_reads_two_objects_at_most),
        WORLD_TEST(an_unreachable_server_is_reported_by_the_probe),
        WORLD_TEST(bookmarks_below_the_version_are_no_sign_of_life),
        WORLD_TEST(bookmarks_of_the_version_itself_are_a_sign_of_life),
        WORLD_TEST(an_unclear_answer_is_probed_again_soon),
        WORLD_TEST(a_restore_is_found_though_a_proxy_hides_each_504),
        WORLD_TEST(an_answered_probe_makes_the_next_name_the_version),
        WORLD_TEST(bookmarks_below_after_a_probe_do_not_probe_at_once),
        WORLD_TEST(a_403_to_a_probe_waits_for_an_idle_timeout),
        WORLD_TEST(watches_closed_at_once_lead_to_a_probe),
        WORLD_TEST(short_silent_watches_lead_to_a_probe),
        WORLD_TEST(a_bookmark_puts_the_probe_off),
        WORLD_TEST(without_an_idle_timeout_there_is_no_probe),
        WORLD_TEST(events_below_the_list_are_delivered_after_a_relist),
        WORLD_TEST(a_watch_resumes_from_what_the_server_sent_last),
        WORLD_TEST(a_relist_asks_for_the_newest_state),
        WORLD_TEST(a_relist_after_an_outage_comes_at_once),
        WORLD_TEST(an_older_list_explains_an_event_below_the_version),
        WORLD_TEST(one_event_below_the_version_causes_a_relist),
        WORLD_TEST(a_probe_after_silence_finds_a_restored_server),
        WORLD_TEST(a_list_below_the_last_one_finds_a_restored_server),
        WORLD_TEST(a_list_above_the_last_event_is_no_restored_server),
        WORLD_TEST(a_broken_stream_leads_to_a_probe),
        WORLD_TEST(bookmarks_are_compared_with_lists_and_bookmarks),
        WORLD_TEST(bookmarks_below_the_last_one_are_no_sign_of_life),
        WORLD_TEST(bookmarks_are_trusted_after_an_answered_probe),
        WORLD_TEST(without_an_idle_timeout_only_a_break_leads_to_a_probe),
        WORLD_TEST(a_resource_that_is_installed_anew_may_have_an_order),
        WORLD_TEST(an_expired_token_is_not_renewed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
