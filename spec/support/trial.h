/*
 * trial.h - tests that a blocking call returns within 50 ms of being cancelled,
 * at random moments, many times.
 *
 * Only time in which this process could run counts. From the measured time, the
 * larger of two delays of the machine is subtracted: how long a witness took to
 * run (a thread that a plain condition wakes at the same moment), and how long
 * threads of this process waited for a CPU (schedstat). On an idle machine both
 * are almost 0. Other threads and programs can only make the result longer. So
 * a call that took too long is tried again at the same moment, and the trial
 * fails if none of six tries is in time. A call that takes a second fails the
 * trial at once: it may be a lost wake-up, which another try need not show
 * again.
 *
 * KUBELUA_TRIALS: how many rounds; KUBELUA_SEED: seed of the moments;
 * KUBELUA_SLOWNESS: a factor for the 50 ms, under an emulator.
 */
#ifndef KL_SPEC_TRIAL_H
#define KL_SPEC_TRIAL_H

#include <stddef.h>
#include <stdint.h>

typedef struct trial {
    const char *call;    /* the call that blocks: "kl__stream_read" */
    const char *against; /* "a server that answers nothing" */
    /* Before and after all rounds; may be NULL. */
    void *(*set_up)(const struct trial *trial);
    void (*tear_down)(void *scene);
    /* Before and after each round, on the spec's thread; may be NULL. */
    void (*begin)(void *scene);
    void (*end)(void *scene);
    /* The call that blocks, on a thread of its own; it asserts nothing. */
    void (*block)(void *scene);
    /* Cancels the call. NULL: `block` begins at the random moment after
     * `begin`, and must not block by itself. */
    void (*cancel)(void *scene);
    const void *detail; /* for set_up */
    int divisor;        /* runs only a part of the rounds, 1/divisor; 0: all */
} trial;

/* Runs the trials, prints how long each call took to return, and fails the test
 * if one took too long. */
void trials_run(const trial *trials, size_t count);

#endif
