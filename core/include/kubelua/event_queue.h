/*
 * event_queue.h - one place where a loop waits for many things: registrations
 * that have events (handler.h), requests that are answered (request.h) and
 * programs that have ended (process.h).
 *
 *     for (;;) {
 *         kl_event_queue_wait(queue, -1);       or poll kl_event_queue_fd()
 *         while ((tag = kl_event_queue_next(queue)) != NULL) {
 *             ... pull all events, or take the result, of `tag` ...
 *         }
 *     }
 *
 * What a user can rely on:
 *
 * - A tag is returned once when its registration, request or program becomes
 *   ready, however many events follow (edge-triggered); tags come in the order
 *   in which they became ready.
 * - The descriptor becomes readable right after a tag begins to wait or a
 *   wake-up comes, and stays so as long (level-triggered); but see
 *   kl_event_queue_attend. A wait may also end
 *   for nothing. The descriptor is the same for the queue's life.
 * - A wake-up that comes before the wait ends the next wait, unless
 *   kl_event_queue_next returns NULL or the last tag in between.
 * - All calls but kl_event_queue_free are thread-safe.
 * - In the child of a fork() no tag comes; kl_event_queue_wait fails with
 *   KL_EFORKED, and so does whatever is given the queue there.
 */
#ifndef KUBELUA_EVENT_QUEUE_H
#define KUBELUA_EVENT_QUEUE_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_event_queue kl_event_queue;

/* An empty queue, for any number of registrations, requests and programs; a
 * loop needs one. NULL: KL_ENOMEM, KL_EIO (no descriptor). */
KL_API kl_event_queue *kl_event_queue_new(kl_error *err);

/* KL_OK; KL_EFORKED with a message if this process is a child that was forked
 * after the queue was made. Thread-safe. */
KL_API kl_code kl_event_queue_check(const kl_event_queue *queue, kl_error *err);

/* True while a registration, a request, a program or a pending wake-up of an
 * informer (kl_informer_wake_synced) uses the queue. Thread-safe. */
KL_API bool kl_event_queue_is_fed(const kl_event_queue *queue);

/* Drops the caller's use of the queue. The queue is freed when nothing else
 * uses it: its last registration is removed, and its last request or program is
 * freed. NULL is fine. No other call with the queue may run or follow, also not
 * kl_event_queue_wake or kl_event_queue_again of another thread. */
KL_API void kl_event_queue_free(kl_event_queue *queue);

/* The descriptor to poll for reading. The queue owns it. Thread-safe. */
KL_API int kl_event_queue_fd(const kl_event_queue *queue);

/* Blocks until the descriptor is readable: KL_OK; KL_ETIMEOUT; KL_ECANCELED: a
 * signal interrupted it; KL_EFORKED. timeout_ms < 0: no timeout. */
KL_API kl_code kl_event_queue_wait(kl_event_queue *queue, int64_t timeout_ms);

/* Ends kl_event_queue_wait, the current call or else the next one. Safe on any
 * thread and inside a signal handler. */
KL_API void kl_event_queue_wake(kl_event_queue *queue);

/*
 * For the owner's loop: from kl_event_queue_attend on, what becomes ready and
 * wake-ups do not write the descriptor, which saves system calls on both sides
 * while the loop has other things to do. kl_event_queue_leave makes it readable
 * if something has come meanwhile, and ends that; call it before each wait.
 * They do not block; leaving without attending does nothing. Call both on the
 * thread that waits.
 */
KL_API void kl_event_queue_attend(kl_event_queue *queue);
KL_API void kl_event_queue_leave(kl_event_queue *queue);

/*
 * Returns the tag of the next registration, request or program that is ready;
 * NULL: none is. Pending wake-ups are cleared if no other tag is left. While
 * another thread removes a registration or frees a request, its tag may still
 * be returned. Thread-safe.
 */
KL_API void *kl_event_queue_next(kl_event_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
