/*
 * reflector_opaque_spec.c - a server whose versions are no order: an aggregated
 * API server may send an event whose version is below the list's (KEP-5504).
 */
#include "kubelua/log.h"
#include "reflector_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The script begins after a list at version 100 that holds a@1; an event of
 * version 2 leads to another list, and the next event to opaque versions. */
#define LISTED "a@1 =100; "
#define ASKED "resolve; list limit=500; watch rv=100"
#define OPAQUE LISTED "+b@2; a@1 b@2 =101; +c@3"
#define OPAQUE_ASKED ASKED "; list limit=500; watch rv=101"
#define OPAQUE_DELTAS "[a@1]=100 !parse [a@1 b@2]=101 +c@3"
#define PROBE "list rv=3 match=NotOlderThan limit=1"

static int warnings;

static void count_warning(void *context, kl_log_level level, const char *text)
{
    (void)context;
    warnings +=
        level == KL_LOG_WARN && strstr(text, "not compared") != NULL ? 1 : 0;
}

static void expect(void **state, const char *script, const char *requests,
                   const char *deltas)
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
    expect(state, OPAQUE " ~a@2 -b@1 +d@300 ~d@4", OPAQUE_ASKED,
           OPAQUE_DELTAS " ~a@2 -b@1 +d@300 ~d@4");
    assert_int_equal(warnings, 1);
}

static void a_watch_resumes_from_what_the_server_sent_last(void **state)
{
    expect(state, OPAQUE " %10000 $; +d@2 %10000 $; ok",
           OPAQUE_ASKED "; watch rv=3; watch rv=2", OPAQUE_DELTAS " +d@2");
}

static void a_relist_asks_for_the_newest_state(void **state)
{
    expect(state, OPAQUE " !gone; a@1 c@3 =90; +d@5",
           OPAQUE_ASKED "; list limit=500; watch rv=90",
           OPAQUE_DELTAS " !gone [a@1 c@3]=90 +d@5");
    assert_int_equal(warnings, 1);
}

/* The backoff of an outage before it does not delay the list. */
static void a_relist_after_an_outage_comes_at_once(void **state)
{
    reflector_world *world = *state;

    expect(state,
           LISTED "!gone; !unavailable; !unavailable; !unavailable; a@1 =100; "
                  "+b@2; a@1 b@2 =101; ok",
           ASKED "; list rv=100 match=NotOlderThan; list rv=100 "
                 "match=NotOlderThan; list rv=100 match=NotOlderThan; list "
                 "rv=100 match=NotOlderThan; watch rv=100; list limit=500; "
                 "watch rv=101",
           "[a@1]=100 !gone !unavailable [a@1]=100 !parse [a@1 b@2]=101");
    assert_in_range(reflector_world_delay(world, 8), 0, 1600);
}

static void an_older_list_explains_an_event_below_the_version(void **state)
{
    expect(state, LISTED "+b@2; b@2 =3; +c@1; c@1 =1; +d@2",
           ASKED "; list limit=500; watch rv=3; list limit=500; watch rv=1",
           "[a@1]=100 !parse [b@2]=3 !parse [c@1]=1 +d@2");
    assert_int_equal(warnings, 0);
}

static void one_event_below_the_version_causes_a_relist(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = -1;
    expect(state,
           LISTED "+b@2; a@1 b@2 =101; %3600000 +c@3; a@1 b@2 c@3 =102; +d@103",
           OPAQUE_ASKED "; list limit=500; watch rv=102",
           "[a@1]=100 !parse [a@1 b@2]=101 !parse [a@1 b@2 c@3]=102 +d@103");
    assert_int_equal(warnings, 0);
}

static void a_probe_after_silence_finds_a_restored_server(void **state)
{
    expect(state, OPAQUE "; !version_ahead:504; a@1 =50; +d@2",
           OPAQUE_ASKED "; " PROBE " fresh; list limit=500; watch rv=50",
           OPAQUE_DELTAS " !version_ahead [a@1]=50 +d@2");
}

