/*
 * clock.h - time as an argument, so that tests can own it.
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

/* A clock that stands still until told; for tests. Owned by the caller; NULL
 * when out of memory. */
kl__clock *kl__clock_fake(int64_t now_ms);
void kl__clock_fake_free(kl__clock *clock);
/* Moves it forward; whoever waits on it for an earlier time wakes. */
void kl__clock_advance(kl__clock *clock, int64_t ms);
/* From now on who waits for a later time does not block: the clock leaps there.
 * Makes single-threaded tests of backoff instantaneous and exact. */
void kl__clock_fake_leap(kl__clock *clock);
/* Blocks until `count` threads wait on it with a deadline, at most 10 s of real
 * time: false then. How a test knows that the code under test has arrived. */
bool kl__clock_await_waiters(kl__clock *clock, int count);

/* Milliseconds since some fixed moment; never goes back. Thread-safe. */
KL__FOR_SIM int64_t kl__clock_now(kl__clock *clock);

/* The same of the machine, on a clock that goes on while it is suspended. */
int64_t kl__boottime_ms(void);

/* The deadline that is so far away, at most INT64_MAX; -1, none, of ms < 0. */
int64_t kl__clock_after(kl__clock *clock, int64_t ms);

/* As kl__cond_wait, but the deadline (< 0: none) is on this clock. */
bool kl__clock_wait(kl__clock *clock, kl__cond *cond, kl__mutex *mutex,
                    int64_t deadline_ms);

#endif
