/*
 * handle.c - see handle.h.
 */
#include "informer/handle.h"

#include "base/mem.h"
#include "informer/registration.h"

/* Parts of `uses`: a close has begun; its last handler has returned; and the
 * weight of a use. */
enum { CLOSED = 1, BARRED = 2, USE = 4 };

kl_informer *kl__handle_new(int64_t resync_ms, kl_error *err)
{
    kl_informer *informer = kl__calloc(1, sizeof(*informer));

    if (informer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
        return NULL;
    }
    informer->made_in = kl__process_here();
    informer->resync_ms = resync_ms;
    atomic_init(&informer->references, 1);
    atomic_init(&informer->owners, 2);
    atomic_init(&informer->uses, USE);
    kl__mutex_init(&informer->mutex, KL__RANK_LIFECYCLE);
    kl__cond_init(&informer->left);
    kl__list_init(&informer->ended);
    return informer;
}

void kl__handle_give_up(kl_informer *informer)
{
    kl__list *node;

    while ((node = kl__list_shift(&informer->ended)) != NULL) {
        kl__registration_unref(KL__CONTAINER(node, kl_registration, node));
    }
    kl__cond_deinit(&informer->left);
    kl__mutex_deinit(&informer->mutex);
    kl__free(informer);
}

/* Acquire and release: what either owner has written, the other one frees. */
static void drop_owner(kl_informer *informer)
{
    if (atomic_fetch_sub_explicit(&informer->owners, 1, memory_order_acq_rel) ==
        1) {
        kl__handle_give_up(informer);
    }
}

/*
 * Adds a use, unless none is left (nothing can bring the cache back then) or
 * one of `refusing` is set. Acquire: this thread sees what was written before
 * the handle was opened. The handle's memory is the caller's to keep, by a
 * reference or by being the thread that closes it.
 */
static bool add_use(kl_informer *informer, unsigned refusing)
{
    unsigned now = atomic_load_explicit(&informer->uses, memory_order_relaxed);

    do {
        if (now < USE || (now & refusing) != 0) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(
        &informer->uses, &now, now + USE, memory_order_acquire,
        memory_order_relaxed));
    return true;
}

/* Gives the shared informer back, after the last use. */
static void end_handle(kl_informer *informer)
{
    kl__shared_use_close(informer->use);
    kl__mutex_lock(&informer->mutex);
    informer->has_ended = true;
    kl__cond_broadcast(&informer->left);
    kl__mutex_unlock(&informer->mutex);
    drop_owner(informer);
}

/*
 * Takes a use away from a closed handle. With the mutex held: the thread that
 * waits for the uses to end may free the handle as soon as it sees them gone,
 * and it sees them with the mutex held, so this thread has unlocked it by then.
 */
static void end_use_of_closed(kl_informer *informer)
{
    bool is_last;

    kl__mutex_lock(&informer->mutex);
    is_last =
        atomic_fetch_sub_explicit(&informer->uses, USE, memory_order_acq_rel) /
            USE ==
        1;
    kl__cond_broadcast(&informer->left);
    kl__mutex_unlock(&informer->mutex);
    if (is_last) {
        end_handle(informer);
    }
}

/*
 * While the handle is open its own use is counted, so no call's is the last,
 * and no thread waits for it: then one exchange is enough, and this thread does
 * not touch the handle after it. The exchange fails if the handle is closed at
 * that moment. Release: the thread that closes the handle acquires, and stops
 * the shared informer after all that this call did.
 */
void kl__handle_leave(const kl_informer *informer)
{
    kl_informer *self = (kl_informer *)informer; /* counts are no state */
    unsigned now = atomic_load_explicit(&self->uses, memory_order_relaxed);

    while ((now & CLOSED) == 0) {
        if (atomic_compare_exchange_weak_explicit(&self->uses, &now, now - USE,
                                                  memory_order_release,
                                                  memory_order_relaxed)) {
            return;
        }
    }
    end_use_of_closed(self);
}

kl_code kl__handle_closed_error(kl_error *err)
{
    return kl_error_set(err, KL_ECLOSED, "the informer was closed");
}

kl_code kl__handle_enter(const kl_informer *informer, kl_error *err)
{
    kl_code code = kl__check_process(informer->made_in, err);

    if (code == KL_OK && !add_use((kl_informer *)informer, CLOSED)) {
        code = kl__handle_closed_error(err);
    }
    return code;
}

bool kl__handle_look(const kl_informer *informer)
{
    return kl__check_process(informer->made_in, NULL) == KL_OK &&
           add_use((kl_informer *)informer, BARRED);
}

bool kl__handle_is_closed(const kl_informer *informer)
{
    return (atomic_load_explicit(&informer->uses, memory_order_acquire) &
            CLOSED) != 0;
}

