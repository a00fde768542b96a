/*
 * chooser.h - decides from the seed which strand runs on at a hand-over. A run
 * has one of three manners, so that over many seeds there are both long
 * undisturbed runs and unlikely interleavings.
 */
#ifndef KL_SPEC_MODEL_CHOOSER_H
#define KL_SPEC_MODEL_CHOOSER_H

#include "schedule.h"
#include "strand.h"

typedef enum chooser_manner {
    CHOOSER_WALKS, /* gives way every `mean` steps on average */
    /* hardly ever gives way, but at every other step of a burst */
    CHOOSER_BURSTS,
    /* strands have priorities; now and then the running one falls to the
     * lowest: finds failures that need few preemptions (PCT) */
    CHOOSER_RANKS
} chooser_manner;

typedef struct chooser {
    chooser_manner manner;
    uint64_t random;
    uint64_t mean;      /* steps between two events */
    uint64_t countdown; /* steps to the next event */
    uint64_t burst;     /* steps left of a burst; 0: none */
    /* lowest priority so far; new strands get a higher one */
    uint64_t lowest;
    int preemptions;     /* how many are still allowed; < 0: any number */
    uint64_t hurry_mean; /* 0: time never hurries */
    int hurries;         /* how often time has hurried */
    uint64_t hurry;      /* steps until time hurries again */
} chooser;

void chooser_init(chooser *self, const schedule_options *options);

/* Gives a new strand a priority; and lowers that of a strand that yields. */
void chooser_rank(chooser *self, strand *made);
void chooser_demote(chooser *self, strand *yielding);

/* True if the running strand gives way to one of `others`; called at each
 * hand-over point. */
bool chooser_preempts(chooser *self, strand *running, strand_set others);

/* Chooses the strand that runs next, from a set that is not empty. */
strand *chooser_next(chooser *self, strand_set set);

/* True if virtual time goes on here although a strand could run. */
bool chooser_hurries(chooser *self);

/* xorshift64* over a state that is never 0. */
uint64_t chooser_draw(uint64_t *state);
/* Makes a state from a seed. Seeds that differ in one bit give different
 * streams. */
uint64_t chooser_seed(uint64_t seed, uint64_t stream);

#endif
