/*
 * event_queue.c - a list of the registrations, requests and programs that have
 * something for their owner, first come first served, and a file descriptor
 * that is readable while the list is not empty. The owner's loop polls the
 * descriptor.
 */
#include "base/event_queue.h"

#include "base/mem.h"
#include "base/thread.h"
#include "base/wakeup.h"

#include <stdatomic.h>

struct kl_event_queue {
    kl__wakeup wakeup; /* set for `ready`, and by kl_event_queue_wake */
    /* Dropping the last one frees the queue: acquire and release order earlier
     * writes of other threads before the free. */
    atomic_int references;
    kl__forks made_in;
    bool is_shut; /* only in a child of fork(): the descriptor is closed */

    /* Guards what follows; rank QUEUE. */
    kl__mutex mutex;
    kl__list ready;
    bool is_armed; /* the descriptor is written for `ready`, or will be */

    /* The owner does not sleep: nothing is written until it leaves. A wake-up
     * sets was_woken before it looks at is_attended, and the owner clears
     * is_attended before it looks at was_woken (both sequentially consistent):
     * so one of the two notices the other. */
    atomic_bool is_attended; /* written with the mutex held */
    atomic_bool was_woken;

    /* Writes of the descriptor that have begun, and that are done; if both
     * numbers are equal, no write is still to come. */
    atomic_uint writes_begun;
    atomic_uint writes_done;
    unsigned writes_cleared; /* as many were cleared; guarded by the mutex */
};

kl_event_queue *kl_event_queue_new(kl_error *err)
{
    kl_event_queue *queue;

    queue = kl__calloc(1, sizeof(*queue));
    if (queue == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an event queue");
        return NULL;
    }
    if (kl__wakeup_init(&queue->wakeup, err) != KL_OK) {
        kl__free(queue);
        return NULL;
    }
    atomic_init(&queue->references, 1);
    atomic_init(&queue->is_attended, false);
    atomic_init(&queue->was_woken, false);
    atomic_init(&queue->writes_begun, 0);
    atomic_init(&queue->writes_done, 0);
    queue->made_in = kl__process_here();
    kl__mutex_init(&queue->mutex, KL__RANK_QUEUE);
    kl__list_init(&queue->ready);
    kl__live_add(KL_LIVE_QUEUE, 1);
    return queue;
}

static bool is_stale(const kl_event_queue *queue)
{
    return kl__check_process(queue->made_in, NULL) != KL_OK;
}

void kl__event_queue_ref(kl_event_queue *queue)
{
    atomic_fetch_add_explicit(&queue->references, 1, memory_order_relaxed);
}

void kl__event_queue_unref(kl_event_queue *queue)
{
    if (atomic_fetch_sub_explicit(&queue->references, 1, memory_order_acq_rel) >
        1) {
        return;
    }
    /* In a child of fork() the mutex may be locked for ever. */
    if (!is_stale(queue)) {
        kl__mutex_deinit(&queue->mutex);
    }
    if (!queue->is_shut) {
        kl__wakeup_deinit(&queue->wakeup);
    }
    kl__free(queue);
    kl__live_add(KL_LIVE_QUEUE, -1);
}

void kl_event_queue_free(kl_event_queue *queue)
{
    if (queue != NULL) {
        /* In a child of fork(), registrations keep their references for ever.
         * Their threads do not exist here, so nothing wakes the queue any more
         * and its descriptor can be closed. */
        if (is_stale(queue) && !queue->is_shut) {
            queue->is_shut = true;
            kl__wakeup_deinit(&queue->wakeup);
        }
        kl__event_queue_unref(queue);
    }
}

int kl_event_queue_fd(const kl_event_queue *queue)
{
    return kl__wakeup_fd(&queue->wakeup);
}

/* Writes the descriptor; writes_begun counts it already. Called without the
 * mutex: the owner may wake up during the write, and locks it next. */
static void write_descriptor(kl_event_queue *queue)
{
    kl__wakeup_set(&queue->wakeup);
    atomic_fetch_add(&queue->writes_done, 1);
}

