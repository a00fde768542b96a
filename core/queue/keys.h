/*
 * keys.h - the keys of a workqueue and the state of each key: waiting in a
 * lane, in progress, or delayed. The rules that kubelua/queue.h promises for
 * one key are here (client-go's are in docs/KUBERNETES.md#workqueue);
 * workqueue.c adds the lock and the wake-ups.
 */
#ifndef KL_QUEUE_KEYS_H
#define KL_QUEUE_KEYS_H

#include "base/map.h"
#include "queue/delays.h"
#include "queue/lanes.h"
#include "queue/timing.h"

/* A key in the queue: it waits in a lane, or is in progress, or is delayed. A
 * key in a lane is also in the heap if its timer will move it to a better
 * lane. */
typedef struct kl__queue_key {
    kl__lane_place place;
    kl__delay delay;
    kl__timing timing;
    kl_lane run_lane; /* in progress: the lane in which it waited */
    bool is_running;
    int64_t began_ms; /* in progress: since then */
    kl__list in_runs; /* in progress: its place in `runs` */
    char name[];
} kl__queue_key;

typedef enum kl__keys_phase {
    KL__KEYS_OPEN,
    KL__KEYS_DRAINING, /* timers are dropped; waiting keys are handed out */
    KL__KEYS_SHUT      /* no key waits */
} kl__keys_phase;

/* Initialised by kl__keys_init. One thread at a time. */
typedef struct kl__keys {
    kl__map by_name;
    kl__lanes lanes;
    kl__delays delays; /* has room for all keys: only a new key allocates */
    size_t running;
    kl__list runs;        /* keys in progress, the first one first */
    int64_t began_sum_ms; /* the sum of began_ms of the keys in progress */
    size_t failing;
    kl__keys_phase phase;
} kl__keys;

void kl__keys_init(kl__keys *keys);
void kl__keys_deinit(kl__keys *keys);

/* Finds the key with this name, or makes it. The caller then adds an event or
 * sets a timer: a key with neither is dropped. NULL: out of memory, and nothing
 * has changed. */
kl__queue_key *kl__keys_at(kl__keys *keys, const char *name);

/* Finds the key with this name, or NULL. */
kl__queue_key *kl__keys_find(const kl__keys *keys, const char *name);

/* Puts each key whose time has come into its lane. Its waiting time begins when
 * it became due, so the order in a lane does not depend on when this is
 * called. */
void kl__keys_move_due(kl__keys *keys, int64_t now_ms);

/* Adds an event of the key; sets its timer. Both drop a key that then has
 * neither an event nor a timer. */
void kl__keys_add(kl__keys *keys, kl__queue_key *key,
                  const kl__timing_event *event, int64_t now_ms);
void kl__keys_set_timer(kl__keys *keys, kl__queue_key *key, int64_t due_ms,
                        int64_t now_ms);

/* Takes the next key out of its lane, marks it as in progress and fills `item`.
 * False: no key waits. */
bool kl__keys_begin_run(kl__keys *keys, int64_t now_ms, kl_queue_item *item);

/* Ends the run of a key that is in progress; fills in `end->lane`. Returns the
 * time in ms until the key is in a lane again, where it waits for its next run;
 * -1: no run is planned. */
int64_t kl__keys_end_run(kl__keys *keys, kl__queue_key *key,
                         kl__timing_end *end, uint64_t *random);

/* Resets the key's backoff: its next failure counts as the first. */
void kl__keys_forget(kl__keys *keys, kl__queue_key *key);

/* Enters the phase, unless the queue is in a later one. */
void kl__keys_enter(kl__keys *keys, kl__keys_phase phase, int64_t now_ms);

/* How many keys wait; when the next delayed key becomes due, or KL__NEVER. */
size_t kl__keys_waiting(const kl__keys *keys);
int64_t kl__keys_due(const kl__keys *keys);

/* How long the first of the keys in progress has been so; 0: none is. */
int64_t kl__keys_longest_ms(const kl__keys *keys, int64_t now_ms);

/* True if no key waits or is in progress, and none can be added. */
bool kl__keys_are_finished(const kl__keys *keys);

#endif
