/*
 * world.h - what a soak goes through: a simulated cluster that changes all the
 * time, one informer that must miss nothing of it, and the witness that checks
 * that. Over a port, or straight into the simulator.
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

    /* The truth, and what the witness believes. */
    bool exists[KEYS];
    bool known[KEYS];
    char uids[KEYS][UID_SIZE];

    long changes; /* of the cluster so far */
    long seen;    /* of those, events that the witness was shown */
    long lap;     /* counts the waits for the witness */
    long lap_seen;
    long lists;      /* status of the informer when the lap began */
    long calm;       /* laps in which each change had to be shown */
    long leak;       /* keep one object in so many events for ever; 0: none */
    char fault[256]; /* what went wrong; "" if nothing */
} soak_world;

/* A number from 0 up to `sides`, the same for the same seed. */
unsigned world_draw(soak_world *self, unsigned sides);

/* Says what went wrong, the first time; returns false. */
bool world_fail(soak_world *self, const char *format, ...) KL_PRINTF(2, 3);

/* Begins, and waits for the first list. False: see `fault`. */
bool world_begin(soak_world *self, bool in_process);
/* Another client of the same cluster; NULL: see `fault`. */
kl_client *world_connect(soak_world *self);
/* Makes `count` changes, and lets the witness look at some events in between.
 */
bool world_change(soak_world *self, long count);
/* Creates what does not exist: how a cluster is as large as it was before. */
bool world_fill(soak_world *self);
/* Waits until the witness has seen all that was changed, and compares. */
bool world_settle(soak_world *self);
/* Compares cache and server, object by object. */
bool world_compare(soak_world *self);
void world_end(soak_world *self);

#endif
