/*
 * event_queue.h - one place where a loop waits for many things: registrations
 * that have events (handler.h) and requests that are answered (request.h).
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

/* A queue to which any number of registrations and requests tell that they have
 * something; one a lua_State. NULL: KL_ENOMEM, KL_EIO (no descriptor). */
KL_API kl_event_queue *kl_event_queue_new(kl_error *err);

/* KL_OK; KL_EFORKED with a message where it was made before a fork(), and this
 * is the child: nothing tells it anything here. Thread-safe. */
KL_API kl_code kl_event_queue_check(const kl_event_queue *queue, kl_error *err);

/* True while a registration, request, or program has it. Thread-safe. */
KL_API bool kl_event_queue_is_fed(const kl_event_queue *queue);

/* Frees it once its registrations are removed and its requests are freed; until
 * then it stays. NULL is fine. */
KL_API void kl_event_queue_free(kl_event_queue *queue);

/* Readable (level-triggered) while anything is ready or a wake-up is pending;
 * belongs to the queue, stable for its life. Thread-safe. */
KL_API int kl_event_queue_fd(const kl_event_queue *queue);

/* Blocks until the descriptor is readable: KL_OK; KL_ETIMEOUT; KL_ECANCELED
 * when a signal interrupted it; KL_EFORKED. timeout_ms < 0: for ever. */
KL_API kl_code kl_event_queue_wait(kl_event_queue *queue, int64_t timeout_ms);

/* Wakes a waiter, now or at its next wait. Safe on any thread and inside a
 * signal handler. */
KL_API void kl_event_queue_wake(kl_event_queue *queue);

/*
 * Returns the tag of the next registration or request that is ready, or NULL;
 * when none is left, pending wake-ups are cleared. Each is returned once per
 * empty-to-full edge, in the order in which they became ready. A registration
 * that another thread removes, or a request that another thread frees, may be
 * returned for the last time while it does. Thread-safe.
 */
KL_API void *kl_event_queue_next(kl_event_queue *queue);

#ifdef __cplusplus
}
#endif
#endif
