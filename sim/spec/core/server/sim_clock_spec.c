/*
 * sim_clock_spec.c - a cluster whose clock only the spec advances: timed events
 * happen exactly then.
 */

#include "spec_case.h"
#include "base/thread.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define START_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

static int set_up_standing(void **state)
{
    return sim_rig_set_up_with(
        state, &(kl_sim_options){.clock_stands = true, .now_ms = START_MS});
}

static int set_up_running(void **state)
{
    return sim_rig_set_up_with(state, &(kl_sim_options){.now_ms = START_MS});
}

static void expect_created(sim_rig *f, const char *name, const char *created)
{
    char target[128] = CONFIGMAPS "/";
    sim_reply reply;

    strcat(target, name);
    reply = sim_ask(f->sim, "GET", target, NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, "metadata.creationTimestamp"),
                        created);
    sim_reply_clear(&reply);
}

static void advance(sim_rig *f, int seconds)
{
    assert_int_equal(kl_sim_advance(f->sim, seconds * INT64_C(1000), NULL),
                     KL_OK);
}

#define STANDING_CASE(name) \
    SPEC_CASE(name, sim_rig *f, set_up_standing, sim_rig_tear_down)

STANDING_CASE(timestamps_follow_the_time_that_was_set)
{
    assert_true(kl_sim_now(f->sim) == START_MS);
    sim_add(f->sim, "first");
    expect_created(f, "first", "2026-01-01T00:00:00Z");
    advance(f, 86400 + 3661);
    sim_add(f->sim, "second");
    expect_created(f, "second", "2026-01-02T01:01:01Z");
    assert_true(kl_sim_now(f->sim) == START_MS + (86400 + 3661) * 1000);
}

STANDING_CASE(a_bookmark_comes_when_its_time_does)
{
    sim_watch watch = {0};

    sim_watch_open(&watch, f->transport, "http://sim",
                   CONFIGMAPS "?watch=true&resourceVersion=1"
                              "&allowWatchBookmarks=true");
    sim_watch_expect_silence(&watch);
    advance(f, 59);
    sim_watch_expect_silence(&watch);
    advance(f, 1);
    assert_string_equal(sim_watch_next(&watch), "BOOKMARK");
    sim_watch_close(&watch);
}

STANDING_CASE(a_watch_ends_when_its_time_does)
{
    sim_watch watch = {0};

    sim_watch_open(&watch, f->transport, "http://sim",
                   CONFIGMAPS "?watch=true&timeoutSeconds=5");
    sim_watch_expect_silence(&watch);
    advance(f, 5);
    assert_string_equal(sim_watch_next(&watch), "");
    sim_watch_close(&watch);
}

STANDING_CASE(a_watch_that_time_jumps_over_ends_with_its_bookmark)
{
    sim_watch watch = {0};

    sim_watch_open(&watch, f->transport, "http://sim",
                   CONFIGMAPS "?watch=true&resourceVersion=1"
                              "&allowWatchBookmarks=true&timeoutSeconds=1800");
    advance(f, 3600);
    assert_string_equal(sim_watch_next(&watch), "BOOKMARK");
    assert_string_equal(sim_watch_next(&watch), "");
    sim_watch_close(&watch);
}

static void *move_on(void *arg)
{
    sim_rig *f = arg;

    advance(f, 3600);
    return NULL;
}

STANDING_CASE(advancing_the_clock_wakes_a_waiting_watch)
{
    sim_watch watch = {0};
    kl__thread mover;

    sim_watch_open(&watch, f->transport, "http://sim",
                   CONFIGMAPS "?watch=true&timeoutSeconds=3000");
    assert_int_equal(kl__thread_start(&mover, "mover", move_on, f, NULL),
                     KL_OK);
    assert_string_equal(sim_watch_next(&watch), "");
    kl__thread_join(&mover);
    sim_watch_close(&watch);
}

#define RUNNING_CASE(name) \
    SPEC_CASE(name, sim_rig *f, set_up_running, sim_rig_tear_down)

RUNNING_CASE(a_clock_that_runs_can_be_set_and_moved_too)
{
    int64_t now = kl_sim_now(f->sim);

    assert_in_range(now, START_MS, START_MS + 3600 * 1000);
    advance(f, 86400);
    now = kl_sim_now(f->sim) - 86400 * 1000;
    assert_in_range(now, START_MS, START_MS + 3600 * 1000);
    advancing_the_clock_wakes_a_waiting_watch_case(f);
}

/* A continue token of a list of one, which has more. */
static void take_token(sim_rig *f, char *target, size_t size)
{
    sim_reply reply = sim_ask(f->sim, "GET", CONFIGMAPS "?limit=1", NULL);

    snprintf(target, size, CONFIGMAPS "?limit=1&continue=%s",
             sim_text(reply.doc, "metadata.continue"));
    assert_true(sim_text(reply.doc, "metadata.continue")[0] != '\0');
    sim_reply_clear(&reply);
}

STANDING_CASE(history_is_compacted_at_each_interval)
{
    char target[512];
    sim_watch watch = {0};

    sim_add(f->sim, "first");
    sim_add(f->sim, "second");
    take_token(f, target, sizeof(target));
    sim_touch(f->sim, "second", "1");
    advance(f, 300);
    sim_expect(f->sim, "GET", target, NULL, 200);
    advance(f, 299);
    sim_expect(f->sim, "GET", target, NULL, 200);
    advance(f, 1);
    sim_expect(f->sim, "GET", target, NULL, 410);
    sim_watch_open(&watch, f->transport, "http://sim",
                   CONFIGMAPS "?watch=true&resourceVersion=1");
    assert_string_equal(sim_watch_next(&watch), "ERROR");
    assert_string_equal(sim_text(watch.event, "object.reason"), "Expired");
    sim_watch_close(&watch);
}

STANDING_CASE(history_is_compacted_while_no_request_comes)
{
    char target[512];

    sim_add(f->sim, "first");
    sim_add(f->sim, "second");
    take_token(f, target, sizeof(target));
    sim_touch(f->sim, "second", "1");
    advance(f, 600);
    sim_expect(f->sim, "GET", target, NULL, 410);
}

STANDING_CASE(time_does_not_go_back)
{
    kl_error err;

    assert_int_equal(kl_sim_advance(f->sim, -1, &err), KL_EINVAL);
    assert_non_null(strstr(err.message, "forward"));
    assert_int_equal(kl_sim_advance(f->sim, INT64_MAX, &err), KL_EINVAL);
    assert_true(kl_sim_now(f->sim) == START_MS);
}

/* Its times are before the machine's: nothing is late, or never, for that. */
RUNNING_CASE(timers_fire_after_the_time_of_day_was_set_back)
{
    const char delay[] = "{\"action\":\"delay\",\"before\":0.05}";
    sim_watch watch = {0};

    assert_int_equal(kl_sim_fault(f->sim, delay, sizeof(delay) - 1, NULL, NULL),
                     KL_OK);
    sim_watch_open(&watch, f->transport, "http://sim",
                   CONFIGMAPS "?watch=true&timeoutSeconds=1");
    assert_string_equal(sim_watch_next(&watch), "");
    sim_watch_close(&watch);
}
