/*
 * reflector_watch_spec.c - the watch: resumed from its version whatever ends
 * it, and when it is not.
 */
#include "reflector_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The script begins after a list at version 10 that holds a@1. */
#define LISTED "a@1 =10; "
#define ASKED "resolve; list limit=500; watch rv=10"
#define PROBE(rv) "list rv=" rv " match=NotOlderThan limit=1 fresh"

static void expect(void **state, const char *script, const char *requests,
                   const char *deltas)
{
    reflector_world *world = *state;

    world->options.no_streaming_list = true;
    reflector_world_play(world, script);
    assert_string_equal(reflector_world_requests(world), requests);
    assert_string_equal(reflector_world_deltas(world), deltas);
}

static void events_move_the_version(void **state)
{
    expect(state, LISTED "+b@11 %1000 $; ~b@12 %1000 $; -b@13 %1000 $; ok",
           ASKED "; watch rv=11; watch rv=12; watch rv=13",
           "[a@1]=10 +b@11 ~b@12 -b@13");
}

static void the_longest_idle_timeout_does_not_overflow(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = INT64_MAX;
    expect(state, LISTED "+b@11 %1000 $", ASKED "; watch rv=11",
           "[a@1]=10 +b@11");
}

static void bookmarks_move_the_version(void **state)
{
    expect(state, LISTED "^50 %1000 $; ok", ASKED "; watch rv=50",
           "[a@1]=10 ^50");
}

static void a_clean_end_resumes_the_watch_at_once(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "%80000 $; %5000 $; ok",
           ASKED "; watch rv=10; watch rv=10", "[a@1]=10");
    assert_int_equal(reflector_world_delay(world, 3), 80000);
    assert_int_equal(reflector_world_delay(world, 4), 5000);
    assert_int_equal(world->status.failures, 0);
}

static void each_watch_asks_for_five_to_ten_minutes(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "%1000 $; %1000 $; ok",
           ASKED "; watch rv=10; watch rv=10", "[a@1]=10");
    for (int i = 2; i < 5; i++) {
        assert_in_range(scripted_source_timeout(world->source, i), 300, 599);
    }
    assert_int_not_equal(scripted_source_timeout(world->source, 2),
                         scripted_source_timeout(world->source, 3));
}

static void a_watch_that_is_always_closed_at_once_backs_off(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = -1;
    expect(state, LISTED "$; $; $; $; $; $; $; $; ok",
           ASKED "; watch rv=10; watch rv=10; watch rv=10; watch rv=10; "
                 "watch rv=10; watch rv=10; watch rv=10; watch rv=10",
           "[a@1]=10 !unavailable");
    assert_in_range(reflector_world_delay(world, 3), 800, 1599);
    assert_in_range(reflector_world_delay(world, 4), 1600, 3199);
    assert_in_range(reflector_world_delay(world, 10), 30000, 59999);
}

static void a_bookmark_of_the_same_version_is_no_progress(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "^10 $; ^10 $; ^10 $; ok",
           ASKED "; watch rv=10; watch rv=10; watch rv=10",
           "[a@1]=10 ^10 !unavailable");
    assert_in_range(reflector_world_delay(world, 5), 3200, 6399);
}

static void a_short_watch_with_news_is_followed_by_the_next(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "+b@11 $; +c@12 $; ok",
           ASKED "; watch rv=11; watch rv=12", "[a@1]=10 +b@11 +c@12");
    assert_in_range(reflector_world_delay(world, 3), 0, 199);
    assert_in_range(reflector_world_delay(world, 4), 0, 199);
}

static void a_watch_that_breaks_off_resumes_without_a_list(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "+b@11 !unavailable; ~b@12", ASKED "; watch rv=11",
           "[a@1]=10 +b@11 !unavailable ~b@12");
    assert_in_range(reflector_world_delay(world, 3), 0, 199);
}

static void an_unreachable_server_is_retried_with_backoff(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED "+b@11 !unavailable; !unavailable; !unavailable; "
                  "!unavailable; ~b@12",
           ASKED "; watch rv=11; watch rv=11; watch rv=11; watch rv=11",
           "[a@1]=10 +b@11 !unavailable ~b@12");
    assert_in_range(reflector_world_delay(world, 4), 1600, 3199);
    assert_in_range(reflector_world_delay(world, 5), 3200, 6399);
    assert_in_range(reflector_world_delay(world, 6), 6400, 12799);
}