static void a_list_below_the_last_one_finds_a_restored_server(void **state)
{
    expect(state, OPAQUE "; =99; a@1 =99; +d@2",
           OPAQUE_ASKED "; " PROBE " fresh; list limit=500; watch rv=99",
           OPAQUE_DELTAS " !version_ahead [a@1]=99 +d@2");
}

static void a_list_above_the_last_event_is_no_restored_server(void **state)
{
    expect(state, OPAQUE "; =101; +d@2",
           OPAQUE_ASKED "; " PROBE " fresh; watch rv=3 fresh",
           OPAQUE_DELTAS " +d@2");
}

/* A restore breaks the streams; what comes after it may be told at once. */
static void a_broken_stream_leads_to_a_probe(void **state)
{
    expect(state, OPAQUE " !unavailable; =101; +d@2",
           OPAQUE_ASKED "; " PROBE "; watch rv=3",
           OPAQUE_DELTAS " !unavailable +d@2");
}

static void bookmarks_are_compared_with_lists_and_bookmarks(void **state)
{
    expect(state, OPAQUE " ^102 +d@2 ^100 %10000 $; ok",
           OPAQUE_ASKED "; watch rv=2", OPAQUE_DELTAS " ^102 +d@2");
}

static void bookmarks_below_the_last_one_are_no_sign_of_life(void **state)
{
    expect(state, OPAQUE " %60000 ^50 %60000 ^50; !version_ahead:504; =50; ok",
           OPAQUE_ASKED "; " PROBE "; list limit=500; watch rv=50",
           OPAQUE_DELTAS " !version_ahead []=50");
}

/* Bookmarks are not trusted before the server has said whether it has reached
 * the version: a restored server may be above the last list's version, and
 * below the last event's. */
static void bookmarks_are_trusted_after_an_answered_probe(void **state)
{
    expect(state,
           OPAQUE " !unavailable; !unavailable:503; ^102 %30000 ^102; "
                  "!version_ahead:504; a@1 =102; ^103 +d@2",
           OPAQUE_ASKED "; " PROBE "; watch rv=3; " PROBE
                        "; list limit=500; watch rv=102",
           OPAQUE_DELTAS " !unavailable !version_ahead [a@1]=102 ^103 +d@2");
}

static void without_an_idle_timeout_only_a_break_leads_to_a_probe(void **state)
{
    reflector_world *world = *state;

    world->options.idle_timeout_ms = -1;
    expect(state, OPAQUE " !unavailable; !unavailable:503; %20000 $; ok",
           OPAQUE_ASKED "; " PROBE "; watch rv=3; watch rv=3",
           OPAQUE_DELTAS " !unavailable");
}

static void a_resource_that_is_installed_anew_may_have_an_order(void **state)
{
    expect(state,
           OPAQUE " !not_found:404; a@1 =500; +b@501 +c@502 ~c@3; c@3 =503; ok",
           OPAQUE_ASKED "; resolve; list limit=500; watch rv=500; "
                        "list limit=500; watch rv=503",
           OPAQUE_DELTAS
           " !not_found [a@1]=500 +b@501 +c@502 !parse [c@3]=503");
    assert_int_equal(warnings, 1);
}

/* Such a list holds pages of several versions: events that its watch tells once
 * more could not be told from new ones. */
static void an_expired_token_is_not_renewed(void **state)
{
    reflector_world *world = *state;

    world->options.page_size = 1;
    expect(state, LISTED "+b@2; a@1 =101>t; !gone>u; a@1 b@900 =102; ~b@3",
           "resolve; list limit=1; watch rv=100; list limit=1; "
           "list continue=t limit=1; list limit=1; watch rv=102",
           "[a@1]=100 !parse !gone [a@1 b@900]=102 ~b@3");
}

#define WORLD_TEST(name)                                         \
    cmocka_unit_test_setup_teardown(name, reflector_world_setup, \
                                    reflector_world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
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
