/*
 * schedule.h - one run of the core on fibers and virtual time: it replaces
 * base/thread.c, clock.c, wakeup.c and random.c at link time. A seed decides at
 * each hand-over which strand runs on; the same options make the same run.
 */
#ifndef KL_SPEC_MODEL_SCHEDULE_H
#define KL_SPEC_MODEL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct schedule_options {
    uint64_t seed; /* of all that is drawn */
    /* how often a strand that could run on has to give way, at most; < 0: no
     * bound. Fewer make a failure easier to read */
    int preemptions;
    int spurious_per_mille; /* waits that end without a reason */
    int hurry_per_mille;    /* hand-overs at which time goes on to the
                             * nearest deadline although a strand could run:
                             * a slow machine. 0: only when none can */
    uint64_t max_steps; /* hand-overs until it is a livelock; 0: 20 million */
} schedule_options;

typedef struct schedule_outcome {
    bool failed;
    char message[4000];   /* why; "" unless failed */
    uint64_t hash;        /* of the whole run: which strand ran when, and
                           * what schedule_note noted */
    uint64_t steps;       /* hand-over points */
    uint64_t switches;    /* steps after which another strand ran */
    uint64_t preemptions; /* switches although the former strand could run */
    int64_t now_ms;       /* virtual time at its end; it begins at 1,000,000 */
} schedule_outcome;

/*
 * Runs entry(arg) as the first strand, and every kl__thread that is started as
 * another strand, until all have ended or the run fails. It fails by
 * schedule_fail, and by itself: a deadlock (the message says what each strand
 * waits for), a livelock, a lock against its rank, locked twice or unlocked by
 * another strand, destroyed while in use, used before init or after deinit; a
 * thread neither joined nor detached. A failed run is abandoned with all memory
 * and locks that it holds, so this process must not make another run
 * (schedule_run_apart uses a process for each). Runs do not nest, and all are
 * made on one thread.
 */
void schedule_run(const schedule_options *options, void (*entry)(void *arg),
                  void *arg, schedule_outcome *outcome);

/* schedule_run in a child process: a crash, an abort and a report of a
 * sanitizer are a failed outcome too, and nothing of the run stays in this
 * process. For replaying and shrinking; some 1,000 runs a second. What `entry`
 * writes to memory is lost; only the outcome comes back. */
void schedule_run_apart(const schedule_options *options,
                        void (*entry)(void *arg), void *arg,
                        schedule_outcome *outcome);

/* Sets the text that is printed to stderr if the process crashes or aborts,
 * such as the command that repeats this run; copied. The first call installs
 * the signal handlers. */
void schedule_describe(const char *text);

/* The functions below are for use within a run, on any strand. */

/* Fails the run with a message; does not return. */
_Noreturn void schedule_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* Fails unless `condition`. */
#define schedule_check(condition, ...) \
    ((condition) ? (void)0 : schedule_fail(__VA_ARGS__))

/* Draws a number in [0, bound), bound > 0; and true with a chance of
 * `per_mille` in 1,000. Both use a stream of their own: taking preemptions away
 * does not change them. */
uint64_t schedule_random(uint64_t bound);
bool schedule_chance(int per_mille);

/* A hand-over point: another strand may run on. */
void schedule_point(void);
/* Lets another strand run first, if one can. */
void schedule_yield(void);
/* From now on time goes on only when no strand can run: for checks of time
 * limits. */
void schedule_calm(void);
/* Virtual milliseconds; and a sleep until such a time. */
int64_t schedule_now(void);
void schedule_wait_until(int64_t ms);
/* Sleeps until no other strand can run or has a deadline at or before
 * `limit_ms`: nothing will happen by itself until then. */
void schedule_wait_idle(int64_t limit_ms);

/* Enters something into the run's hash, and into the trace if there is one. */
void schedule_note(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* Prints every switch, note and leap of time to stderr from now on. */
void schedule_trace(bool on);

/* The name of the running strand; and how many strands have not ended. */
const char *schedule_name(void);
int schedule_alive(void);

#endif
