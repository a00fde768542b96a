/*
 * registration.h - one handler of one informer: a listener, and either a thread
 * that drains it or a place in a queue.
 */
#ifndef KL_INFORMER_REGISTRATION_H
#define KL_INFORMER_REGISTRATION_H

#include "base/event_queue.h"
#include "informer/listener.h"
#include "informer/processor.h"

#include <stdatomic.h>

/* The life of a registration, in this order; it ends left or refused. */
typedef enum kl__registration_state {
    KL__REGISTRATION_NEW,      /* it has joined nothing yet */
    KL__REGISTRATION_MEMBER,   /* in the processor; the thread waits */
    KL__REGISTRATION_STARTED,  /* a member; its thread runs callbacks */
    KL__REGISTRATION_REMOVED,  /* no member; its thread drops the context */
    KL__REGISTRATION_DISCARDED /* no member; its thread never began */
} kl__registration_state;

struct kl_registration {
    kl__forks made_in;
    kl__listener listener;
    kl__processor *processor; /* a reference */
    char *name;               /* in logs */
    void *owner;
    void (*unref_owner)(void *owner); /* may be NULL; its thread's */
    int64_t resync_ms;                /* 0: none */
    bool wants_errors;
    /* Its user, its thread, and each event that was pulled and is not done:
     * the last one frees. */
    atomic_int references;

    /* Guarded by the processor's mutexes; see there. */
    kl__list node; /* among the processor's while a member; then of the caller
                      of kl__registration_exit */
    int64_t next_resync_ms;
    uint64_t told_error; /* the number of the error that it was told last */

    /* Guarded by the listener's mutex; becoming a member, and ceasing to be
     * one, also by the processor's mutexes. */
    kl__registration_state state;

    /* With a thread. */
    kl_handler handler;
    kl__cond cond; /* of the listener's mutex: awake, closed or `state` */
    kl__thread thread;

    /* With a queue; NULL: with a thread. */
    kl_event_queue *queue; /* a reference */
    kl__ready ready;
};

/* Makes one that has joined nothing; a reference to the processor is taken.
 * NULL: KL_ENOMEM, KL_EIO (no thread). */
kl_registration *kl__registration_new(kl__processor *processor,
                                      const kl__subscriber *subscriber,
                                      const char *name, kl_error *err);
/* One reference more, or less; the last one frees it. */
void kl__registration_ref(kl_registration *registration);
void kl__registration_unref(kl_registration *registration);

/* With both mutexes of the processor held. Join makes it a member. Leave makes
 * it none; false: it was none, and another thread ends it. */
void kl__registration_enter(kl_registration *registration);
bool kl__registration_exit(kl_registration *registration);

/* Lets a member's thread begin. False: it was taken out before that; its thread
 * never begins, and the thread that took it out ends it. */
bool kl__registration_start(kl_registration *registration);

/* Ends one that was not launched and that no other thread has taken out: as if
 * it had never been. */
void kl__registration_discard(kl_registration *registration);

/* Ends it, in two steps, once it has left the processor: the first wakes all
 * that wait for it, the second waits for its thread (but on no handler's
 * thread) and gives up the user's reference. */
void kl__registration_close(kl_registration *registration);
void kl__registration_finish(kl_registration *registration);

/* True if this thread runs handlers: then it must not wait for another one that
 * does, as two handlers that end each other would wait for ever. */
bool kl__on_handler_thread(void);

#endif
