/*
 * clock.h - the clock is an argument of everything that waits, so that a test
 * can pass a fake clock and move the time by hand.
 */
#ifndef KL_BASE_CLOCK_H
#define KL_BASE_CLOCK_H

#include "base/for_sim.h"
#include "base/thread.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct kl__clock kl__clock;

/* The machine's monotonic clock; static, never freed. */
KL__FOR_SIM kl__clock *kl__clock_real(void);

/* A fake clock, for tests: its time changes only through the calls below. Owned
 * by the caller; NULL when out of memory. */
kl__clock *kl__clock_fake(int64_t now_ms);
void kl__clock_fake_free(kl__clock *clock);
/* Moves a fake clock forward; a thread whose deadline is reached wakes up. */
void kl__clock_advance(kl__clock *clock, int64_t ms);
/* From now on a wait with a deadline does not block: it sets the clock to the
 * deadline and returns. Single-threaded tests of backoff then take no time, and
 * their times are exact. */
void kl__clock_fake_leap(kl__clock *clock);
/* Blocks until `count` threads wait on the fake clock with a deadline, for at
 * most 10 s of real time (false then). A test uses it to know that the code
 * under test has started to wait. */
bool kl__clock_await_waiters(kl__clock *clock, int count);

/* Milliseconds since some fixed moment; never goes back. Thread-safe. */
KL__FOR_SIM int64_t kl__clock_now(kl__clock *clock);

/* Milliseconds of CLOCK_BOOTTIME, which also counts the time during which the
 * machine was suspended. */
int64_t kl__boottime_ms(void);

/* The deadline `ms` from now, at most INT64_MAX; -1 (no deadline) if ms < 0. */
int64_t kl__clock_after(kl__clock *clock, int64_t ms);

/* As kl__cond_wait, but the deadline (< 0: none) is a time of this clock. */
bool kl__clock_wait(kl__clock *clock, kl__cond *cond, kl__mutex *mutex,
                    int64_t deadline_ms);

#endif
