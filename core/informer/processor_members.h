/*
 * processor_members.h - the fields of a processor, for its two files:
 * processor.c adds and removes registrations, distribution.c pushes to them.
 */
#ifndef KL_INFORMER_PROCESSOR_MEMBERS_H
#define KL_INFORMER_PROCESSOR_MEMBERS_H

#include "informer/processor.h"
#include "informer/registration.h"
#include "informer/unread.h"

#include <stdatomic.h>

struct kl__processor {
    kl__indexer *indexer; /* these three are valid until close */
    kl__health *health;
    kl__clock *clock;
    char *name;
    atomic_int references;  /* one of the owner, one of each registration */
    atomic_bool is_stopped; /* no event can be pulled any more */

    /*
     * Rank DISTRIBUTE. Held while the indexer changes and the change is pushed,
     * and while a registration takes its snapshot and is added. Guards the
     * fields below, and next_resync_ms, told_error and told_unread of each
     * registration.
     */
    kl__mutex distribute;
    uint64_t joined; /* registrations so far: a registration without a name gets
                        its number */
    uint64_t told_error;    /* the number of the error that was pushed last */
    uint64_t logged_error;  /* the number of the error that was logged last */
    kl__unread unread;      /* the objects that cannot be read now */
    uint64_t logged_unread; /* the highest number of them that was logged */
    int64_t error_due_ms;   /* when to push the error again to listeners for
                               which there was no memory; -1: never */

    /*
     * Rank LISTENERS. The list and is_closed are changed with both mutexes
     * held, and read with either.
     */
    kl__mutex listeners;
    kl__list registrations;
    bool is_closed;
    kl__cond room; /* of `listeners`: a listener has room, or a registration was
                      removed, or a wait was cancelled */
    int64_t warned_ms; /* when the log last named a full listener; -1: never */
};

/* A registration takes or drops a reference. */
void kl__processor_ref(kl__processor *processor);
void kl__processor_unref(kl__processor *processor);
/* Takes a registration out of the list: no event is pushed to it any more.
 * False: another thread has taken it out before, and ends it. */
bool kl__processor_remove(kl__processor *processor,
                          kl_registration *registration);
/* Wakes the informing task if it waits for room: a listener has some. */
void kl__processor_made_room(kl__processor *processor);

#endif
