/*
 * backoff.c - see backoff.h.
 */
#include "informer/backoff.h"

void kl__backoff_init(kl__backoff *backoff, uint64_t seed)
{
    backoff->next_ms = KL__BACKOFF_FIRST_MS;
    backoff->random = seed != 0 ? seed : 1;
}

/* xorshift64* (Vigna): spreads clients, keeps no secret. */
static uint64_t draw(kl__backoff *backoff)
{
    backoff->random ^= backoff->random >> 12;
    backoff->random ^= backoff->random << 25;
    backoff->random ^= backoff->random >> 27;
    return (backoff->random * UINT64_C(2685821657736338717)) >> 16;
}

int64_t kl__backoff_jitter(kl__backoff *backoff, int64_t low, int64_t high)
{
    if (high <= low) {
        return low;
    }
    return low + (int64_t)(draw(backoff) % (uint64_t)(high - low));
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t kl__backoff_next(kl__backoff *backoff, int64_t cap_ms,
                         int64_t retry_after_ms)
{
    int64_t cap = cap_ms > 0 ? cap_ms : KL__BACKOFF_CAP_MS;
    int64_t delay = least(backoff->next_ms, cap);
    int64_t floor = least(retry_after_ms, KL__RETRY_AFTER_CAP_MS);
    int64_t start = floor > delay ? floor : delay;

    backoff->next_ms = least(backoff->next_ms * 2, KL__BACKOFF_CAP_MS);
    return kl__backoff_jitter(backoff, start, start + delay);
}

void kl__backoff_reset(kl__backoff *backoff)
{
    backoff->next_ms = KL__BACKOFF_FIRST_MS;
}

bool kl__backoff_at_rest(const kl__backoff *backoff)
{
    return backoff->next_ms == KL__BACKOFF_FIRST_MS;
}
