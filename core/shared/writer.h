/*
 * writer.h - the owner's side of a shared map: its entries, the changes for the
 * next publish, and the owner's fields in the head. Only one process at a time
 * may have taken a map; owner.c has the lock for that.
 */
#ifndef KL_SHARED_WRITER_H
#define KL_SHARED_WRITER_H

#include "shared/change.h"
#include "shared/map.h"

/*
 * Makes this process the owner: counts a takeover, raises all versions (the
 * former owner may have died between storing a generation and its versions),
 * and reads the published entries, which stay until they are put again, removed
 * or their table is completed. KL_ENOMEM: the map has no owner.
 */
kl_code kl__shared_take(kl_shared *map, kl_error *err);

/* kl_shared_put_endpoints for several names with the same endpoints. */
kl_code kl__shared_put_ranking(kl_shared *map, const kl_shared_key *key,
                               const kl__ranking *ranking, kl_error *err);

/* Removes the entry of this name, which cannot be one for that reason: it is
 * listed in the report of what is left out (budget.h) until it is put or
 * removed. KL_ENOMEM, KL_ECLOSED. */
kl_code kl__shared_refuse(kl_shared *map, const kl_shared_key *key,
                          const char *why, kl_error *err);

/* Ends the ownership: puts that were not published are dropped, and calls that
 * write fail with KL_ECLOSED until the map is taken again. */
void kl__shared_drop(kl_shared *map);

/* Counts all entries of a table as left by a former owner: kl_shared_complete
 * removes those that are not put again. KL_ENOMEM, KL_ECLOSED. */
kl_code kl__shared_renew(kl_shared *map, const char *table, kl_error *err);

/* Stores when the owner last heard from the server, on the monotonic clock. */
void kl__shared_heard(kl_shared *map, int64_t at_ms);
/* Stores the number of endpoints that are kept (keeping.h). */
void kl__shared_tell_kept(kl_shared *map, size_t count);
/* Notes in the map that the first complete list is published. */
void kl__shared_set_synced(kl_shared *map);

/* Marks this process as a worker: a later kl_shared_open in it begins no new
 * epoch. */
void kl__shared_begin_serving(kl_shared *map);

/* False once the map was opened again before a later fork: then this process
 * must not become its owner. */
bool kl__shared_is_current(const kl_shared *map);

#endif
