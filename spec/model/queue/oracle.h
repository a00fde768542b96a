/*
 * oracle.h - a workqueue as its header describes it, written without a thought
 * for speed: an array of keys, looked through from end to end.
 */
#ifndef KL_SPEC_MODEL_QUEUE_ORACLE_H
#define KL_SPEC_MODEL_QUEUE_ORACLE_H

#include "kubelua/queue.h"

enum { ORACLE_KEYS = 8 };

#define ORACLE_NEVER INT64_MAX

typedef struct oracle_key {
    bool waits;
    bool runs;
    kl_lane lane;     /* in which it waits, or had waited before it ran */
    uint64_t order;   /* in its lane */
    int64_t since_ms; /* it waits */
    int64_t event_ms; /* its events are gathered until then */
    kl_lane event_lane;
    bool event_is_own;
    int64_t timer_ms;
    kl_lane timer_lane;
    bool is_backoff;  /* the timer */
    int64_t asked_ms; /* by a timer, not by a backoff */
    uint64_t failures;
    unsigned backoffs; /* in a row */
    int64_t due_ms;    /* the earlier of the two, and when it became so */
    uint64_t due_turn;
} oracle_key;

typedef struct oracle {
    oracle_key keys[ORACLE_KEYS];
    int64_t gather_ms;
    uint64_t orders;
    uint64_t turns;
    uint64_t adds;
    uint64_t retries;
    bool is_drained;
    bool is_shut;
} oracle;

void oracle_init(oracle *self, int64_t gather_ms);

/* Each is told what time it is for the queue; time never goes back. */
void oracle_add(oracle *self, int key, kl_lane lane, bool is_related,
                int64_t now_ms);
void oracle_add_after(oracle *self, int key, int64_t ms, int64_t now_ms);
void oracle_forget(oracle *self, int key);
void oracle_end_all(oracle *self, bool is_shut, int64_t now_ms);

/* The key that is next, with what is known of it in `item`; -1: none. */
int oracle_next(oracle *self, int64_t now_ms, kl_queue_item *item);

/* How a run ended, as for kl_queue_done. */
typedef struct oracle_done {
    kl_queue_result result;
    int64_t ms;
    int64_t again_ms; /* what the queue said */
} oracle_done;

/* Fails the run unless `again_ms` may be what comes of it. */
void oracle_end_run(oracle *self, int key, const oracle_done *done,
                    int64_t now_ms);

int64_t oracle_due_in(oracle *self, int64_t now_ms);
void oracle_status(oracle *self, int64_t now_ms, kl_queue_status *status);

#endif
