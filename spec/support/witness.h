/*
 * witness.h - somebody who is told what happens to pods "a", "b", ... and
 * checks that it is a history: add, update*, delete, and so on, each with what
 * was known before as its `old`, no UID mixed up.
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

/* Believes an event, or fails the test. */
void witness_see(witness *self, const kl_event *event);

/* Whether what it knows is what the list holds. */
bool witness_knows(const witness *self, const kl_object_list *list);

/* Drops what it holds. */
void witness_clear(witness *self);

#endif