/* Ends reading too, once a closed handle has no handler. Otherwise threads that
 * read all the time could keep the cache for ever, and a close waiting. */
static void bar_reads(kl_informer *informer)
{
    kl__mutex_lock(&informer->mutex);
    if (informer->handlers == 0 && kl__handle_is_closed(informer)) {
        atomic_fetch_or_explicit(&informer->uses, BARRED, memory_order_relaxed);
    }
    kl__mutex_unlock(&informer->mutex);
}

/* The caller holds a use of the handle, so the count is above 0. */
void kl__handle_use(void *owner)
{
    kl_informer *informer = owner;

    kl__mutex_lock(&informer->mutex);
    informer->handlers++;
    kl__mutex_unlock(&informer->mutex);
    atomic_fetch_add_explicit(&informer->uses, USE, memory_order_relaxed);
}

void kl__handle_end_use(void *owner)
{
    kl_informer *informer = owner;

    kl__mutex_lock(&informer->mutex);
    informer->handlers--;
    kl__mutex_unlock(&informer->mutex);
    bar_reads(informer);
    kl__handle_leave(informer);
}

bool kl__handle_refuses(const void *owner)
{
    return kl__handle_is_closed(owner);
}

/* Waits until no use but the caller's is left. */
static void wait_for_uses(kl_informer *informer)
{
    kl__mutex_lock(&informer->mutex);
    while (atomic_load_explicit(&informer->uses, memory_order_acquire) / USE >
           1) {
        kl__cond_wait(&informer->left, &informer->mutex, -1);
    }
    kl__mutex_unlock(&informer->mutex);
}

/* Waits until another thread's close has ended the handle. */
static void wait_for_end(kl_informer *informer)
{
    kl__mutex_lock(&informer->mutex);
    while (!informer->has_ended) {
        kl__cond_wait(&informer->left, &informer->mutex, -1);
    }
    kl__mutex_unlock(&informer->mutex);
}

/*
 * Ends the handle. The caller has a reference.
 *   1. Mark it: no call begins any more. Acquire, for the calls that have
 *      ended; release, for the calls that see the mark.
 *   2. End the waits in kl_informer_wait_synced.
 *   3. Take out the registrations. A thread that adds one looks for the mark
 *      with the processor's mutex held, and step 3 takes that mutex after step
 *      1: so each registration is refused or taken out here.
 *   4. Without a handler, no read begins any more either; else the last handler
 *      does this.
 *   5. Wait for the calls and handlers that still run. Not inside a callback:
 *      it may be one of these, or wait for one that waits for it. No use can
 *      begin then: a handler has a use until it has done step 4.
 *   6. Drop the use of the open handle. If it is the last one this thread gives
 *      the shared informer back; else the thread that drops the last one does.
 */
static void end_open_handle(kl_informer *informer)
{
    kl__shared_informer *shared = kl__shared_use_informer(informer->use);

    kl__health_cancel_waits(kl__shared_informer_health(shared),
                            &informer->waiters);
    kl__processor_remove_owner(kl__shared_informer_processor(shared), informer,
                               &informer->ended);
    bar_reads(informer);
    if (!kl__in_callback()) {
        wait_for_uses(informer);
    }
    end_use_of_closed(informer);
}

static void close_handle(kl_informer *informer)
{
    unsigned before =
        atomic_fetch_or_explicit(&informer->uses, CLOSED, memory_order_acq_rel);

    if ((before & CLOSED) == 0) {
        end_open_handle(informer);
    } else if (!kl__in_callback()) {
        wait_for_end(informer);
    }
}

kl_informer *kl_informer_ref(kl_informer *informer)
{
    atomic_fetch_add_explicit(&informer->references, 1, memory_order_relaxed);
    return informer;
}

void kl_informer_unref(kl_informer *informer)
{
    if (informer == NULL ||
        kl__check_process(informer->made_in, NULL) != KL_OK) {
        return; /* in a child of fork() there is no thread to stop */
    }
    if (atomic_fetch_sub_explicit(&informer->references, 1,
                                  memory_order_acq_rel) > 1) {
        return;
    }
    if (!kl__handle_is_closed(informer)) {
        close_handle(informer);
    }
    drop_owner(informer);
}

void kl_informer_close(kl_informer *informer)
{
    if (informer == NULL ||
        kl__check_process(informer->made_in, NULL) != KL_OK) {
        return;
    }
    close_handle(informer);
    kl_informer_unref(informer);
}

kl_code kl_informer_check(const kl_informer *informer, kl_error *err)
{
    kl_code code = kl__check_process(informer->made_in, err);

    return code == KL_OK && kl__handle_is_closed(informer)
               ? kl__handle_closed_error(err)
               : code;
}