static void a_refused_watch_does_not_relist(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = -1; /* the version is never asked for */
    expect(state,
           LISTED "!forbidden:403; !unauthorized:401; !tls; "
                  "!unavailable:503/1000; !too_many_requests:429/1000; "
                  "!unavailable; !timeout; +b@11",
           ASKED "; watch rv=10; watch rv=10; watch rv=10; watch rv=10; "
                 "watch rv=10; watch rv=10; watch rv=10 fresh",
           "[a@1]=10 !forbidden !unauthorized !tls !unavailable "
           "!too_many_requests !unavailable !timeout +b@11");
}

static void a_429_in_the_stream_waits_for_retry_after(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED "ok !too_many_requests:429/7000; ok "
                  "!too_many_requests:429/7000; +b@11",
           ASKED "; watch rv=10; watch rv=10",
           "[a@1]=10 !too_many_requests +b@11");
    assert_in_range(reflector_world_delay(world, 3), 7000, 8599);
}

/* A list that is too old to be watched from came out of a cache that lags: it
 * may lag for long. */
static void a_410_during_a_watch_causes_a_relist(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "ok !gone; a@1 =20; ok !gone; a@1 =30; ok",
           ASKED "; list rv=10 match=NotOlderThan; watch rv=20; "
                 "list limit=500; watch rv=30",
           "[a@1]=10 !gone [a@1]=20 !gone [a@1]=30");
    assert_in_range(reflector_world_delay(world, 3), 0, 199);
    assert_in_range(reflector_world_delay(world, 5), 1600, 3199);
}

static void a_410_after_an_outage_relists_at_once(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED "+b@11 !unavailable; !unavailable; !unavailable; ok !gone; "
                  "a@1 =20; ok !gone; a@1 =30; ok",
           ASKED "; watch rv=11; watch rv=11; watch rv=11; "
                 "list rv=11 match=NotOlderThan; watch rv=20; "
                 "list limit=500; watch rv=30",
           "[a@1]=10 +b@11 !unavailable !gone [a@1]=20 !gone [a@1]=30");
    assert_in_range(reflector_world_delay(world, 5), 3200, 6399);
    assert_in_range(reflector_world_delay(world, 6), 0, 199);
    assert_in_range(reflector_world_delay(world, 8), 1600, 3199);
}

/* A server that is restarted twice in a few seconds: between, the watch has
 * lived too shortly to count as healthy. */
static void a_410_after_a_second_outage_relists_at_once_too(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED "+b@11 !unavailable; !gone:410; a@1 =20; ok !unavailable; "
                  "!unavailable; !unavailable; !gone:410; a@1 =30; ok !gone; "
                  "a@1 =40; ok",
           ASKED "; watch rv=11; list rv=11 match=NotOlderThan; watch rv=20; "
                 "watch rv=20; watch rv=20; watch rv=20; "
                 "list rv=20 match=NotOlderThan; watch rv=30; "
                 "list limit=500; watch rv=40",
           "[a@1]=10 +b@11 !unavailable !gone [a@1]=20 !unavailable !gone "
           "[a@1]=30 !gone [a@1]=40");
    assert_in_range(reflector_world_delay(world, 4), 0, 199);
    assert_in_range(reflector_world_delay(world, 9), 0, 199);
    assert_in_range(reflector_world_delay(world, 11), 1600, 3199);
}

static void a_410_as_http_status_is_the_same_as_in_the_stream(void **state)
{
    expect(state, LISTED "!gone:410; a@1 =20",
           ASKED "; list rv=10 match=NotOlderThan; watch rv=20",
           "[a@1]=10 !gone [a@1]=20");
}

static void a_404_to_a_watch_resolves_and_relists(void **state)
{
    expect(state,
           LISTED "!not_found:404; resolve !unknown_kind; b@20 =21; +c@22",
           ASKED "; resolve; resolve; list limit=500; watch rv=21",
           "[a@1]=10 !not_found !unknown_kind [b@20]=21 +c@22");
}

static void rubbish_is_watched_from_the_last_good_version(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "+b@11 !parse; ~b@12", ASKED "; watch rv=11",
           "[a@1]=10 +b@11 !parse ~b@12");
    assert_in_range(reflector_world_delay(world, 3), 800, 1599);
}

static void rubbish_three_times_in_a_row_causes_a_relist(void **state)
{
    expect(state, LISTED "ok !parse; ok !parse; ok !parse; a@1 c@12 =13; ok",
           ASKED "; watch rv=10; watch rv=10; list rv=10 match=NotOlderThan; "
                 "watch rv=13",
           "[a@1]=10 !parse [a@1 c@12]=13");
}

/* A list ends the error, so the same error after it is reported again. */
static void an_error_that_comes_back_is_reported_again(void **state)
{
    expect(state,
           LISTED "!internal:500; !internal:500; !internal:500; a@1 =13; "
                  "!internal:500; ok",
           ASKED "; watch rv=10; watch rv=10; list rv=10 match=NotOlderThan; "
                 "watch rv=13; watch rv=13",
           "[a@1]=10 !internal [a@1]=13 !internal");
}

