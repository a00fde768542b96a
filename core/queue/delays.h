/*
 * delays.h - a priority queue of timers, the earliest first. It is a binary
 * heap; each member stores its own index in the heap, so that any member can be
 * moved or removed in O(log n).
 */
#ifndef KL_QUEUE_DELAYS_H
#define KL_QUEUE_DELAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A time that never comes. */
#define KL__NEVER INT64_MAX

/* A timer; embedded in the struct that it is for. Zeroed: in no heap. */
typedef struct kl__delay {
    int64_t due_ms;
    uint64_t turn; /* with equal due_ms, the member set first is first */
    size_t place;  /* index in the heap, from 1; 0: in no heap */
} kl__delay;

/* Zeroed: empty. One thread at a time. */
typedef struct kl__delays {
    kl__delay **heap; /* heap[0] is due first */
    size_t count;
    size_t capacity;
    uint64_t turns;
} kl__delays;

/* Frees the heap, not its members. */
void kl__delays_deinit(kl__delays *delays);

/* Makes room for `count` members in total. False: out of memory, and nothing
 * has changed. */
bool kl__delays_reserve(kl__delays *delays, size_t count);

/* Adds the member, or moves it. The caller has reserved room. */
void kl__delays_set(kl__delays *delays, kl__delay *delay, int64_t due_ms);

/* Removes the member; does nothing if it is in no heap. */
void kl__delays_remove(kl__delays *delays, kl__delay *delay);

/* The member that is due first; it stays in the heap. NULL: the heap is
 * empty. */
kl__delay *kl__delays_first(const kl__delays *delays);

/* When that member is due; KL__NEVER: the heap is empty. */
int64_t kl__delays_due(const kl__delays *delays);

#endif
