/*
 * owner_feed.h - what an owner hears of the cluster: informers of Services and
 * EndpointSlices, their events, and the routes that come of them.
 */
#ifndef KL_SHARED_OWNER_FEED_H
#define KL_SHARED_OWNER_FEED_H

#include "kubelua/client.h"
#include "kubelua/event_queue.h"
#include "kubelua/shared.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* It belongs to the owner's thread. */
typedef struct kl__feed kl__feed;

/*
 * Watches the Services and slices of these namespaces ("*": all of them); none:
 * it hears nothing and has synced. Events come in through `queue`, which lives
 * longer and has no other user. The caller owns it. NULL: KL_ENOMEM, KL_EIO,
 * KL_EINVAL (what cannot be a namespace), KL_ECLOSED.
 */
kl__feed *kl__feed_open(kl_client *client, char *const *namespaces,
                        size_t count, kl_event_queue *queue, kl_error *err);
/* Takes at most 50 ms. NULL is fine. */
void kl__feed_close(kl__feed *feed);

/* Takes in events that wait, until there are none or 100 ms have passed: a
 * Service is not published while half of what is known about it is on its way.
 * KL_ENOMEM: it misses something from now on, and is to be closed. */
kl_code kl__feed_read(kl__feed *feed, kl_error *err);

/* True once each first list was read completely; it stays true. */
bool kl__feed_has_synced(const kl__feed *feed);

/* True if the client was closed: nothing will be heard any more. */
bool kl__feed_has_ended(const kl__feed *feed);

/* Milliseconds since the last word for the watch that waits longest; -1: one of
 * them never had any. */
int64_t kl__feed_age_ms(const kl__feed *feed);

/* True if a put would put something. */
bool kl__feed_changed(const kl__feed *feed);

/*
 * Puts what changed since the last time into the table "services" of the map,
 * of which this process is the owner; nothing is published. KL_ENOMEM: what is
 * missing comes the next time.
 */
kl_code kl__feed_put(kl__feed *feed, kl_shared *map, bool clear_empty,
                     kl_error *err);

/* The table that it puts into. */
#define KL__SERVICES_TABLE "services"

#endif
