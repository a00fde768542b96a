/*
 * guests.h - the guests of a soak, which come and go (clients, informers of all
 * kinds, handlers and indexes), and the faults (cuts, compactions, failures).
 */
#ifndef KL_SOAK_GUESTS_H
#define KL_SOAK_GUESTS_H

#include "world.h"

enum { GUESTS = 5, HANDLERS = 3 };

typedef struct guest {
    kl_client *client;
    kl_informer *informer;
    kl_event_queue *queue;
    kl_registration *registrations[HANDLERS];
} guest;

typedef struct soak_guests {
    guest all[GUESTS];
    long opened;
    long cuts;
    long compactions;
    long failures;
    long queries;
} soak_guests;

/* Does one thing at random: a guest comes, acts or leaves, or there is a
 * fault. */
bool guests_act(soak_guests *self, soak_world *world);

/* Makes all guests leave. */
void guests_leave(soak_guests *self);

#endif
