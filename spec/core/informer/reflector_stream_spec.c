/*
 * reflector_stream_spec.c - streaming lists: staged until their end bookmark,
 * then the watch; and when paged lists are used instead.
 */
#include "kubelua/log.h"
#include "reflector_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* How often the log said that lists are paged. */
static atomic_int fallbacks;

static void count_fallback(void *context, kl_log_level level, const char *line)
{
    (void)context;
    (void)level;
    if (strstr(line, "as streaming failed") != NULL) {
        atomic_fetch_add(&fallbacks, 1);
    }
}

static void expect(void **state, const char *script, const char *requests,
                   const char *deltas)
{
    reflector_world *world = *state;

    reflector_world_play(world, script);
    assert_string_equal(reflector_world_requests(world), requests);
    assert_string_equal(reflector_world_deltas(world), deltas);
}

static void the_stream_goes_on_as_the_watch(void **state)
{
    reflector_world *world = *state;

    expect(state, "+a@1 +b@9 ^^10 ~a@11 -b@12 ^20", "resolve; stream",
           "[a@1 b@9]=10 ~a@11 -b@12 ^20");
    assert_int_equal(world->status.lists, 1);
    assert_int_equal(world->status.watches, 1);
    assert_int_equal(world->status.events, 3);
}

static void nothing_is_visible_before_the_end_bookmark(void **state)
{
    expect(state, "+a@1 +b@9", "resolve; stream", "");
}

static void changes_before_the_end_are_applied_to_the_stage(void **state)
{
    expect(state, "+a@1 +b@2 +c@3 ~a@4 -b@5 +b#again@6 -c@7 ^^10",
           "resolve; stream", "[a@4 b@6]=10");
}

static void a_bookmark_without_the_end_does_not_end_the_list(void **state)
{
    expect(state, "+a@1 ^5 +b@2 ^^10", "resolve; stream", "[a@1 b@2]=10");
}

static void the_initial_events_are_in_no_order_of_versions(void **state)
{
    expect(state, "+a@9 +b@2 +c@7 ^^10 +d@11", "resolve; stream",
           "[a@9 b@2 c@7]=10 +d@11");
}

static void a_stream_that_ends_is_watched_from_its_version(void **state)
{
    expect(state, "+a@1 ^^10 %2000 $; +b@11", "resolve; stream; watch rv=10",
           "[a@1]=10 +b@11");
}

static void a_relist_is_streamed_from_the_last_version(void **state)
{
    expect(state, "+a@1 ^^10 !gone; +a@1 ^^20", "resolve; stream; stream rv=10",
           "[a@1]=10 !gone [a@1]=20");
}

static void a_410_to_a_stream_asks_at_once_for_the_newest(void **state)
{
    expect(state, "+a@1 ^^10 !gone; ok !gone; +a@1 ^^20",
           "resolve; stream; stream rv=10; stream", "[a@1]=10 !gone [a@1]=20");
}

static void a_version_ahead_in_the_stream_asks_for_the_newest(void **state)
{
    reflector_world *world = *state;

    expect(state, "+a@1 ^^10 !gone; ok !version_ahead:504/1000; +a@1 ^^20",
           "resolve; stream; stream rv=10; stream",
           "[a@1]=10 !gone !version_ahead [a@1]=20");
    assert_in_range(reflector_world_delay(world, 3), 1000, 2600);
}

static void a_server_too_old_gets_a_paged_list_at_once(void **state)
{
    reflector_world *world = *state;

    expect(state, "!invalid:422; a@1 =10",
           "resolve; stream; list limit=500; watch rv=10", "[a@1]=10");
    assert_int_equal(reflector_world_delay(world, 2), 0);
    assert_int_equal(world->status.failures, 0);
}

static void a_400_falls_back_to_a_paged_list_at_once(void **state)
{
    expect(state, "!bad_request:400; a@1 =10",
           "resolve; stream; list limit=500; watch rv=10", "[a@1]=10");
}

static void paged_lists_are_remembered_for_an_hour(void **state)
{
    expect(state,
           "!invalid:422; a@1 =10; !gone; a@1 =20; "
           "+b@21 %3600000 !gone; +a@1 +b@21 ^^30",
           "resolve; stream; list limit=500; watch rv=10; "
           "list rv=10 match=NotOlderThan; watch rv=20; stream rv=21",
           "[a@1]=10 !gone [a@1]=20 +b@21 !gone [a@1 b@21]=30");
}

static void storage_without_streaming_lists_gets_a_paged_list(void **state)
{
    reflector_world *world = *state;

    expect(state, "ok !internal:500; ok !internal:500; a@1 =10",
           "resolve; stream; stream; list limit=500; watch rv=10", "[a@1]=10");
    assert_in_range(reflector_world_delay(world, 2), 800, 1599);
}

static void a_stream_that_ends_twice_without_its_end_is_given_up(void **state)
{
    reflector_world *world = *state;

    expect(state, "+a@1 $; +a@1 $; a@1 =10",
           "resolve; stream; stream; list limit=500; watch rv=10", "[a@1]=10");
    assert_in_range(reflector_world_delay(world, 2), 800, 1599);
    assert_int_equal(reflector_world_delay(world, 3), 0);
}

static void a_stream_that_falls_silent_twice_is_given_up(void **state)
{
    reflector_world *world = *state;

    expect(state, "+a@1; +a@1; a@1 =10",
           "resolve; stream; stream; list limit=500; watch rv=10", "[a@1]=10");
    assert_in_range(reflector_world_delay(world, 2), 10800, 11599);
    assert_int_equal(reflector_world_delay(world, 3), 10000);
}

