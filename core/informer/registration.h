/*
 * registration.h - one handler of one informer: a listener, and either a thread
 * that drains it or a place in a queue.
 */
#ifndef KL_INFORMER_REGISTRATION_H
#define KL_INFORMER_REGISTRATION_H

#include "informer/event_queue.h"
#include "informer/listener.h"
#include "informer/processor.h"

#include <stdatomic.h>

struct kl_registration {
    kl__listener listener;
    kl__processor *processor; /* a reference */
    char *name;               /* in logs */
    void *owner;
    void (*release_owner)(void *owner); /* may be NULL; its thread's */
    int64_t resync_ms;                  /* 0: none */
    bool wants_errors;
    /* Its user, its thread, and each event that was pulled and is not done:
     * the last one frees. */
    atomic_int references;

    /* Guarded by the processor's mutexes; see there. */
    kl__list node; /* also in the list of whoever has taken it out */
    bool is_member;
    int64_t next_resync_ms;
    uint64_t told_error; /* the number of the error that it was told last */

    /* With a thread. */
    kl_handler handler;
    kl__cond cond; /* of the listener's mutex: awake, closed or launched */
    kl__thread thread;
    bool has_thread;
    bool is_launched; /* guarded by the listener's mutex: `thread` is set */
    bool is_refused;  /* the same: it never was; do not drop the context */

    /* With a queue. */
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

/* For one that could not join: as if it had never been. */
void kl__registration_refuse(kl_registration *registration);
/* The same where somebody else has taken it out meanwhile, and will finish it:
 * its thread does not begin. */
void kl__registration_decline(kl_registration *registration);
/* For one that has joined: its thread may begin. */
void kl__registration_launch(kl_registration *registration);

/* Ends it, in two steps, once it has left the processor: the first wakes
 * everybody, the second waits (but on no handler's thread) and gives up the
 * user's reference. */
void kl__registration_close(kl_registration *registration);
void kl__registration_finish(kl_registration *registration);

/* Whether this thread runs handlers: then it must not wait for another one that
 * does, as two handlers that end each other would wait for ever. */
bool kl__on_handler_thread(void);

/* Its place in its queue. */
kl__ready *kl__registration_ready(kl_registration *registration);

#endif
