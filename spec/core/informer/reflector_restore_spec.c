/*
 * reflector_restore_spec.c - a server that was restored from a backup, and has
 * not reached the version that the watch is to go on from.
 */
#include "reflector_world.h"

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
