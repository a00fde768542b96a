/*
 * sim_clock.h - the clock of a simulated cluster: the machine's time plus what
 * kl_sim_advance has added, or a time that only kl_sim_advance moves.
 *
 * Two things follow the machine's clock: the deadlines of callers
 * (kl__sim_wait), and the checks if a client is still connected. All that the
 * cluster does by itself follows this clock.
 */
#ifndef KL_STORE_SIM_CLOCK_H
#define KL_STORE_SIM_CLOCK_H

#include "base/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { KL__SIM_TIME_SIZE = 32 };

struct kl_sim;
struct kl_sim_options;

typedef struct kl__sim_clock {
    bool stands; /* only kl_sim_advance moves the time; immutable */
    /* immutable: how far this clock started ahead of the machine's time of day;
     * 0 if `stands` */
    int64_t skew_ms;
    /* ms; by how much kl_sim_advance has moved the time; if `stands`, the Unix
     * time itself. Relaxed: no other data is read through it. */
    _Atomic int64_t base;
} kl__sim_clock;

void kl__sim_clock_init(kl__sim_clock *clock, bool stands, int64_t start_ms);

/* Milliseconds since a fixed moment, for deadlines. It never goes back and is
 * never below 0, even if the machine's time of day is set. Thread-safe. */
int64_t kl__sim_clock_now(const kl__sim_clock *clock);
/* Unix time in milliseconds. Thread-safe. */
int64_t kl__sim_clock_unix(const kl__sim_clock *clock);
/* The time of day, "2026-11-21T07:56:45Z". Thread-safe. */
void kl__sim_clock_time(const kl__sim_clock *clock, char *text);
/* Writes a Unix time as such a text (KL__SIM_TIME_SIZE bytes); and reads the
 * Unix time of a text, which may be NULL: -1 if it is no time. */
void kl__sim_clock_format(int64_t unix_ms, char *text);
int64_t kl__sim_clock_parse(const char *text);

/* The time of the machine's monotonic clock at which this clock reaches
 * `until_ms`. -1: never, as `until_ms` is below 0, or only kl_sim_advance moves
 * the time. kl_sim_advance wakes every waiting thread, which then asks again.
 */
int64_t kl__sim_clock_deadline(const kl__sim_clock *clock, int64_t until_ms);

#endif
