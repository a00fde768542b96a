/*
 * oracle.h - a workqueue as its header describes it, in the simplest form: an
 * array of keys that is searched from end to end.
 */
#ifndef KL_SPEC_MODEL_QUEUE_ORACLE_H
#define KL_SPEC_MODEL_QUEUE_ORACLE_H

#include "kubelua/queue.h"

enum { ORACLE_KEYS = 8 };

#define ORACLE_NEVER INT64_MAX

typedef struct oracle_key {
    bool waits;
    bool runs;
    int64_t began_ms; /* runs since then */
    kl_lane lane;     /* in which it waits, or waited before its run */
    uint64_t order;   /* its place in its lane */
    int64_t since_ms; /* waits since then */
    int64_t event_ms; /* its events are gathered until then */
    kl_lane event_lane;
    bool event_is_own;
    int64_t timer_ms;
    kl_lane timer_lane;
    bool is_backoff;  /* the timer is a backoff */
    int64_t asked_ms; /* when a timer that a user set is due */
    uint64_t failures;
    unsigned backoffs; /* backoffs in a row */
    /* the earlier of event_ms and timer_ms; due_turn: the order in which keys
     * got it */
    int64_t due_ms;
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

/* `now_ms` is the queue's time; it never goes back. */
void oracle_add(oracle *self, int key, kl_lane lane, bool is_related,
                int64_t now_ms);
void oracle_add_after(oracle *self, int key, int64_t ms, int64_t now_ms);
void oracle_forget(oracle *self, int key);
void oracle_end_all(oracle *self, bool is_shut, int64_t now_ms);

/* Takes the next key, and describes it in `item`; -1: no key waits. */
int oracle_next(oracle *self, int64_t now_ms, kl_queue_item *item);

/* How a run ended, as for kl_queue_done. */
typedef struct oracle_done {
    kl_queue_result result;
    int64_t ms;
    int64_t again_ms; /* what the queue said */
} oracle_done;

/* Ends a key's run. Fails unless the queue's `again_ms` is right. */
void oracle_end_run(oracle *self, int key, const oracle_done *done,
                    int64_t now_ms);

int64_t oracle_due_in(oracle *self, int64_t now_ms);
void oracle_status(oracle *self, int64_t now_ms, kl_queue_status *status);

#endif
