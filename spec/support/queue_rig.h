/*
 * queue_rig.h - a workqueue with a fake clock, and one-line calls for its
 * specs. Keys are written as one text, so that their order is one assertion.
 */
#ifndef KL_SPEC_QUEUE_RIG_H
#define KL_SPEC_QUEUE_RIG_H

#include "kubelua/queue.h"

typedef struct queue_rig {
    kl_queue *queue;
    int wakes; /* how often the queue called its wake function */
    char text[400];
} queue_rig;

/* Makes a queue; asserts that it was made. `gather_ms` as in
 * kl_queue_options. */
void queue_rig_begin(queue_rig *rig, int64_t gather_ms);
/* Frees the queue; asserts that nothing is left. */
void queue_rig_end(queue_rig *rig);

/* Adds a key, and asserts that it was accepted. */
void queue_rig_add(queue_rig *rig, const char *key);
void queue_rig_add_rear(queue_rig *rig, const char *key);
void queue_rig_add_related(queue_rig *rig, const char *key);
void queue_rig_add_after(queue_rig *rig, const char *key, int64_t ms);

/* Takes the next key, and asserts that it is this one; returns its item. */
kl_queue_item queue_rig_take(queue_rig *rig, const char *key);

/* Takes all keys, "a b c", and ends none of their runs; "" if no key waits. */
const char *queue_rig_take_all(queue_rig *rig);

/* Ends a run; returns in how many ms the key is due again (-1: never). */
int64_t queue_rig_done(queue_rig *rig, const char *key, kl_queue_result result,
                       int64_t ms);

/* Takes the next key, which must be this one, and ends its run as failed. */
int64_t queue_rig_fail(queue_rig *rig, const char *key);

kl_queue_status queue_rig_status(queue_rig *rig);

#endif
