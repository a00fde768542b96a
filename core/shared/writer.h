/*
 * writer.h - the owner's side of a shared map: what it holds, what waits for
 * the next publish, and what owner.c tells of itself in the head.
 *
 * Only one process at a time may have taken a map; the lock that sees to it is
 * in owner.c.
 */
#ifndef KL_SHARED_WRITER_H
#define KL_SHARED_WRITER_H

#include "kubelua/shared_write.h"
#include "shared/map.h"

/*
 * This process owns the map from now on: counts a takeover, moves all versions
 * on (the owner before may have died between a generation and its versions),
 * and reads what is published, which stays until it is put again, removed or
 * its table completed. KL_ENOMEM; then the map has no owner.
 */
kl_code kl__shared_take(kl_shared *map, kl_error *err);

/* The owner ends: what was put and not published is dropped, and calls that
 * write fail with KL_ECLOSED until the map is taken again. */
void kl__shared_drop(kl_shared *map);

/* The server was heard of at that time of the monotonic clock; the first
 * complete list is published. */
void kl__shared_heard(kl_shared *map, int64_t at_ms);
void kl__shared_set_synced(kl_shared *map);

/* This process is a worker: a later kl_shared_open begins no new epoch. */
void kl__shared_begin_serving(kl_shared *map);

/* False once the map was opened again before a later fork: this process must
 * not become its owner. */
bool kl__shared_is_current(const kl_shared *map);

/* For kl_shared_close. */
void kl__shared_writer_free(kl_shared *map);

#endif
