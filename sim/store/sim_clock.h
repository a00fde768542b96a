/*
 * sim_clock.h - the clock of a simulated cluster: the machine's time plus what
 * kl_sim_advance has added, or a time that only kl_sim_advance moves.
 *
 * Callers' deadlines (kl__sim_wait), and looking if a client is still
 * connected, go by the machine's clock; everything that the cluster does by
 * itself goes by this one.
 */
#ifndef KL_SIM_CLOCK_H
#define KL_SIM_CLOCK_H

#include "base/thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { KL__SIM_TIME_SIZE = 32 };

struct kl_sim;
struct kl_sim_options;

typedef struct kl__sim_clock {
    bool stands; /* true: the time stands still; immutable */
    /* immutable: how far it started ahead of the machine's time of day; 0 if it
     * stands */
    int64_t skew_ms;
    /* relaxed; ms: by how much it was advanced; if it stands, the Unix time */
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
/* Formats a Unix time; and parses one: -1 if the text (may be NULL) is no
 * time. */
void kl__sim_clock_format(int64_t unix_ms, char *text);
int64_t kl__sim_clock_parse(const char *text);

/* The time of the machine's monotonic clock at which this clock reaches
 * `until_ms` (< 0: never); -1: never. kl_sim_advance wakes every waiting
 * thread, so that it asks again. */
int64_t kl__sim_clock_deadline(const kl__sim_clock *clock, int64_t until_ms);

#endif
