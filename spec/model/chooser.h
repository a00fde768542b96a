/*
 * chooser.h - the part of the seed that decides at a hand-over which strand
 * runs on. A run has one of three manners, so that over many seeds long
 * undisturbed runs come up as well as nasty interleavings.
 */
#ifndef KL_SPEC_MODEL_CHOOSER_H
#define KL_SPEC_MODEL_CHOOSER_H

#include "schedule.h"
#include "strand.h"

typedef enum chooser_manner {
    CHOOSER_WALKS,  /* gives way once in so many steps, all through the run */
    CHOOSER_BURSTS, /* hardly ever, but for short times at every other step */
    CHOOSER_RANKS   /* strands have priorities, and one falls to the lowest now
                       and then: finds what needs few preemptions (PCT) */
} chooser_manner;

typedef struct chooser {
    chooser_manner manner;
    uint64_t random;
    uint64_t mean;       /* steps between two events */
    uint64_t countdown;  /* steps to the next */
    uint64_t burst;      /* steps that a burst goes on */
    uint64_t lowest;     /* priority; new ones come above */
    int preemptions;     /* that may come yet; < 0: any */
    uint64_t hurry_mean; /* 0: time never hurries */
    int hurries;         /* so far */
    uint64_t hurry;      /* steps until it does */
} chooser;

void chooser_init(chooser *self, const schedule_options *options);

/* For a strand that is new; and for one that gives way by itself. */
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
/* A state from a seed: one that differs by a bit gives another stream. */
uint64_t chooser_seed(uint64_t seed, uint64_t stream);

#endif
