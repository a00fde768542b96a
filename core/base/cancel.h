/*
 * cancel.h - a cancellation token. One thread blocks in a call that was given
 * the token; another thread fires the token, and the call returns at once. A
 * token fires once and stays fired.
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

/* A waiting thread adds a hook to the token. `wake` runs on the thread that
 * fires the token, with the token's mutex held: it locks the waiter's mutex,
 * broadcasts the waiter's condition and unlocks; nothing else. */
typedef struct kl__cancel_hook {
    kl__list node;
    void (*wake)(void *arg);
    void *arg;
} kl__cancel_hook;

void kl__cancel_init(kl__cancel *cancel);
void kl__cancel_deinit(kl__cancel *cancel);

/* Fires the token and calls every hook. Thread-safe. */
void kl__cancel_fire(kl__cancel *cancel);

/* True if the token was fired; a NULL token never is. Thread-safe. */
KL__FOR_SIM bool kl__cancel_fired(const kl__cancel *cancel);

/* Adds the hook; does nothing for a NULL token. False: the token is already
 * fired, and the hook was not added. The caller holds no mutex of rank CANCEL
 * or above. */
KL__FOR_SIM bool kl__cancel_add(kl__cancel *cancel, kl__cancel_hook *hook);

/* Removes the hook; afterwards `wake` neither runs nor will run. */
KL__FOR_SIM void kl__cancel_remove(kl__cancel *cancel, kl__cancel_hook *hook);

/* A token that fires when one of two source tokens fires. Example: a read ends
 * when the caller cancels it, and also when the stream is closed. It may also
 * be fired directly (its sources do not see that; kl__cancel_either_renew), and
 * may be a source of another kl__cancel_either. */
typedef struct kl__cancel_either {
    kl__cancel token; /* waiters use this; ranks above the sources */
    kl__cancel *from[2];
    kl__cancel_hook hooks[2];
} kl__cancel_either;

/* `a` and `b` may be NULL, and live until deinit. */
void kl__cancel_either_init(kl__cancel_either *either, kl__cancel *a,
                            kl__cancel *b);
/* Makes a token usable again that was fired directly; it stays fired if one of
 * its sources is. Call when no thread waits on it; others may fire it
 * meanwhile. */
void kl__cancel_either_renew(kl__cancel_either *either);
/* Call when no thread waits on `token` any more. */
void kl__cancel_either_deinit(kl__cancel_either *either);

#endif
