/*
 * sim_clock_spec.c - a cluster whose clock only the spec advances: timed events
 * happen exactly then; the kind Event.
 */
#include "spec_case.h"

#include "base/thread.h"

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
    rig_play(f, "ADD first\n"
                "ADVANCE 90061\n"
                "ADD second\n"
                "GET configmaps/first -> 200 "
                "metadata.creationTimestamp=2026-01-01T00:00:00Z\n"
                "GET configmaps/second -> 200 "
                "metadata.creationTimestamp=2026-01-02T01:01:01Z\n");
    assert_true(kl_sim_now(f->sim) == START_MS + (86400 + 3661) * 1000);
}

static void *move_on(void *arg)
{
    sim_rig *f = arg;

    advance(f, 3600);
    return NULL;
}

STANDING_CASE(advancing_the_clock_wakes_a_waiting_watch)
{
    kl__thread mover;

    rig_play(f, "WATCH configmaps?timeoutSeconds=3000\n");
    assert_int_equal(kl__thread_start(&mover, "mover", move_on, f, NULL),
                     KL_OK);
    rig_play(f, "END\n");
    kl__thread_join(&mover);
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
    rig_play(f, "FAULT {action: delay, before: 0.05}\n"
                "WATCH configmaps?timeoutSeconds=1\n"
                "END\n");
}

/* ---- Events of both groups: one object with two forms. ---- */

#define NEW                                                                 \
    "POST events.k8s.io/v1/events {metadata: {name: e}, regarding: {kind: " \
    "Pod, name: p, namespace: default}, reason: R, note: 'n', type: "       \
    "Normal, action: a, eventTime: '2026-01-01T00:00:00.000000Z', "         \
    "reportingController: c, reportingInstance: i} -> 201\n"

/* A write begins its hour anew. */
PLAIN_CASE(an_event_ends_after_an_hour)
{
    const kl_sim_options options = {.clock_stands = true};
    kl_sim *sim = kl_sim_new(&options, NULL);

    sim_play(sim, NEW "POST events {metadata: {name: other}} -> 201\n"
                      "ADVANCE 3599\n"
                      "PATCH events/e {message: m} -> 200\n"
                      "GET events/other -> 200\n"
                      "ADVANCE 1\n"
                      "GET events/other -> 404\n"
                      "GET events/e -> 200\n"
                      "ADVANCE 3599\n"
                      "GET events.k8s.io/v1/events/e -> 404\n");
    kl_sim_unref(sim);
}
