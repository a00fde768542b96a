/*
 * sync_tracker.h - finds out when one handler has synced: the initial list is
 * complete, and for each of its objects the handler has returned, or will never
 * be called.
 */
#ifndef KL_CACHE_SYNC_TRACKER_H
#define KL_CACHE_SYNC_TRACKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Guarded by the listener's mutex, except has_synced. Zeroed: a new tracker. */
typedef struct kl__sync_tracker {
    bool is_complete;
    size_t outstanding; /* initial objects that were not handled yet */
    atomic_bool has_synced;
} kl__sync_tracker;

/* Counts one more object of the initial list. Call before complete. */
void kl__sync_tracker_start(kl__sync_tracker *tracker);

/* One of these objects was handled, or was dropped without a call. Aborts if
 * there are more of these calls than of kl__sync_tracker_start. */
void kl__sync_tracker_finish(kl__sync_tracker *tracker);

/* The whole initial list was counted. */
void kl__sync_tracker_complete(kl__sync_tracker *tracker);

/* True once the handler has synced, and for ever after. Any thread, without the
 * mutex. */
bool kl__sync_tracker_has_synced(const kl__sync_tracker *tracker);

#endif
