/*
 * trial.h - a blocking call, ended at a random moment by whatever may end it:
 * again and again, and each time it has to return within 50 ms.
 *
 * What counts is the time in which the machine let us run. From the time by the
 * clock is taken what a witness needed, a thread that is woken at the same
 * moment by a plain condition; or, if that is more, how long threads of this
 * process stood in a run queue meanwhile (schedstat). On a machine at rest both
 * are next to nothing, so there it is the time by the clock. Threads that end
 * take their share of that with them, and so do programs; but noise only adds.
 * So a breach is tried again, the same call at the same moment, and fails where
 * none of six tries is in time. What takes a second is a failure at once: a
 * wake-up that was lost need not be lost again.
 *
 * KUBELUA_TRIALS: how many of each; KUBELUA_SEED: of the moments;
 * KUBELUA_SLOWNESS: a factor for the 50 ms, under an emulator.
 */
#ifndef KL_SPEC_TRIAL_H
#define KL_SPEC_TRIAL_H

#include <stddef.h>
#include <stdint.h>

typedef struct trial {
    const char *call;    /* what blocks: "kl__stream_read" */
    const char *against; /* "a server that answers nothing" */
    /* Of all rounds; may be NULL. */
    void *(*set_up)(const struct trial *trial);
    void (*tear_down)(void *scene);
    /* Of each round, on the thread of the spec; may be NULL. */
    void (*begin)(void *scene);
    void (*end)(void *scene);
    /* Blocks, on a thread of its own; asserts nothing there. */
    void (*block)(void *scene);
    /* Ends it; NULL: `block` begins at the random moment, after `begin`, and
     * may itself take no longer. */
    void (*cancel)(void *scene);
    const void *detail; /* for set_up */
    int divisor;        /* of how many rounds there are: for slow ones; 0: 1 */
} trial;

/* Runs them, prints how long each call took to return, and fails the test
 * where one took too long. */
void trials_run(const trial *trials, size_t count);

#endif
