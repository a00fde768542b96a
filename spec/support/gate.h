/*
 * gate.h - how threads of a spec wait for one another without a sleep: a
 * counter that they wait at, with a deadline, and whether a thread sleeps.
 */
#ifndef KL_SPEC_GATE_H
#define KL_SPEC_GATE_H

#include "base/thread.h"

#include <stdbool.h>

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

/* True if the thread of this process (gettid) sleeps, or has ended. */
bool is_asleep(int thread);

#endif
