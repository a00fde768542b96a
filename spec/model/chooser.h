/*
 * chooser.h - the part of the seed that decides at a hand-over who runs on. A
 * run has one of three manners, so that over many seeds long undisturbed runs
 * come up as well as nasty interleavings.
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

/* Whether the strand that runs gives way to one of `others`; asked at each
 * hand-over point. */
bool chooser_preempts(chooser *self, strand *running, strand_set others);

/* Who runs, of a set that is not empty. */
strand *chooser_next(chooser *self, strand_set set);

/* Whether time goes on at this point, though it need not. */
bool chooser_hurries(chooser *self);

/* xorshift64* over a state that is never 0. */
uint64_t chooser_draw(uint64_t *state);
/* A state from a seed: one that differs by a bit gives another stream. */
uint64_t chooser_seed(uint64_t seed, uint64_t stream);

#endif
