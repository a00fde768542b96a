/*
 * queue_rig.h - a workqueue whose clock stands, with words for what specs do to
 * it. Keys are read into text, so that an order is one assertion.
 */
#ifndef KL_SPEC_QUEUE_RIG_H
#define KL_SPEC_QUEUE_RIG_H

#include "kubelua/queue.h"

typedef struct queue_rig {
    kl_queue *queue;
    int wakes; /* so often it was woken */
    char text[400];
} queue_rig;

/* Asserts that it could be made; events are gathered for so long. */
void queue_rig_begin(queue_rig *rig, int64_t gather_ms);
/* Frees it; asserts that nothing lives. */
void queue_rig_end(queue_rig *rig);

/* Adds, and asserts that it was accepted. */
void queue_rig_add(queue_rig *rig, const char *key);
void queue_rig_add_rear(queue_rig *rig, const char *key);
void queue_rig_add_related(queue_rig *rig, const char *key);
void queue_rig_add_after(queue_rig *rig, const char *key, int64_t ms);

/* Hands out the next key and asserts that it is this one; what is known of it.
 */
kl_queue_item queue_rig_take(queue_rig *rig, const char *key);

/* Hands out all keys, "a b c", and ends none of them; "" if none waits. */
const char *queue_rig_take_all(queue_rig *rig);

/* Ends a run: in how many ms the key waits again. */
int64_t queue_rig_done(queue_rig *rig, const char *key, kl_queue_result result,
                       int64_t ms);

/* Takes the next key, which is this one, and fails it. */
int64_t queue_rig_fail(queue_rig *rig, const char *key);

kl_queue_status queue_rig_status(queue_rig *rig);

#endif
