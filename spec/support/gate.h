/*
 * gate.h - a counter at which threads of a spec wait for one another, with a
 * deadline instead of a sleep.
 */
#ifndef KL_SPEC_GATE_H
#define KL_SPEC_GATE_H

#include "base/thread.h"

typedef struct gate {
    kl__mutex mutex;
    kl__cond cond;
    int count;
} gate;

void gate_init(gate *self);
void gate_deinit(gate *self);

/* Adds one, and wakes the threads that wait. */
void gate_pass(gate *self);

/* Waits until the count has reached `count`; false after 60 s. */
bool gate_await(gate *self, int count);

#endif
