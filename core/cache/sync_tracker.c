/*
 * sync_tracker.c - see sync_tracker.h.
 */
#include "cache/sync_tracker.h"

#include <stdlib.h>

/* Release: a thread that reads true also sees what the handler has written. */
static void update_synced(kl__sync_tracker *tracker)
{
    if (tracker->is_complete && tracker->outstanding == 0) {
        atomic_store_explicit(&tracker->has_synced, true, memory_order_release);
    }
}

void kl__sync_tracker_start(kl__sync_tracker *tracker)
{
    if (tracker->is_complete) {
        abort();
    }
    tracker->outstanding++;
}

void kl__sync_tracker_finish(kl__sync_tracker *tracker)
{
    if (tracker->outstanding == 0) {
        abort();
    }
    tracker->outstanding--;
    update_synced(tracker);
}

void kl__sync_tracker_complete(kl__sync_tracker *tracker)
{
    tracker->is_complete = true;
    update_synced(tracker);
}

bool kl__sync_tracker_has_synced(const kl__sync_tracker *tracker)
{
    return atomic_load_explicit(&tracker->has_synced, memory_order_acquire);
}
