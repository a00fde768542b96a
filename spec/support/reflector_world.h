/*
 * reflector_world.h - a reflector on a scripted source and a clock that leaps,
 * run on the test's own thread until its script is over.
 */
#ifndef KL_SPEC_REFLECTOR_WORLD_H
#define KL_SPEC_REFLECTOR_WORLD_H

#include "informer/reflector.h"
#include "scripted_source.h"

typedef struct reflector_world {
    kl__reflector_options options; /* to be changed before play */
    int64_t
        renewed_in_ms; /* the same: new credentials, after so long; 0: none */
    kl__indexer *known;
    kl__clock *clock;
    kl__cancel stop;
    kl__delta_fifo *fifo;
    kl__health health;
    scripted_source *source;
    kl__reflector *reflector;
    kl_informer_status status; /* at the end */
    char *deltas;              /* once they were asked for */
} reflector_world;

/* cmocka's setup and teardown: *state is a reflector_world *. */
int reflector_world_setup(void **state);
int reflector_world_teardown(void **state);

/* Plays the script to its end. */
void reflector_world_play(reflector_world *world, const char *script);

/* What it asked, see scripted_source.h; and what it put into the queue, in the
 * words of the script: "[a@5 b@6]=10" a Replaced, "+a@7", "~a@8", "-a@9",
 * "^20", "!gone". Borrowed. */
const char *reflector_world_requests(const reflector_world *world);
const char *reflector_world_deltas(reflector_world *world);

/* Milliseconds between request i - 1 and request i. */
int64_t reflector_world_delay(const reflector_world *world, int i);

#endif