static void rubbish_with_news_between_is_not_in_a_row(void **state)
{
    expect(state,
           LISTED "+b@11 !parse; +c@12 !parse; +d@13 !parse; +e@14 !parse; ok",
           ASKED "; watch rv=11; watch rv=12; watch rv=13; watch rv=14",
           "[a@1]=10 +b@11 !parse +c@12 !parse +d@13 !parse +e@14 !parse");
}

static void an_unsafe_delete_is_found_by_a_relist(void **state)
{
    expect(state,
           LISTED "ok !internal:500; ok !internal:500; ok !internal:500; =20; "
                  "ok",
           ASKED "; watch rv=10; watch rv=10; list rv=10 match=NotOlderThan; "
                 "watch rv=20",
           "[a@1]=10 !internal []=20");
}

static void an_event_without_a_version_keeps_the_version(void **state)
{
    expect(state, LISTED "+b@11 ~a@ ^ %1000 $; ok", ASKED "; watch rv=11",
           "[a@1]=10 +b@11 ~a@");
}

static void a_version_that_goes_back_causes_a_relist(void **state)
{
    expect(state, LISTED "+b@15 ~b@14; a@1 b@15 =20",
           ASKED "; list limit=500; watch rv=20",
           "[a@1]=10 +b@15 !parse [a@1 b@15]=20");
}

static void an_event_that_comes_twice_is_harmless(void **state)
{
    expect(state, LISTED "+b@11 +b@11 ~b@12", ASKED,
           "[a@1]=10 +b@11 +b@11 ~b@12");
}

static void a_bookmark_that_goes_back_is_ignored(void **state)
{
    expect(state, LISTED "+b@15 ^12 %1000 $; ok", ASKED "; watch rv=15",
           "[a@1]=10 +b@15");
}

static void versions_that_are_not_numbers_are_sent_back(void **state)
{
    expect(state, "a@x1 =x9; +b@x7 %1000 $; ok",
           "resolve; list limit=500; watch rv=x9; watch rv=x7",
           "[a@x1]=x9 +b@x7");
}

static void a_silent_watch_is_resumed_on_a_fresh_connection(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "+b@11; =11; ok; =11; +c@12",
           ASKED "; " PROBE("11") "; watch rv=11 fresh; " PROBE(
               "11") "; watch rv=11 fresh",
           "[a@1]=10 +b@11 +c@12");
    assert_in_range(reflector_world_delay(world, 3), 90000, 99000);
    assert_in_range(reflector_world_delay(world, 5), 90000, 99000);
    assert_int_not_equal(reflector_world_delay(world, 3),
                         reflector_world_delay(world, 5));
    assert_int_equal(world->status.failures, 0);
}

static void each_byte_restarts_the_idle_timeout(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = 20000;
    expect(state, LISTED "%15000 ^11 %15000 ^12; =12; ok",
           ASKED "; " PROBE("12") "; watch rv=12 fresh", "[a@1]=10 ^12");
    assert_in_range(reflector_world_delay(world, 3), 50000, 52000);
}

static void a_watch_that_cannot_be_resumed_is_an_error(void **state)
{
    expect(state, LISTED "ok; =10; !unavailable; ok",
           ASKED "; " PROBE("10") "; watch rv=10 fresh; watch rv=10",
           "[a@1]=10 !unavailable");
}

static void a_watch_that_lasts_resets_the_backoff(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED "!forbidden:403; !forbidden:403; %10000 $; !forbidden:403; "
                  "ok",
           ASKED "; watch rv=10; watch rv=10; watch rv=10; watch rv=10",
           "[a@1]=10 !forbidden"); /* the queue merges neighbours */
    assert_in_range(reflector_world_delay(world, 6), 800, 1599);
}

static void a_watch_that_does_not_last_keeps_backing_off(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED "!forbidden:403; !forbidden:403; %5000 $; !forbidden:403; "
                  "ok",
           ASKED "; watch rv=10; watch rv=10; watch rv=10; watch rv=10",
           "[a@1]=10 !forbidden");
    assert_in_range(reflector_world_delay(world, 6), 3200, 6399);
}

static void the_status_tells_what_happened(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "+b@11 !forbidden:403", ASKED "; watch rv=11",
           "[a@1]=10 +b@11 !forbidden");
    assert_int_equal(world->status.state, KL_STATE_STOPPED);
    assert_int_equal(world->status.lists, 1);
    assert_int_equal(world->status.watches, 1);
    assert_int_equal(world->status.events, 1);
    assert_int_equal(world->status.failures, 1);
    assert_int_equal(world->status.error.code, KL_EFORBIDDEN);
    assert_in_range(world->status.last_message_age_ms, 800, 1599);
}

