/*
 * clock.c - see clock.h.
 */
#include "base/clock.h"

#include "base/mem.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

/* FAKE_POLL_MS: a thread that waits on a fake clock reads the clock again after
 * this much real time, because the clock cannot signal the condition variable
 * on which the thread waits. FAKE_PATIENCE_MS: how long
 * kl__clock_await_waiters waits at most. */
enum { FAKE_POLL_MS = 1, FAKE_PATIENCE_MS = 10000 };

struct kl__clock {
    bool fake;
    atomic_llong now_ms; /* a fake clock's time; sequentially consistent */
    atomic_int waiters;  /* threads that wait with a deadline; fake only */
    atomic_bool leaps;   /* kl__clock_fake_leap was called; fake only */
};

static kl__clock real_clock;

kl__clock *kl__clock_real(void)
{
    return &real_clock;
}

static int64_t read_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t monotonic_ms(void)
{
    return read_ms(CLOCK_MONOTONIC);
}

int64_t kl__boottime_ms(void)
{
    return read_ms(CLOCK_BOOTTIME);
}

int64_t kl__clock_now(kl__clock *clock)
{
    return clock->fake ? atomic_load(&clock->now_ms) : monotonic_ms();
}

int64_t kl__clock_after(kl__clock *clock, int64_t ms)
{
    int64_t now_ms = kl__clock_now(clock);

    if (ms < 0) {
        return -1;
    }
    return ms < INT64_MAX - now_ms ? now_ms + ms : INT64_MAX;
}

bool kl__clock_wait(kl__clock *clock, kl__cond *cond, kl__mutex *mutex,
                    int64_t deadline_ms)
{
    bool in_time;

    if (!clock->fake || deadline_ms < 0) {
        return kl__cond_wait(cond, mutex, deadline_ms);
    }
    if (atomic_load(&clock->now_ms) >= deadline_ms) {
        return false;
    }
    if (atomic_load(&clock->leaps)) {
        atomic_store(&clock->now_ms, deadline_ms);
        return false;
    }
    atomic_fetch_add(&clock->waiters, 1);
    kl__cond_wait(cond, mutex, monotonic_ms() + FAKE_POLL_MS);
    in_time = atomic_load(&clock->now_ms) < deadline_ms;
    atomic_fetch_sub(&clock->waiters, 1);
    return in_time;
}

kl__clock *kl__clock_fake(int64_t now_ms)
{
    kl__clock *clock = kl__calloc(1, sizeof(*clock));

    if (clock != NULL) {
        clock->fake = true;
        atomic_init(&clock->now_ms, now_ms);
        atomic_init(&clock->waiters, 0);
        atomic_init(&clock->leaps, false);
    }
    return clock;
}

void kl__clock_fake_free(kl__clock *clock)
{
    kl__free(clock);
}

void kl__clock_advance(kl__clock *clock, int64_t ms)
{
    atomic_fetch_add(&clock->now_ms, ms);
}

void kl__clock_fake_leap(kl__clock *clock)
{
    atomic_store(&clock->leaps, true);
}

bool kl__clock_await_waiters(kl__clock *clock, int count)
{
    int64_t deadline = monotonic_ms() + FAKE_PATIENCE_MS;
    struct timespec pause = {0, 100000};

    while (atomic_load(&clock->waiters) < count) {
        if (monotonic_ms() >= deadline) {
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}
