/*
 * registration.h - a handler of an informer: a listener, and either a thread
 * that calls the user's callbacks or a place in the user's event queue.
 */
#ifndef KL_INFORMER_REGISTRATION_H
#define KL_INFORMER_REGISTRATION_H

#include "base/event_queue.h"
#include "informer/listener.h"
#include "informer/processor.h"

#include <stdatomic.h>

/* The states of a registration, in this order; the last is REMOVED or
 * DISCARDED. */
typedef enum kl__registration_state {
    KL__REGISTRATION_NEW,      /* not in the processor yet */
    KL__REGISTRATION_MEMBER,   /* in the processor; its thread waits */
    KL__REGISTRATION_STARTED,  /* in the processor; its thread runs callbacks */
    KL__REGISTRATION_REMOVED,  /* taken out; its thread ends and calls
                                  drop_context */
    KL__REGISTRATION_DISCARDED /* taken out before its thread began: no
                                  drop_context */
} kl__registration_state;

struct kl_registration {
    kl__forks made_in;
    kl__listener listener;
    kl__processor *processor; /* a reference */
    char *name;               /* in logs */
    void *owner;
    void (*end_use)(void *owner); /* may be NULL; the handler's thread calls it
                                     at its end */
    int64_t resync_ms;            /* 0: none */
    bool wants_errors;
    bool is_named;   /* by its user */
    bool takes_over; /* with a queue only */
    /* One of the user, one of its thread, one of each event that was pulled and
     * is not done. The last unref frees. */
    atomic_int references;

    /* Guarded by the processor's mutexes; see there. */
    kl__list node; /* in the processor's list while a member; then the caller of
                      kl__registration_exit uses it */
    int64_t next_resync_ms;
    uint64_t told_error;  /* the number of the last error pushed to it */
    uint64_t told_unread; /* the highest number of an unreadable object that was
                             pushed to it */

    /* Guarded by the listener's mutex. A change to MEMBER, and one from MEMBER
     * or STARTED to REMOVED or DISCARDED, also needs the processor's
     * mutexes. */
    kl__registration_state state;

    /* With a thread. */
    kl_handler handler;
    kl__cond cond; /* with the listener's mutex: an event waits, closed, or
                      `state` has changed */
    kl__thread thread;

    /* With a queue. NULL: it has a thread. */
    kl_event_queue *queue; /* a reference */
    kl__ready ready;
};

/* Makes a registration that is not in the processor yet; takes a reference to
 * the processor. NULL: KL_ENOMEM, KL_EIO (no thread). */
kl_registration *kl__registration_new(kl__processor *processor,
                                      const kl__subscriber *subscriber,
                                      const char *name, kl_error *err);
/* Ref adds a reference. Unref drops one; the last drop frees the
 * registration. */
void kl__registration_ref(kl_registration *registration);
void kl__registration_unref(kl_registration *registration);

/* Marks it as a member of the processor, or as taken out; with both mutexes of
 * the processor held. False: it is no member, and another thread ends it. */
void kl__registration_enter(kl_registration *registration);
bool kl__registration_exit(kl_registration *registration);

/* Lets a member's thread begin. False: it was taken out before that; its thread
 * does not begin, and the thread that took it out ends it. */
bool kl__registration_start(kl_registration *registration);

/* Ends a registration that was not started and that no other thread has taken
 * out: no callback ran, drop_context included. */
void kl__registration_discard(kl_registration *registration);

/* End a registration that was taken out, in two steps. Close drops its events
 * and wakes all threads that wait in it. Finish waits for its thread (not
 * inside a callback). Then the caller drops the user's reference. */
void kl__registration_close(kl_registration *registration);
void kl__registration_finish(kl_registration *registration);

#endif
