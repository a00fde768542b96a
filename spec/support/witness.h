/*
 * witness.h - gets the events of pods "a", "b", ... and asserts that they form
 * a history: an add, updates, a delete and so on, each with the last known
 * object as its `old`, and no UID mixed up.
 */
#ifndef KL_SPEC_WITNESS_H
#define KL_SPEC_WITNESS_H

#include "kubelua/handler.h"

enum { WITNESS_KEYS = 26 };

typedef struct witness {
    kl_object *known[WITNESS_KEYS];
    size_t events;
    bool has_synced;
} witness;

/* Takes an event; fails the test if it does not fit the history. */
void witness_see(witness *self, const kl_event *event);

/* True if the witness holds the same objects as the list. */
bool witness_knows(const witness *self, const kl_object_list *list);

/* Drops the objects that the witness holds. */
void witness_clear(witness *self);

#endif
