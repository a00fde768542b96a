/*
 * timing.h - when one key wants its next run: events that are gathered, one
 * timer, and the backoff of failures. Knows of no lanes' content and no locks.
 */
#ifndef KL_QUEUE_TIMING_H
#define KL_QUEUE_TIMING_H

#include "kubelua/queue.h"

typedef struct kl__timing {
    int64_t
        gathered_ms;   /* events came; their run is due. KL__NEVER: none came */
    int64_t timer_ms;  /* asked for, or the end of a backoff; or KL__NEVER */
    int64_t asked_ms;  /* what was asked for last, until a run begins */
    uint64_t failures; /* in a row */
    unsigned steps;    /* backoffs in a row */
    kl_lane gathered_lane;
    kl_lane timer_lane;
    bool is_backoff; /* the timer may not be shortened by related events */
    bool has_own;    /* of the events gathered, one was the key's own */
} kl__timing;

void kl__timing_init(kl__timing *timing);

/* An event that wants a run at `due_ms`, if it is the first one. */
typedef struct kl__timing_event {
    int64_t due_ms;
    kl_lane lane;
    bool is_related; /* it does not end a backoff */
} kl__timing_event;

void kl__timing_add(kl__timing *timing, const kl__timing_event *event);

/* Replaces the timer, but makes no backoff longer. */
void kl__timing_set_timer(kl__timing *timing, int64_t due_ms);

/* The earliest moment of all; KL__NEVER: there is none. */
int64_t kl__timing_due(const kl__timing *timing);

/* Takes out what is due: the best lane that it asks for; KL_LANES: nothing was
 * due. */
kl_lane kl__timing_take_due(kl__timing *timing, int64_t now_ms);

/* A run begins: it is the run of all that was wanted so far. */
void kl__timing_begin_run(kl__timing *timing);

/* A run ended: what came of it, where it had waited, and when. */
typedef struct kl__timing_end {
    kl_queue_result result;
    int64_t ms; /* as for kl_queue_done */
    kl_lane lane;
    int64_t now_ms;
} kl__timing_end;

void kl__timing_end_run(kl__timing *timing, const kl__timing_end *end,
                        uint64_t *random);

/* Drops the timer; what was gathered is due now. */
void kl__timing_stop_timer(kl__timing *timing, int64_t now_ms);

/* now + ms without overflow; now, for ms < 0. */
int64_t kl__timing_after(int64_t now_ms, int64_t ms);

#endif
