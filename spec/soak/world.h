/*
 * world.h - the world of a soak: a simulated cluster that changes all the time,
 * one informer that must miss no change, and the witness that checks that. The
 * informer uses a port, or calls the simulator in-process.
 */
#ifndef KL_SOAK_WORLD_H
#define KL_SOAK_WORLD_H

#include <kubelua/kubelua.h>
#include <kubelua/sim.h>

enum { KEYS = 400, UID_SIZE = 40 };

typedef struct soak_world {
    kl_sim *sim;
    kl_config *config; /* NULL: in-process */
    kl_client *client;
    kl_informer *informer;
    kl_event_queue *queue;
    kl_registration *registration;
    uint64_t random;

    /* What exists on the server, and what the witness knows. */
    bool exists[KEYS];
    bool known[KEYS];
    char uids[KEYS][UID_SIZE];

    long changes; /* changes of the cluster so far */
    long seen;    /* changes that the witness has seen as events */
    /* number of the current lap: it ends when the witness has caught up */
    long lap;
    long lap_seen;
    long lists;      /* the informer's number of lists when the lap began */
    long calm;       /* laps without a list: each change had to be an event */
    long leak;       /* keep one object in so many events for ever; 0: none */
    char fault[256]; /* what went wrong; "" if nothing */
} soak_world;

/* A number from 0 up to `sides`, the same for the same seed. */
unsigned world_draw(soak_world *self, unsigned sides);

/* Says what went wrong, the first time; returns false. */
bool world_fail(soak_world *self, const char *format, ...) KL_PRINTF(2, 3);

/* Starts the world, and waits for the first list. False: see `fault`. */
bool world_begin(soak_world *self, bool in_process);
/* Another client of the same cluster; NULL: see `fault`. */
kl_client *world_connect(soak_world *self);
/* Makes `count` changes; the witness takes some events in between. */
bool world_change(soak_world *self, long count);
/* Creates all objects that do not exist, so that the cluster is as large as
 * before. */
bool world_fill(soak_world *self);
/* Waits until the witness has seen every change, and compares its objects with
 * the server's. */
bool world_settle(soak_world *self);
/* Compares cache and server, object by object. */
bool world_compare(soak_world *self);
void world_end(soak_world *self);

#endif
