/*
 * timing.c - see timing.h.
 */
#include "queue/timing.h"

#include "base/backoff.h"
#include "queue/delays.h"

#include <limits.h>

static const kl__backoff_range backoff_range = {KL_QUEUE_BACKOFF_FIRST_MS,
                                                KL_QUEUE_BACKOFF_CAP_MS};

void kl__timing_init(kl__timing *timing)
{
    *timing = (kl__timing){
        .gathered_ms = KL__NEVER, .timer_ms = KL__NEVER, .asked_ms = KL__NEVER};
}

int64_t kl__timing_after(int64_t now_ms, int64_t ms)
{
    if (ms < 0) {
        return now_ms;
    }
    return ms < KL__NEVER - now_ms ? now_ms + ms : KL__NEVER;
}

static kl_lane better_lane(kl_lane a, kl_lane b)
{
    return a < b ? a : b;
}

static int64_t earlier_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void kl__timing_add(kl__timing *timing, const kl__timing_event *event)
{
    int64_t due_ms = event->due_ms;

    if (timing->is_backoff && event->is_related) {
        timing->timer_lane = better_lane(timing->timer_lane, event->lane);
        return;
    }
    if (timing->is_backoff) {
        /* The event ends the backoff. A retry that is due earlier than the
         * event's run keeps its earlier time. */
        due_ms = earlier_ms(due_ms, timing->timer_ms);
        timing->timer_ms = KL__NEVER;
        timing->is_backoff = false;
    }
    if (timing->gathered_ms == KL__NEVER) {
        timing->gathered_ms = due_ms;
        timing->gathered_lane = event->lane;
    }
    timing->gathered_lane = better_lane(timing->gathered_lane, event->lane);
    timing->has_own |= !event->is_related;
}

void kl__timing_set_timer(kl__timing *timing, int64_t due_ms)
{
    timing->asked_ms = due_ms;
    if (timing->is_backoff && due_ms >= timing->timer_ms) {
        return;
    }
    timing->timer_ms = due_ms;
    timing->timer_lane = KL_LANE_FRONT;
}

int64_t kl__timing_due(const kl__timing *timing)
{
    return earlier_ms(timing->gathered_ms, timing->timer_ms);
}

kl_lane kl__timing_take_due(kl__timing *timing, int64_t now_ms)
{
    kl_lane lane = KL_LANES;

    if (timing->gathered_ms <= now_ms) {
        lane = better_lane(lane, timing->gathered_lane);
        timing->gathered_ms = KL__NEVER;
    }
    if (timing->timer_ms <= now_ms) {
        lane = better_lane(lane, timing->timer_lane);
        timing->timer_ms = KL__NEVER;
        timing->is_backoff = false;
    }
    return lane;
}

void kl__timing_begin_run(kl__timing *timing)
{
    timing->gathered_ms = KL__NEVER;
    timing->timer_ms = KL__NEVER;
    timing->asked_ms = KL__NEVER;
    timing->is_backoff = false;
    timing->has_own = false;
}

/* Starts the backoff after a failed run. An event of the key's own object that
 * came during the run is due without backoff, because the failed run did not
 * see it. Events of related objects are left to the retry. */
static void begin_backoff(kl__timing *timing, const kl__timing_end *end,
                          uint64_t *random)
{
    int64_t wait_ms =
        kl__backoff_wait(backoff_range, timing->steps, end->ms, random);
    int64_t due_ms = kl__timing_after(end->now_ms, wait_ms);
    kl_lane lane = end->lane;

    timing->steps += timing->steps < UINT_MAX ? 1 : 0;
    if (timing->has_own) {
        return;
    }
    if (timing->gathered_ms != KL__NEVER) {
        lane = better_lane(lane, timing->gathered_lane);
        timing->gathered_ms = KL__NEVER;
    }
    timing->is_backoff = true;
    if (due_ms < timing->timer_ms) {
        timing->timer_ms = due_ms;
        timing->timer_lane = lane;
    }
}

void kl__timing_end_run(kl__timing *timing, const kl__timing_end *end,
                        uint64_t *random)
{
    int64_t due_ms = kl__timing_after(end->now_ms, end->ms);

    switch (end->result) {
    case KL_RESULT_FAILED:
        timing->failures++;
        begin_backoff(timing, end, random);
        break;
    case KL_RESULT_PACED:
        timing->failures = 0;
        begin_backoff(timing, end, random);
        break;
    case KL_RESULT_AFTER:
        if (due_ms < timing->timer_ms) {
            kl__timing_set_timer(timing, due_ms);
        }
        /* fall through */
    case KL_RESULT_DONE:
    default:
        timing->failures = 0;
        timing->steps = 0;
        break;
    }
}

void kl__timing_stop_timer(kl__timing *timing, int64_t now_ms)
{
    timing->timer_ms = KL__NEVER;
    timing->is_backoff = false;
    timing->gathered_ms = timing->gathered_ms != KL__NEVER ? now_ms : KL__NEVER;
}
