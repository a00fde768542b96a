/*
 * timing.h - when one key of a workqueue is due for its next run: gathered
 * events (coalesced into one run), one timer, and the backoff after failures.
 * Pure state of one key; keys.c moves the key accordingly.
 */
#ifndef KL_QUEUE_TIMING_H
#define KL_QUEUE_TIMING_H

#include "kubelua/queue.h"

typedef struct kl__timing {
    int64_t gathered_ms; /* when the gathered events are due, or KL__NEVER */
    int64_t timer_ms;    /* the timer, or the end of a backoff; or KL__NEVER */
    /* What set_timer was last called with, also while a backoff that ends
     * earlier is in timer_ms; a run clears it. */
    int64_t asked_ms;
    uint64_t failures; /* failed runs in a row */
    unsigned steps;    /* backoffs in a row */
    kl_lane gathered_lane;
    kl_lane timer_lane;
    bool is_backoff; /* timer_ms is the end of a backoff */
    bool has_own;    /* one of the gathered events is of the key's own object */
} kl__timing;

void kl__timing_init(kl__timing *timing);

/* An event. `due_ms` is when its run is due; later events before that run do
 * not change the time. */
typedef struct kl__timing_event {
    int64_t due_ms;
    kl_lane lane;
    bool is_related; /* of a related object: does not end a backoff */
} kl__timing_event;

void kl__timing_add(kl__timing *timing, const kl__timing_event *event);

/* Replaces the timer. During a backoff a later time is ignored. */
void kl__timing_set_timer(kl__timing *timing, int64_t due_ms);

/* When the next run is due; KL__NEVER: no run is planned. */
int64_t kl__timing_due(const kl__timing *timing);

/* Clears the gathered events and the timer if they are due, and returns the
 * best lane that they ask for; KL_LANES: nothing is due. */
kl_lane kl__timing_take_due(kl__timing *timing, int64_t now_ms);

/* A run begins. It serves all events and timers so far, so they are cleared. */
void kl__timing_begin_run(kl__timing *timing);

/* How a run ended: its result, the lane in which the key had waited, the
 * time. */
typedef struct kl__timing_end {
    kl_queue_result result;
    int64_t ms; /* as for kl_queue_done */
    kl_lane lane;
    int64_t now_ms;
} kl__timing_end;

void kl__timing_end_run(kl__timing *timing, const kl__timing_end *end,
                        uint64_t *random);

/* Drops the timer or backoff; gathered events are due now. */
void kl__timing_stop_timer(kl__timing *timing, int64_t now_ms);

/* now_ms + ms without overflow; now_ms if ms < 0. */
int64_t kl__timing_after(int64_t now_ms, int64_t ms);

#endif
