/*
 * live_world.h - a running informer, for specs that take memory or other
 * resources from it: ConfigMaps "a" to "z" of a simulated cluster, a handler
 * with a thread and a subscriber, each with a witness.
 */
#ifndef KL_SPEC_LIVE_WORLD_H
#define KL_SPEC_LIVE_WORLD_H

#include "base/thread.h"
#include "kubelua/sim.h"
#include "event_record.h"

#define LIVE_WORLD_TARGET "/api/v1/namespaces/default/configmaps"

/* How the informer reaches its cluster. */
typedef enum live_world_way {
    LIVE_WORLD_INSIDE,
    LIVE_WORLD_HTTP,
    LIVE_WORLD_TLS
} live_world_way;

typedef struct live_world {
    kl_sim *sim;
    kl_client *client;
    kl_informer *informer;
    kl_registration *handler;
    kl_registration *subscription;
    kl_event_queue *queue;
    unsigned touches;

    /* Guards the three below; rank LOG - 5, no lock is taken under it. */
    kl__mutex mutex;
    bool told;      /* the handler got an error */
    size_t resyncs; /* how many updates were resyncs */
    witness heard;  /* the handler's events */
    witness pulled; /* the subscriber's events */
} live_world;

/* Opens the world and waits until handler and subscriber have synced; the
 * cluster holds "a" and "b". */
void live_world_open(live_world *self, live_world_way way);

/* A client of the world's cluster; NULL: see `err`. */
kl_client *live_world_connect(live_world *self, live_world_way way,
                              kl_error *err);

/* Creates or changes an object on the server; the second function deletes
 * it. */
void live_world_touch(live_world *self, char name);
void live_world_delete(live_world *self, char name);

/* Takes the subscriber's waiting events. */
void live_world_pull(live_world *self);

/* Changes "a", and asserts that within a time limit the change reaches the
 * cache and both witnesses, and that they hold the same objects as the server.
 * `world` is a live_world. */
void live_world_assert_whole(void *world);

/* live_world_assert_whole, and asserts that the handler gets a resync. */
void live_world_assert_resynced(live_world *self);

/* Closes everything, and asserts that nothing is left. */
void live_world_close(live_world *self);

#endif
