/*
 * reflector_pause_spec.c - how long a reflector waits after a failure, and what
 * ends the pause early.
 */
#include "reflector_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The server was away for half a minute, and is back: 429 and 503 say when to
 * ask again. So often as client-go tries a request, not for ever. */
static void retry_after_ends_the_backoff_of_an_outage(void **state)
{
    reflector_world *world = *state;

    world->options.no_streaming_list = true;
    reflector_world_play(
        world, "!unavailable; !unavailable; !unavailable; !unavailable;"
               "!unavailable; !too_many_requests:429/1000;"
               "!unavailable:503/5000; a@1 =10");
    assert_in_range(reflector_world_delay(world, 6), 12800, 25599);
    assert_in_range(reflector_world_delay(world, 7), 1000, 1799);
    assert_in_range(reflector_world_delay(world, 8), 5000, 5799);
}

static void a_server_that_is_always_busy_is_asked_ever_more_rarely(void **state)
{
    reflector_world *world = *state;
    const char *busy = "!too_many_requests:429/1000;";
    char script[1024] = "";

    world->options.no_streaming_list = true;
    for (int i = 0; i < 16; i++) {
        strcat(script, busy);
    }
    strcat(script, "a@1 =10; +b@11 !too_many_requests:429/1000;");
    strcat(strcat(strcat(script, busy), busy), "ok");
    reflector_world_play(world, script);
    for (int i = 2; i < 12; i++) {
        assert_in_range(reflector_world_delay(world, i), 1000, 1799);
    }
    assert_in_range(reflector_world_delay(world, 12), 1600, 3199);
    assert_in_range(reflector_world_delay(world, 13), 3200, 6399);
    assert_in_range(reflector_world_delay(world, 17), 30000, 60000);
    for (int i = 19; i < 22; i++) { /* an event came: it begins anew */
        assert_in_range(reflector_world_delay(world, i), 1000, 1799);
    }
}

#define AWAY                                                   \
    "!unavailable; !unavailable; !unavailable; !unavailable; " \
    "!unavailable; "

/* When the first list or watch was sent after that time. */
static int64_t first_after(const reflector_world *world, int64_t in_ms,
                           int requests)
{
    for (int i = 2; i < requests; i++) {
        int64_t at = scripted_source_time(world->source, i) -
                     scripted_source_time(world->source, 1);

        if (at > in_ms) {
            return at;
        }
    }
    fail_msg("nothing was asked");
    return -1;
}

/* Twice: the first outage ends with the list and an event. */
static void an_answer_to_another_request_ends_a_pause(void **state)
{
    static const int64_t heard[] = {30000, 70000, 0};
    reflector_world *world = *state;

    world->options.no_streaming_list = true;
    world->heard_in_ms = heard;
    reflector_world_play(world, AWAY "a@1 =10; +b@11 !unavailable;" AWAY "ok");
    assert_in_range(first_after(world, 30000, 7), 30000, 31100);
    assert_in_range(first_after(world, 70000, 14), 70000, 71100);
}

/* Others are answered each second: it is this list that fails. */
static void one_pause_of_an_outage_ends_early(void **state)
{
    static int64_t heard[201];
    reflector_world *world = *state;

    for (int i = 0; i < 200; i++) {
        heard[i] = 1 + i * 1000;
    }
    world->options.no_streaming_list = true;
    world->heard_in_ms = heard;
    reflector_world_play(world, AWAY AWAY "a@1 =10");
    assert_in_range(reflector_world_delay(world, 7), 25600, 51199);
}

static void a_401_is_retried_when_the_credentials_change(void **state)
{
    reflector_world *world = *state;

    world->options.no_streaming_list = true;
    world->renewed_in_ms = 3000;
    reflector_world_play(world, "!unauthorized:401/20000; a@1 =10");
    assert_in_range(reflector_world_delay(world, 2), 3000, 4100);
}

static void a_401_with_the_same_credentials_waits_for_the_backoff(void **state)
{
    reflector_world *world = *state;

    world->options.no_streaming_list = true;
    reflector_world_play(world, "!unauthorized:401/20000; a@1 =10");
    assert_in_range(reflector_world_delay(world, 2), 20000, 60000);
}

#define WORLD_TEST(name)                                         \
    cmocka_unit_test_setup_teardown(name, reflector_world_setup, \
                                    reflector_world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(retry_after_ends_the_backoff_of_an_outage),
        WORLD_TEST(a_server_that_is_always_busy_is_asked_ever_more_rarely),
        WORLD_TEST(an_answer_to_another_request_ends_a_pause),
        WORLD_TEST(one_pause_of_an_outage_ends_early),
        WORLD_TEST(a_401_is_retried_when_the_credentials_change),
        WORLD_TEST(a_401_with_the_same_credentials_waits_for_the_backoff),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
