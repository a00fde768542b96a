/*
 * delays.h - what becomes due, the earliest first: a binary heap of members
 * that know their place in it, so that each can be moved or taken out.
 */
#ifndef KL_QUEUE_DELAYS_H
#define KL_QUEUE_DELAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A moment that never comes. */
#define KL__NEVER INT64_MAX

/* A member; belongs to what has to happen then. Zeroed: in no heap. */
typedef struct kl__delay {
    int64_t due_ms;
    uint64_t turn; /* rises with each time it is set: equal moments keep it */
    size_t place;  /* in the heap, from 1; 0: in none */
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

/* Makes room for `count` members in all; false: out of memory, nothing has
 * changed. */
bool kl__delays_reserve(kl__delays *delays, size_t count);

/* Puts it in, or moves it. There is room for it. */
void kl__delays_set(kl__delays *delays, kl__delay *delay, int64_t due_ms);

/* Takes it out; fine if it is in no heap. */
void kl__delays_remove(kl__delays *delays, kl__delay *delay);

/* The one that is due first, which stays; NULL: there is none. */
kl__delay *kl__delays_first(const kl__delays *delays);

/* When that is; KL__NEVER: there is none. */
int64_t kl__delays_due(const kl__delays *delays);

#endif
