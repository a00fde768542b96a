/*
 * owner_feed.h - the owner's view of the cluster: informers of Services and
 * EndpointSlices, and the routes that are made of their events.
 */
#ifndef KL_SHARED_OWNER_FEED_H
#define KL_SHARED_OWNER_FEED_H

#include "kubelua/client.h"
#include "kubelua/event_queue.h"
#include "kubelua/shared.h"
#include "shared/keeping.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a feed watches; borrowed. */
typedef struct kl__feed_scope {
    char *const *namespaces;
    size_t count;
    const char *labels; /* of Services; NULL: all */
    kl__route_policy policy;
    int keep_ms; /* how long the endpoints of an empty Service stay; 0: not */
} kl__feed_scope;

/* Only the owner's thread uses it. */
typedef struct kl__feed kl__feed;

/*
 * Watches the Services and slices of these namespaces ("*": all). Without any,
 * it watches nothing and has synced. Events come through `queue`, which lives
 * longer and has no other user. The caller owns it. NULL: KL_ENOMEM, KL_EIO,
 * KL_EINVAL (a wrong namespace), KL_ECLOSED.
 */
kl__feed *kl__feed_open(kl_client *client, const kl__feed_scope *scope,
                        kl_event_queue *queue, kl_error *err);
/* Closes its informers, in at most 50 ms. NULL is fine. */
void kl__feed_close(kl__feed *feed);

/* Handles the events that wait, until there are none or 20 ms have passed. It
 * takes many at once, so that a Service is not published while half of its
 * changes still wait. KL_ENOMEM: the feed has missed a change, and has to be
 * closed. */
kl_code kl__feed_read(kl__feed *feed, kl_error *err);

/* True once the first list of each informer was read; it stays true. */
bool kl__feed_has_synced(const kl__feed *feed);

/* True if the client was closed: no event will come any more. A feed without
 * namespaces never ends. */
bool kl__feed_has_ended(const kl__feed *feed);

/* Milliseconds since the last byte of the watch that is silent longest; -1: a
 * watch never had any, or there is no watch. */
int64_t kl__feed_age_ms(const kl__feed *feed);

/* True if there are changes for kl__feed_put. */
bool kl__feed_changed(const kl__feed *feed);

/*
 * Puts the changes since the last call into the table "services" of the map,
 * which this process owns; does not publish. KL_ENOMEM: the missing changes
 * come at the next call.
 */
kl_code kl__feed_put(kl__feed *feed, kl_shared *map, kl_error *err);

/*
 * Puts or removes each changed name in the table "services". `keeping` NULL: a
 * Service that becomes empty is empty. KL_ENOMEM: this
 * Service and those after it come at the next call. A Service that is too large
 * is left out: logged, and listed in the report of the map. Large Services may
 * come at a later call: see kl__routes_flush.
 */
kl_code kl__put_routes(kl__routes *routes, kl_shared *map, kl__keeping *keeping,
                       kl_error *err);

/* When kl__feed_changed becomes true without an event, by the real clock;
 * INT64_MAX: never. */
int64_t kl__feed_next_change(const kl__feed *feed);

/* The table of Services. */
#define KL__SERVICES_TABLE "services"

/* The table of what is not usual in the specs of Services, by their keys. */
#define KL__SPECS_TABLE "specs"

#endif
