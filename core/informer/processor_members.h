/*
 * processor_members.h - what a processor is made of, for the files that make
 * it: processor.c lets registrations come and go, distribution.c tells them.
 */
#ifndef KL_INFORMER_PROCESSOR_MEMBERS_H
#define KL_INFORMER_PROCESSOR_MEMBERS_H

#include "informer/processor.h"
#include "informer/registration.h"

#include <stdatomic.h>

struct kl__processor {
    kl__indexer *indexer; /* these three: until close */
    kl__health *health;
    kl__clock *clock;
    char *name;
    atomic_int references;  /* its owner's and each registration's */
    atomic_bool is_stopped; /* events that wait are dropped */

    /*
     * Rank DISTRIBUTE. Held while the indexer changes and that is told, and
     * while a registration takes its snapshot and joins. Guards what follows,
     * and of each registration next_resync_ms and told_error.
     */
    kl__mutex distribute;
    uint64_t joined;       /* how many ever, to name those that have no name */
    uint64_t told_error;   /* the number of the error that was told last */
    uint64_t logged_error; /* the same, of the log */
    int64_t error_due_ms;  /* it is told again then, for want of memory; -1 */

    /*
     * Rank LISTENERS. The list and is_closed are changed under both mutexes,
     * and read under either.
     */
    kl__mutex listeners;
    kl__list registrations;
    bool is_closed;
    kl__cond room;     /* of listeners: one has room, left, or was cancelled */
    int64_t warned_ms; /* when the log last named one that has none; or -1 */
};

/* For registrations: one reference more, or less. */
void kl__processor_ref(kl__processor *processor);
void kl__processor_unref(kl__processor *processor);
/* It is told nothing more. False: whoever has to end it took it out before. */
bool kl__processor_remove(kl__processor *processor,
                          kl_registration *registration);
/* It was full, and is not any more. */
void kl__processor_made_room(kl__processor *processor);

#endif
