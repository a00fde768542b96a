/*
 * distribution.h - what a processor is made of, for the files that make it:
 * processor.c lets registrations come and go, distribution.c tells them.
 */
#ifndef KL_INFORMER_DISTRIBUTION_H
#define KL_INFORMER_DISTRIBUTION_H

#include "informer/processor.h"
#include "informer/registration.h"

#include <stdatomic.h>

struct kl__processor {
    kl__indexer *indexer; /* these two: until close */
    kl__clock *clock;
    char *name;
    int64_t default_resync_ms;
    atomic_int references;  /* its owner's and each registration's */
    atomic_bool has_ceased; /* events that wait are dropped */

    /*
     * Rank DISTRIBUTE. Held while the indexer changes and that is told, and
     * while a registration takes its snapshot and joins. Guards what follows,
     * and of each registration next_resync_ms and told_error.
     */
    kl__mutex distribute;
    uint64_t joined; /* how many ever, to name those that have no name */
    bool has_list;   /* the first list was told */
    bool has_error;  /* and since then nothing went well */
    kl_error error;
    uint64_t error_number; /* counts the changes of reason, from 1 */
    uint64_t logged_error;
    int64_t error_due_ms; /* to be told to who lacked memory; -1: to nobody */

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
bool kl__processor_leave(kl__processor *processor,
                         kl_registration *registration);
/* It was full, and is not any more. */
void kl__processor_made_room(kl__processor *processor);

#endif
