/*
 * lanes.h - the keys that wait: one list for each lane, in the order in which
 * they came, and one of all by age.
 */
#ifndef KL_QUEUE_LANES_H
#define KL_QUEUE_LANES_H

#include "base/list.h"
#include "kubelua/queue.h"

/* A key's place in the lanes. */
typedef struct kl__lane_place {
    kl__list in_lane;
    kl__list by_age;
    kl_lane lane; /* KL_LANES: it does not wait */
    int64_t since_ms;
} kl__lane_place;

/* One thread at a time. */
typedef struct kl__lanes {
    kl__list keys[KL_LANES];
    size_t counts[KL_LANES];
    kl__list ages; /* the one that waits longest first */
} kl__lanes;

void kl__lanes_init(kl__lanes *lanes);
void kl__lane_place_init(kl__lane_place *place);

/* How many wait in all. */
size_t kl__lanes_count(const kl__lanes *lanes);

/* Puts it at the end of the lane, unless it waits already in this one or a
 * better one. Its age goes on. */
void kl__lanes_put(kl__lanes *lanes, kl__lane_place *place, kl_lane lane,
                   int64_t now_ms);

/* Takes it out; fine if it does not wait. */
void kl__lanes_remove(kl__lanes *lanes, kl__lane_place *place);

/* The first of the best lane that has any, which stays; NULL: none waits. */
kl__lane_place *kl__lanes_first(const kl__lanes *lanes);

/* How long the one has waited that waits longest; 0: none waits. */
int64_t kl__lanes_oldest_ms(const kl__lanes *lanes, int64_t now_ms);

#endif
