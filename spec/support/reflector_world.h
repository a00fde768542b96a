/*
 * reflector_world.h - a reflector on a scripted source: on the spec's own
 * thread and a clock that leaps, until the script ends; or (threaded_reflector)
 * on a thread of its own and a clock that stands still.
 */
#ifndef KL_SPEC_REFLECTOR_WORLD_H
#define KL_SPEC_REFLECTOR_WORLD_H

#include "reflector_runner.h"
#include "scripted_source.h"

#include "informer/reflector.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct reflector_world {
    kl__reflector_options options; /* change it before play */
    int64_t
        /* also set before play: ms until the source has new credentials; 0:
         * never */
        renewed_in_ms;
    const int64_t *heard_in_ms; /* the same until other requests are answered:
                                   several times, 0 at their end; NULL: none */
    kl__indexer *known;
    kl__clock *clock;
    kl__cancel stop;
    kl__delta_fifo *fifo;
    kl__health health;
    scripted_source *source;
    kl__reflector *reflector;
    kl_informer_status status; /* after the run */
    char *deltas;              /* made when a spec first asks for the deltas */
} reflector_world;

/* cmocka's setup and teardown: *state is a reflector_world *. */
int reflector_world_setup(void **state);
int reflector_world_teardown(void **state);

/* Plays the script to its end. */
void reflector_world_play(reflector_world *world, const char *script);

/* The requests that the reflector made, see scripted_source.h; and the deltas
 * that it pushed, in the words of the script: "[a@5 b@6]=10" a Replaced,
 * "+a@7", "~a@8", "-a@9", "^20", "!gone". Borrowed. */
const char *reflector_world_requests(const reflector_world *world);
const char *reflector_world_deltas(reflector_world *world);

/* Milliseconds between requests i - 1 and i. */
int64_t reflector_world_delay(const reflector_world *world, int i);

/* ---- with a thread ---- */

typedef struct threaded_reflector {
    kl__clock *clock; /* stands still until told */
    kl__cancel stop;
    kl__delta_fifo *fifo;
    kl__health health;
    scripted_source *source;
    kl__reflector *reflector;
    reflector_runner runner;
    kl__thread thread;
    bool running;
    bool streams;       /* lists are streamed; set it before start */
    const char *within; /* the namespace of the source; set it before start */
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
