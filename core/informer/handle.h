/*
 * handle.h - the life of a kl_informer: which calls may use it, when it ends,
 * and when its memory is freed. informer.c has the calls themselves.
 *
 * Two things are counted:
 *   - References, of the user: kl_informer_open gives one, kl_informer_ref adds
 *     one, kl_informer_unref and kl_informer_close drop one. They keep the
 *     memory of the handle, and of registrations that a close has ended.
 *   - Uses: one of the open handle, one of each call that is under way, one of
 *     each thread of a handler. They keep the shared informer, with its cache.
 * A close marks the handle, so that no new use begins but for reading, and for
 * that too once its last handler has returned; it drops the use of the open
 * handle. The thread that drops the last use gives the shared informer back. So
 * a call never finds the cache freed, whichever callback closes the handle, and
 * at whichever moment.
 */
#ifndef KL_INFORMER_HANDLE_H
#define KL_INFORMER_HANDLE_H

#include "base/list.h"
#include "base/thread.h"
#include "informer/informer_factory.h"

#include <stdatomic.h>

struct kl_informer {
    kl__forks made_in;
    int64_t resync_ms;   /* for handlers that set none */
    kl__shared_use *use; /* valid while a use is counted */

    /* References of the user. The one that drops the last closes the handle if
     * it is open. */
    atomic_int references;
    /* Two owners of the memory: the references together, and the uses together.
     * The last one frees it. */
    atomic_int owners;
    /* USE for each use, and the bits CLOSED and BARRED: see handle.c. */
    atomic_uint uses;

    /* Rank LIFECYCLE. Guards the fields below, and each change of `uses` that
     * takes a use away from a closed handle. Never held with a factory's
     * mutex. */
    kl__mutex mutex;
    kl__cond left;     /* a use of the closed handle has ended, or has_ended */
    bool has_ended;    /* the shared informer was given back */
    unsigned handlers; /* threads of handlers, each with a use */

    kl__sync_waiters waiters;

    /* Registrations that a close has ended. Their memory is freed with that of
     * the handle: a thread that has a reference may still ask them. The thread
     * that closes the handle adds them; the last owner frees them. */
    kl__list ended;
};

/* A handle with one reference, one use and no shared informer yet; the caller
 * sets `use`, or gives it up. NULL: out of memory. */
kl_informer *kl__handle_new(int64_t resync_ms, kl_error *err);
void kl__handle_give_up(kl_informer *informer);

/*
 * Begin a use for the length of a call; kl__handle_leave ends it. Enter fails
 * with KL_ECLOSED once a close has begun, and with KL_EFORKED. Look is for
 * calls that only read and have no code to return: true while the cache is
 * there, which is until the last handler of a closed handle has returned.
 */
kl_code kl__handle_enter(const kl_informer *informer, kl_error *err);
bool kl__handle_look(const kl_informer *informer);
/* Ends a use; the last one of a closed handle stops the shared informer, if no
 * other handle uses it. Hold no lock. */
void kl__handle_leave(const kl_informer *informer);

/* True once a close has begun. */
bool kl__handle_is_closed(const kl_informer *informer);
/* KL_ECLOSED with a message. */
kl_code kl__handle_closed_error(kl_error *err);

/* Callbacks of kl__subscriber: the use of a handler's thread, and the question
 * if a registration may join. `owner` is a kl_informer. */
void kl__handle_use(void *owner);
void kl__handle_end_use(void *owner);
bool kl__handle_refuses(const void *owner);

#endif
