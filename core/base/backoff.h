/*
 * backoff.h - exponential backoff with jitter: how long a reflector or a
 * workqueue waits after a failure. Pure functions: the caller keeps the count
 * of failures and the random state.
 */
#ifndef KL_BASE_BACKOFF_H
#define KL_BASE_BACKOFF_H

#include <stdint.h>

/* A Retry-After header of more than five minutes counts as five minutes: a
 * wrong header must not silence a process for a day
 * (docs/KUBERNETES.md#retry-after). */
enum { KL__RETRY_AFTER_CAP_MS = 300000 };

/* d, the delay without jitter, is `first_ms` after the first failure and
 * doubles with each further one, up to `cap_ms`. */
typedef struct kl__backoff_range {
    int64_t first_ms;
    int64_t cap_ms;
} kl__backoff_range;

/*
 * Returns the milliseconds to wait after a failure; `failures` counts the
 * failures before it. Without Retry-After the result is uniform in [d, 2d).
 * With `retry_after_ms` (< 0: none) it is uniform in [m, m + d), where m is the
 * greater of d and `retry_after_ms`: clients that were given the same
 * Retry-After do not all come back at once. `random` as for kl__backoff_draw.
 */
int64_t kl__backoff_wait(kl__backoff_range range, unsigned failures,
                         int64_t retry_after_ms, uint64_t *random);

/* A random number, uniform in [low, high); `low` if the range is empty.
 * `random` is the state of the generator, never 0; one thread at a time. */
int64_t kl__backoff_draw(uint64_t *random, int64_t low, int64_t high);

#endif
