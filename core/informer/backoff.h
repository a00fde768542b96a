/*
 * backoff.h - how long a reflector waits before its next attempt: longer after
 * each failure, with jitter, and at least as long as the server asked for.
 */
#ifndef KL_INFORMER_BACKOFF_H
#define KL_INFORMER_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

/* client-go's figures (NewReflector, k8s.io/client-go/tools/cache): each delay
 * is uniform in [d, 2d), and d doubles from the first to the cap. */
enum { KL__BACKOFF_FIRST_MS = 800, KL__BACKOFF_CAP_MS = 30000 };

/* Used by one thread at a time. */
typedef struct kl__backoff {
    unsigned failures; /* since the last reset */
    uint64_t random;   /* never 0 */
} kl__backoff;

void kl__backoff_init(kl__backoff *backoff, uint64_t seed);

/*
 * Counts a failure and returns the milliseconds to wait. `cap_ms` (0: the
 * default) is the greatest d, for failures that are worth a try more often.
 * `retry_after_ms` (< 0: none) is the least wait; the jitter is added to the
 * greater of the two, so that clients that were given the same Retry-After do
 * not come back together.
 */
int64_t kl__backoff_next(kl__backoff *backoff, int64_t cap_ms,
                         int64_t retry_after_ms);

/* After a success: the next failure waits like a first one. */
void kl__backoff_reset(kl__backoff *backoff);

/* True if no failure was counted since the last reset. */
bool kl__backoff_at_rest(const kl__backoff *backoff);

/* A random number, uniform in [low, high). */
int64_t kl__backoff_jitter(kl__backoff *backoff, int64_t low, int64_t high);

#endif
