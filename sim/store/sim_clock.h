/*
 * sim_clock.h - what time it is in a simulated cluster: the machine's time and
 * what kl_sim_advance has added, or a time that stands still but for that.
 *
 * Deadlines of callers (kl__sim_wait) and whether a connection is still there
 * are matters of the machine's clock; all that the cluster does by itself is a
 * matter of this one.
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
    bool stands;          /* immutable */
    int64_t skew_ms;      /* immutable: what it is ahead of the machine's time
                             of day from the start; 0 if it stands */
    _Atomic int64_t base; /* relaxed; ms: how far it was advanced, or the Unix
                             time itself if it stands */
} kl__sim_clock;

void kl__sim_clock_init(kl__sim_clock *clock, bool stands, int64_t start_ms);

/* Milliseconds since some fixed moment, for deadlines; never goes back, nor is
 * less than 0, whatever time of day was set.
 * Thread-safe. */
int64_t kl__sim_clock_now(const kl__sim_clock *clock);
/* Unix time in milliseconds. Thread-safe. */
int64_t kl__sim_clock_unix(const kl__sim_clock *clock);
/* The time of day, "2026-11-21T07:56:45Z". Thread-safe. */
void kl__sim_clock_time(const kl__sim_clock *clock, char *text);
/* The time of day of some time; and back: -1 where the text (may be NULL) is
 * none. */
void kl__sim_clock_format(int64_t unix_ms, char *text);
int64_t kl__sim_clock_parse(const char *text);

/* When the machine's monotonic clock will have reached that time (< 0: never)
 * of this one; -1: never. kl_sim_advance wakes everyone, to ask again. */
int64_t kl__sim_clock_deadline(const kl__sim_clock *clock, int64_t until_ms);

#endif
