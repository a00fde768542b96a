/*
 * informer_world.h - an informer with its threads, on a scripted source and a
 * clock that only the spec advances.
 */
#ifndef KL_SPEC_INFORMER_WORLD_H
#define KL_SPEC_INFORMER_WORLD_H

#include "event_record.h"
#include "informer/informer.h"
#include "scripted_source.h"

typedef struct informer_world {
    kl__clock *clock;
    scripted_source *source;
    kl_informer *informer;
    event_record record;
    kl_registration *registration;
    int64_t resync_ms; /* the informer's resync period; set it before open */
} informer_world;

/* cmocka's setup and teardown: *state is an informer_world *. */
int informer_world_setup(void **state);
int informer_world_teardown(void **state);

/* Starts the informer, with paged lists. */
void informer_world_open(informer_world *self, const char *script);

/* Registers the event_record; `options` may be NULL. */
void informer_world_add_handler(informer_world *self,
                                const kl_handler_options *options);

void informer_world_await_synced(informer_world *self);

/* Waits until the reflector is in backoff, and advances the clock past it. */
void informer_world_pass_backoff(informer_world *self);

/* Waits until the record has `count` words, and compares all of them. */
void informer_world_expect(informer_world *self, int count,
                           const char *expected);

#endif
