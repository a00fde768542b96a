/*
 * backoff.h - how long to wait before the next attempt: exponential with
 * jitter on failures, back to the start with health, never less than what the
 * server asked for.
 */
#ifndef KL_INFORMER_BACKOFF_H
#define KL_INFORMER_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* client-go's figures (reference R-3): each delay is uniform in [d, 2d), d
 * doubles from the first to the cap. */
enum { KL__BACKOFF_FIRST_MS = 800, KL__BACKOFF_CAP_MS = 30000 };

/* One thread at a time. */
typedef struct kl__backoff {
    unsigned failures; /* since the last health */
    uint64_t random;   /* never 0 */
} kl__backoff;

void kl__backoff_init(kl__backoff *backoff, uint64_t seed);

/*
 * Counts a failure and says how many milliseconds to wait. `cap_ms` (0: the
 * default) bounds d for causes that are worth asking about more often.
 * `retry_after_ms` (< 0: none) is the least; the jitter is added to the greater
 * of the two, so that clients told the same second do not come back together.
 */
int64_t kl__backoff_next(kl__backoff *backoff, int64_t cap_ms,
                         int64_t retry_after_ms);

/* Health: the next failure waits like a first one. */
void kl__backoff_reset(kl__backoff *backoff);

/* Whether no failure was counted since the last health. */
bool kl__backoff_at_rest(const kl__backoff *backoff);

/* Uniform in [low, high). */
int64_t kl__backoff_jitter(kl__backoff *backoff, int64_t low, int64_t high);

#endif