/* True if the descriptor must be written for `ready`; the caller does it. */
static bool arm_locked(kl_event_queue *queue)
{
    if (queue->is_armed || atomic_load(&queue->is_attended)) {
        return false;
    }
    queue->is_armed = true;
    atomic_fetch_add(&queue->writes_begun, 1);
    return true;
}

void kl__event_queue_add(kl_event_queue *queue, kl__ready *ready)
{
    bool must_write = false;

    kl__mutex_lock(&queue->mutex);
    if (kl__list_empty(&ready->node)) {
        kl__list_append(&queue->ready, &ready->node);
        must_write = arm_locked(queue);
    }
    kl__mutex_unlock(&queue->mutex);
    if (must_write) {
        write_descriptor(queue);
    }
}

/* If nothing is ready, makes the descriptor unreadable; this also clears a
 * wake-up. Clears the descriptor only if it may have been written: that is a
 * system call. A wake-up that another thread is writing now is cleared here or
 * by the next call. */
static void disarm_locked(kl_event_queue *queue)
{
    unsigned done, begun;

    if (!kl__list_empty(&queue->ready)) {
        return;
    }
    /* Exchanged, not stored: what a thread has written before its wake-up is
     * seen after this. */
    (void)atomic_exchange(&queue->was_woken, false);
    /* In this order: a wake-up that begins between the two makes them differ,
     * so it is not counted as cleared. */
    done = atomic_load(&queue->writes_done);
    begun = atomic_load(&queue->writes_begun);
    if (begun != queue->writes_cleared) {
        queue->is_armed = false;
        kl__wakeup_clear(&queue->wakeup);
    }
    if (done == begun) {
        queue->writes_cleared = begun;
    }
}

void kl__event_queue_forget(kl_event_queue *queue, kl__ready *ready)
{
    kl__mutex_lock(&queue->mutex);
    /* The descriptor stays as it is: it may also hold a wake-up, and waking the
     * owner once for nothing is harmless. */
    kl__list_remove(&ready->node);
    kl__mutex_unlock(&queue->mutex);
}

void *kl_event_queue_next(kl_event_queue *queue)
{
    kl__list *node;
    void *tag = NULL;

    if (is_stale(queue)) {
        return NULL;
    }
    kl__mutex_lock(&queue->mutex);
    node = kl__list_shift(&queue->ready);
    if (node != NULL) {
        tag = KL__CONTAINER(node, kl__ready, node)->tag;
    }
    disarm_locked(queue);
    kl__mutex_unlock(&queue->mutex);
    return tag;
}

kl_code kl_event_queue_wait(kl_event_queue *queue, int64_t timeout_ms)
{
    if (is_stale(queue)) {
        return KL_EFORKED;
    }
    return kl__wakeup_wait(&queue->wakeup, timeout_ms);
}

void kl_event_queue_wake(kl_event_queue *queue)
{
    if (is_stale(queue)) {
        return;
    }
    atomic_store(&queue->was_woken, true);
    if (!atomic_load(&queue->is_attended)) {
        atomic_fetch_add(&queue->writes_begun, 1);
        write_descriptor(queue);
    }
}

void kl_event_queue_attend(kl_event_queue *queue)
{
    if (!is_stale(queue)) {
        kl__mutex_lock(&queue->mutex);
        atomic_store(&queue->is_attended, true);
        kl__mutex_unlock(&queue->mutex);
    }
}

void kl_event_queue_leave(kl_event_queue *queue)
{
    bool must_write;

    if (is_stale(queue)) {
        return;
    }
    kl__mutex_lock(&queue->mutex);
    must_write =
        atomic_exchange(&queue->is_attended, false) &&
        (!kl__list_empty(&queue->ready) || atomic_load(&queue->was_woken)) &&
        arm_locked(queue);
    kl__mutex_unlock(&queue->mutex);
    if (must_write) {
        write_descriptor(queue);
    }
}

kl_code kl_event_queue_check(const kl_event_queue *queue, kl_error *err)
{
    return kl__check_process(queue->made_in, err);
}

bool kl_event_queue_is_fed(const kl_event_queue *queue)
{
    return atomic_load_explicit(&queue->references, memory_order_acquire) > 1;
}
