/*
 * threaded_reflector.h - a reflector on its own thread, with a played API
 * server (scripted_source.h) and a fake clock: the state of a spec.
 */
#ifndef KL_SPEC_THREADED_REFLECTOR_H
#define KL_SPEC_THREADED_REFLECTOR_H

#include "informer/reflector.h"
#include "scripted_source.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct threaded_reflector {
    kl__clock *clock; /* stands still until told */
    kl__cancel stop;
    kl__delta_fifo *fifo;
    kl__health health;
    scripted_source *source;
    kl__reflector *reflector;
    kl__thread thread;
    bool running;
} threaded_reflector;

/* For cmocka. The teardown stops the reflector, and fails if an object, a
 * thread or the memory of a young text is left. */
int threaded_reflector_setup(void **state);
int threaded_reflector_teardown(void **state);

/* Starts the reflector. `bound`: of its queue; 0: the default. `compress`: as
 * kl__reflector_options. */
void threaded_reflector_start(threaded_reflector *self, const char *script,
                              size_t bound, bool compress);
/* Waits for the end of its thread, if it runs. */
void threaded_reflector_join(threaded_reflector *self);

#endif
