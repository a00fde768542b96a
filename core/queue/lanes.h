/*
 * lanes.h - the keys that wait for a run: one list for each lane (priority),
 * first come first served, and one list of all keys by waiting time.
 */
#ifndef KL_QUEUE_LANES_H
#define KL_QUEUE_LANES_H

#include "base/list.h"
#include "kubelua/queue.h"

/* A key's place in the lanes. */
typedef struct kl__lane_place {
    kl__list in_lane;
    kl__list by_age;
    kl_lane lane; /* KL_LANES: not waiting */
    int64_t since_ms;
} kl__lane_place;

/* One thread at a time. */
typedef struct kl__lanes {
    kl__list keys[KL_LANES];
    size_t counts[KL_LANES];
    kl__list ages; /* all waiting keys, the longest waiting first */
} kl__lanes;

void kl__lanes_init(kl__lanes *lanes);
void kl__lane_place_init(kl__lane_place *place);

/* How many keys wait in all lanes. */
size_t kl__lanes_count(const kl__lanes *lanes);

/* Appends the key to the lane. A key that waits in this lane or a better one
 * stays there; one that moves to a better lane keeps its waiting time. */
void kl__lanes_put(kl__lanes *lanes, kl__lane_place *place, kl_lane lane,
                   int64_t now_ms);

/* Removes the key; does nothing if it is in no lane. */
void kl__lanes_remove(kl__lanes *lanes, kl__lane_place *place);

/* The first key of the best lane that is not empty; it stays. NULL: no key
 * waits. */
kl__lane_place *kl__lanes_first(const kl__lanes *lanes);

/* The longest time that a key has waited so far; 0: no key waits. */
int64_t kl__lanes_oldest_ms(const kl__lanes *lanes, int64_t now_ms);

#endif