static void a_busy_stream_without_an_end_is_given_up(void **state)
{
    reflector_world *world = *state;

    expect(state,
           "+a@1 %9000 ~a@2 %9000 ~a@3 %9000 ~a@4 %9000 ~a@5 %9000 ~a@6 "
           "%9000 ~a@7 %9000 ~a@8 %9000 ~a@9 %9000 ~a@10 %9000 ~a@11 %9000 "
           "~a@12 %9000 ~a@13 %9000 ~a@14 %9000 ~a@15 %9000 ~a@16; a@16 =20",
           "resolve; stream; list limit=500; watch rv=20", "[a@16]=20");
    assert_in_range(reflector_world_delay(world, 2), 120000, 130000);
}

static void a_complete_stream_resets_the_count_of_early_ends(void **state)
{
    expect(state, "+a@1 $; +a@1 ^^10 !gone; +a@1 $; +a@1 ^^20",
           "resolve; stream; stream; stream rv=10; stream rv=10",
           "[a@1]=10 !gone [a@1]=20");
}

static void rubbish_twice_before_the_end_gets_a_paged_list(void **state)
{
    expect(state, "+a@1 !parse; +a@1 !parse; a@1 =10",
           "resolve; stream; stream; list limit=500; watch rv=10", "[a@1]=10");
}

static void a_403_does_not_disable_streaming_lists(void **state)
{
    expect(state,
           "!forbidden:403; !unauthorized:401; !too_many_requests:429/1000; "
           "!unavailable:503; !unavailable; +a@1 ^^10",
           "resolve; stream; stream; stream; stream; stream; stream",
           "!forbidden !unauthorized !too_many_requests !unavailable "
           "!unavailable [a@1]=10");
}

static void a_stream_that_breaks_off_is_streamed_again(void **state)
{
    expect(state,
           "+a@1 !unavailable; +a@1 !unavailable; +a@1 !unavailable; "
           "+a@1 ^^10",
           "resolve; stream; stream; stream; stream", "!unavailable [a@1]=10");
}

static void a_timeout_is_retried_on_a_fresh_connection(void **state)
{
    expect(state, "!timeout; +a@1 ^^10", "resolve; stream; stream fresh",
           "!timeout [a@1]=10");
}

static void an_option_disables_streaming_lists(void **state)
{
    reflector_world *world = *state;

    world->options.no_streaming_list = true;
    expect(state, "a@1 =10; !gone; %7200000 a@1 =20",
           "resolve; list limit=500; watch rv=10; "
           "list rv=10 match=NotOlderThan; watch rv=20",
           "[a@1]=10 !gone [a@1]=20");
}

#define WORLD_TEST(name)                                         \
    cmocka_unit_test_setup_teardown(name, reflector_world_setup, \
                                    reflector_world_teardown)

static int fallbacks_told(reflector_world *world, const char *script)
{
    atomic_store(&fallbacks, 0);
    kl_set_log(count_fallback, NULL, KL_LOG_INFO);
    reflector_world_play(world, script);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    return atomic_load(&fallbacks);
}

static void a_fallback_is_logged_after_a_paged_list_succeeds(void **state)
{
    assert_int_equal(
        fallbacks_told(*state, "!bad_request:400; a@1 =10; !gone; b@2 =20"), 1);
}

/* As of a field that cannot be selected by: the lists are refused as well. */
static void a_request_that_is_refused_in_any_form_is_no_fallback(void **state)
{
    assert_int_equal(
        fallbacks_told(*state, "!bad_request:400; !bad_request:400"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_stream_goes_on_as_the_watch),
        WORLD_TEST(nothing_is_visible_before_the_end_bookmark),
        WORLD_TEST(changes_before_the_end_are_applied_to_the_stage),
        WORLD_TEST(a_bookmark_without_the_end_does_not_end_the_list),
        WORLD_TEST(the_initial_events_are_in_no_order_of_versions),
        WORLD_TEST(a_stream_that_ends_is_watched_from_its_version),
        WORLD_TEST(a_relist_is_streamed_from_the_last_version),
        WORLD_TEST(a_410_to_a_stream_asks_at_once_for_the_newest),
        WORLD_TEST(a_version_ahead_in_the_stream_asks_for_the_newest),
        WORLD_TEST(a_server_too_old_gets_a_paged_list_at_once),
        WORLD_TEST(a_400_falls_back_to_a_paged_list_at_once),
        WORLD_TEST(paged_lists_are_remembered_for_an_hour),
        WORLD_TEST(storage_without_streaming_lists_gets_a_paged_list),
        WORLD_TEST(a_stream_that_ends_twice_without_its_end_is_given_up),
        WORLD_TEST(a_stream_that_falls_silent_twice_is_given_up),
        WORLD_TEST(a_busy_stream_without_an_end_is_given_up),
        WORLD_TEST(a_complete_stream_resets_the_count_of_early_ends),
        WORLD_TEST(rubbish_twice_before_the_end_gets_a_paged_list),
        WORLD_TEST(a_403_does_not_disable_streaming_lists),
        WORLD_TEST(a_stream_that_breaks_off_is_streamed_again),
        WORLD_TEST(a_timeout_is_retried_on_a_fresh_connection),
        WORLD_TEST(a_fallback_is_logged_after_a_paged_list_succeeds),
        WORLD_TEST(a_request_that_is_refused_in_any_form_is_no_fallback),
        WORLD_TEST(an_option_disables_streaming_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