static void health_clears_the_error_of_the_status(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "!forbidden:403; +b@11", ASKED "; watch rv=10",
           "[a@1]=10 !forbidden +b@11");
    assert_int_equal(world->status.error.code, KL_OK);
    assert_int_equal(world->status.failures, 1);
}

/* That a proxy ends each watch after some seconds is no failure. */
static void a_watch_that_was_ended_clears_the_error_of_the_status(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "!forbidden:403; %3000 $; ok",
           ASKED "; watch rv=10; watch rv=10", "[a@1]=10 !forbidden");
    assert_int_equal(world->status.error.code, KL_OK);
}

static void
a_watch_that_fell_silent_clears_the_error_of_the_status(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = 5000;
    expect(state, LISTED "!forbidden:403; ok; =10; ok",
           ASKED "; watch rv=10; " PROBE("10") "; watch rv=10 fresh",
           "[a@1]=10 !forbidden");
    assert_int_equal(world->status.error.code, KL_OK);
}

static void closing_the_client_ends_the_reflector(void **state)
{
    reflector_world *world = *state;

    expect(state, LISTED "+b@11 !closed; ok", ASKED, "[a@1]=10 +b@11");
    assert_int_equal(world->status.state, KL_STATE_STOPPED);
    assert_int_equal(world->status.failures, 0);
}

static void a_source_is_not_asked_after_a_stop(void **state)
{
    reflector_world *world = *state;

    kl__cancel_fire(&world->stop);
    expect(state, LISTED, "", "");
}

#define WORLD_TEST(name)                                         \
    cmocka_unit_test_setup_teardown(name, reflector_world_setup, \
                                    reflector_world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(events_move_the_version),
        WORLD_TEST(the_longest_idle_timeout_does_not_overflow),
        WORLD_TEST(bookmarks_move_the_version),
        WORLD_TEST(a_clean_end_resumes_the_watch_at_once),
        WORLD_TEST(each_watch_asks_for_five_to_ten_minutes),
        WORLD_TEST(a_watch_that_is_always_closed_at_once_backs_off),
        WORLD_TEST(a_bookmark_of_the_same_version_is_no_progress),
        WORLD_TEST(a_short_watch_with_news_is_followed_by_the_next),
        WORLD_TEST(a_watch_that_breaks_off_resumes_without_a_list),
        WORLD_TEST(an_unreachable_server_is_retried_with_backoff),
        WORLD_TEST(a_refused_watch_does_not_relist),
        WORLD_TEST(a_429_in_the_stream_waits_for_retry_after),
        WORLD_TEST(a_410_during_a_watch_causes_a_relist),
        WORLD_TEST(a_410_after_an_outage_relists_at_once),
        WORLD_TEST(a_410_after_a_second_outage_relists_at_once_too),
        WORLD_TEST(a_410_as_http_status_is_the_same_as_in_the_stream),
        WORLD_TEST(a_404_to_a_watch_resolves_and_relists),
        WORLD_TEST(rubbish_is_watched_from_the_last_good_version),
        WORLD_TEST(rubbish_three_times_in_a_row_causes_a_relist),
        WORLD_TEST(an_error_that_comes_back_is_reported_again),
        WORLD_TEST(rubbish_with_news_between_is_not_in_a_row),
        WORLD_TEST(an_unsafe_delete_is_found_by_a_relist),
        WORLD_TEST(an_event_without_a_version_keeps_the_version),
        WORLD_TEST(a_version_that_goes_back_causes_a_relist),
        WORLD_TEST(an_event_that_comes_twice_is_harmless),
        WORLD_TEST(a_bookmark_that_goes_back_is_ignored),
        WORLD_TEST(versions_that_are_not_numbers_are_sent_back),
        WORLD_TEST(a_silent_watch_is_resumed_on_a_fresh_connection),
        WORLD_TEST(each_byte_restarts_the_idle_timeout),
        WORLD_TEST(a_watch_that_cannot_be_resumed_is_an_error),
        WORLD_TEST(a_watch_that_lasts_resets_the_backoff),
        WORLD_TEST(a_watch_that_does_not_last_keeps_backing_off),
        WORLD_TEST(the_status_tells_what_happened),
        WORLD_TEST(health_clears_the_error_of_the_status),
        WORLD_TEST(a_watch_that_was_ended_clears_the_error_of_the_status),
        WORLD_TEST(a_watch_that_fell_silent_clears_the_error_of_the_status),
        WORLD_TEST(closing_the_client_ends_the_reflector),
        WORLD_TEST(a_source_is_not_asked_after_a_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
