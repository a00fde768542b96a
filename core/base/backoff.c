/*
 * backoff.c - see backoff.h.
 */
#include "base/backoff.h"

static int64_t min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* xorshift64* (Sebastiano Vigna): good enough for jitter, not for secrets. */
static uint64_t draw_word(uint64_t *random)
{
    *random ^= *random >> 12;
    *random ^= *random << 25;
    *random ^= *random >> 27;
    return (*random * UINT64_C(2685821657736338717)) >> 16;
}

int64_t kl__backoff_draw(uint64_t *random, int64_t low, int64_t high)
{
    if (high <= low) {
        return low;
    }
    return low + (int64_t)(draw_word(random) % (uint64_t)(high - low));
}

int64_t kl__backoff_wait(kl__backoff_range range, unsigned failures,
                         int64_t retry_after_ms, uint64_t *random)
{
    int64_t delay = min_ms(range.first_ms, range.cap_ms);
    int64_t floor = min_ms(retry_after_ms, KL__RETRY_AFTER_CAP_MS);
    int64_t start;

    for (unsigned i = 0; i < failures && delay < range.cap_ms; i++) {
        delay = min_ms(delay * 2, range.cap_ms);
    }
    start = floor > delay ? floor : delay;
    return kl__backoff_draw(random, start, start + delay);
}
