/*
 * live_world.h - an informer at work, for specs that take something away from
 * it: ConfigMaps "a" to "z" of a simulated cluster, a handler with a thread of
 * its own and a subscriber, both of them witnesses.
 */
#ifndef KL_SPEC_LIVE_WORLD_H
#define KL_SPEC_LIVE_WORLD_H

#include "base/thread.h"
#include "kubelua/sim.h"
#include "witness.h"

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

    /* Guards the three below; rank LOG - 5, nothing within. */
    kl__mutex mutex;
    bool told;      /* the handler was told of an error */
    size_t resyncs; /* updates that it was resynced with */
    witness heard;  /* what the handler was told */
    witness pulled; /* what the subscriber was */
} live_world;

/* Opens and waits until both have synced; the cluster holds "a" and "b". */
void live_world_open(live_world *self, live_world_way way);

/* A client of its cluster; whether there is one. */
kl_client *live_world_connect(live_world *self, live_world_way way,
                              kl_error *err);

/* Creates or changes an object, on the server; and deletes it. */
void live_world_touch(live_world *self, char name);
void live_world_delete(live_world *self, char name);

/* Pulls what waits for the subscriber. */
void live_world_pull(live_world *self);

/* Changes "a", and asserts within a time that the change reaches the cache and
 * both witnesses, and that all of them hold what the server does. `world` is a
 * live_world. */
void live_world_assert_whole(void *world);

/* The same, and that the handler is resynced. */
void live_world_assert_resynced(live_world *self);

/* Closes all of it, and asserts that nothing lives. */
void live_world_close(live_world *self);

#endif
