/*
 * backoff.h - the arithmetic of waiting longer and longer: what reflectors and
 * workqueues do after failures. They keep the counts, this keeps nothing.
 */
#ifndef KL_BASE_BACKOFF_H
#define KL_BASE_BACKOFF_H

#include <stdint.h>

/* A server's Retry-After counts up to five minutes: a wrong header must not
 * silence a process for a day. */
enum { KL__RETRY_AFTER_CAP_MS = 300000 };

/* d is `first_ms` for the first failure and doubles up to `cap_ms`. */
typedef struct kl__backoff_range {
    int64_t first_ms;
    int64_t cap_ms;
} kl__backoff_range;

/*
 * How many milliseconds to wait after a failure that `failures` others went
 * before: uniform in [d, 2d). `retry_after_ms` (< 0: none) is the least; the
 * jitter is added to the greater of the two, so that clients told the same
 * second do not come back together. `random` as for kl__backoff_draw.
 */
int64_t kl__backoff_wait(kl__backoff_range range, unsigned failures,
                         int64_t retry_after_ms, uint64_t *random);

/* Uniform in [low, high); `low` if that is empty. `random` is the state of a
 * stream, never 0; one thread at a time. */
int64_t kl__backoff_draw(uint64_t *random, int64_t low, int64_t high);

#endif
