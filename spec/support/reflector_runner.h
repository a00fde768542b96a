/*
 * reflector_runner.h - runs a reflector to its end on one thread of the spec,
 * which waits while the reflector rests.
 */
#ifndef KL_SPEC_REFLECTOR_RUNNER_H
#define KL_SPEC_REFLECTOR_RUNNER_H

#include "informer/reflector.h"

typedef struct reflector_runner {
    kl__reflector *reflector;
    kl__cancel *stop; /* the reflector's */
    kl__mutex mutex;
    kl__cond cond;
    bool is_woken;
    bool is_resting;
} reflector_runner;

void reflector_runner_init(reflector_runner *self, kl__cancel *stop);
void reflector_runner_deinit(reflector_runner *self);

/* For kl__reflector_options.wake; `runner` is the context. */
void reflector_runner_wake(void *runner);

/* Waits up to 60 s until the reflector rests; true if it does. */
bool reflector_runner_await_rest(reflector_runner *self);

/* The function of a thread: returns when the reflector has ended. `reflector`
 * is set before. */
void *reflector_runner_run(void *runner);

#endif
