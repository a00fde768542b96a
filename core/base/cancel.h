/*
 * cancel.h - how a blocking call of another thread is ended: a token that is
 * fired once, and that wakes whoever waits.
 */
#ifndef KL_BASE_CANCEL_H
#define KL_BASE_CANCEL_H

#include "base/for_sim.h"
#include "base/list.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdbool.h>

typedef struct kl__cancel {
    kl__mutex mutex; /* rank CANCEL; guards hooks */
    kl__list hooks;
    atomic_bool fired; /* set under the mutex; read anywhere */
} kl__cancel;

/* What a waiter hangs into the token while it waits. `wake` runs on the firing
 * thread with the token's mutex held: lock the waiter's mutex, broadcast its
 * condition, unlock; nothing else. */
typedef struct kl__cancel_hook {
    kl__list node;
    void (*wake)(void *arg);
    void *arg;
} kl__cancel_hook;

void kl__cancel_init(kl__cancel *cancel);
void kl__cancel_deinit(kl__cancel *cancel);

/* Fires it, for good. Thread-safe. */
void kl__cancel_fire(kl__cancel *cancel);

/* Whether it was fired; a NULL token never is. Thread-safe. */
KL__FOR_SIM bool kl__cancel_fired(const kl__cancel *cancel);

/* Hangs the hook in (a NULL token: nothing happens). False: already fired, and
 * the hook is not in. Take no mutex of rank CANCEL or above before it. */
KL__FOR_SIM bool kl__cancel_add(kl__cancel *cancel, kl__cancel_hook *hook);

/* Takes it out; afterwards `wake` neither runs nor will run. */
KL__FOR_SIM void kl__cancel_remove(kl__cancel *cancel, kl__cancel_hook *hook);

/* A token that fires when one of two others does: for a call that both its
 * caller and the closing of what it works on may end. It may be fired itself,
 * which the others do not see, and be one of two for another. */
typedef struct kl__cancel_either {
    kl__cancel token; /* one rank above its sources; wait with this one */
    kl__cancel *from[2];
    kl__cancel_hook hooks[2];
} kl__cancel_either;

/* `a` and `b` may be NULL, and live until deinit. */
void kl__cancel_either_init(kl__cancel_either *either, kl__cancel *a,
                            kl__cancel *b);
/* Once nothing waits with its token. */
void kl__cancel_either_deinit(kl__cancel_either *either);

#endif
