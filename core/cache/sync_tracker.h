/*
 * sync_tracker.h - when one handler has synced: the initial list is complete,
 * and each of its objects was handled or will never be shown.
 */
#ifndef KL_CACHE_SYNC_TRACKER_H
#define KL_CACHE_SYNC_TRACKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Guarded by its owner's mutex, but for has_synced. Zeroed: nothing known. */
typedef struct kl__sync_tracker {
    bool is_complete;
    size_t outstanding; /* initial objects that are not done with */
    atomic_bool has_synced;
} kl__sync_tracker;

/* One initial object more is to be handled; before the list is complete. */
void kl__sync_tracker_start(kl__sync_tracker *tracker);

/* One of them was handled, or was dropped unseen. More than were started is a
 * broken invariant. */
void kl__sync_tracker_finish(kl__sync_tracker *tracker);

/* All of the initial list was started. */
void kl__sync_tracker_complete(kl__sync_tracker *tracker);

/* Once true, it stays so. Any thread, without the mutex. */
bool kl__sync_tracker_has_synced(const kl__sync_tracker *tracker);

#endif
