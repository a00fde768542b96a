/*
 * backoff.c - the reflector's figures for the delays of base/backoff.h; see
 * backoff.h.
 */
#include "informer/backoff.h"

#include "base/backoff.h"

#include <limits.h>

void kl__backoff_init(kl__backoff *backoff, uint64_t seed)
{
    backoff->failures = 0;
    backoff->random = seed != 0 ? seed : 1;
}

int64_t kl__backoff_jitter(kl__backoff *backoff, int64_t low, int64_t high)
{
    return kl__backoff_draw(&backoff->random, low, high);
}

int64_t kl__backoff_next(kl__backoff *backoff, int64_t cap_ms,
                         int64_t retry_after_ms)
{
    kl__backoff_range range = {KL__BACKOFF_FIRST_MS, KL__BACKOFF_CAP_MS};
    unsigned failures = backoff->failures;

    if (cap_ms > 0 && cap_ms < range.cap_ms) {
        range.cap_ms = cap_ms;
    }
    backoff->failures = failures < UINT_MAX ? failures + 1 : failures;
    return kl__backoff_wait(range, failures, retry_after_ms, &backoff->random);
}

void kl__backoff_reset(kl__backoff *backoff)
{
    backoff->failures = 0;
}

bool kl__backoff_at_rest(const kl__backoff *backoff)
{
    return backoff->failures == 0;
}
