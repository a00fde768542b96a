/*
 * keys.h - the keys of a workqueue: a table of them, and for each where it is.
 * What kl_queue_* promise of one key is decided here; workqueue.c adds the lock
 * and wakes.
 */
#ifndef KL_QUEUE_KEYS_H
#define KL_QUEUE_KEYS_H

#include "base/map.h"
#include "queue/delays.h"
#include "queue/lanes.h"
#include "queue/timing.h"

/* A key that is in the queue: in a lane, in progress, or else delayed. It is in
 * the heap too while a better moment than that of its lane is to come. */
typedef struct kl__key {
    kl__lane_place place;
    kl__delay delay;
    kl__timing timing;
    kl_lane run_lane; /* in which it had waited, while it is in progress */
    bool is_running;
    char name[];
} kl__key;

typedef enum kl__keys_phase {
    KL__KEYS_OPEN,
    KL__KEYS_DRAINING, /* no timers; what waits is handed out */
    KL__KEYS_SHUT      /* nothing waits */
} kl__keys_phase;

/* Zeroed but for its lanes: kl__keys_init. One thread at a time. */
typedef struct kl__keys {
    kl__map by_name;
    kl__lanes lanes;
    kl__delays delays; /* has room for all keys: only a new one needs memory */
    size_t running;
    size_t failing;
    kl__keys_phase phase;
} kl__keys;

void kl__keys_init(kl__keys *keys);
void kl__keys_deinit(kl__keys *keys);

/* The key of this name, which is made if it is not there: it has to want
 * something next. NULL: out of memory, nothing has changed. */
kl__key *kl__keys_at(kl__keys *keys, const char *name);

/* The key of this name, or NULL. */
kl__key *kl__keys_find(const kl__keys *keys, const char *name);

/* Moves what has become due to its lane, each as of the moment when it did: so
 * the lanes are in the order of those moments, however late it is. */
void kl__keys_move_due(kl__keys *keys, int64_t now_ms);

/* An event of the key; and its timer. A key that wants nothing is dropped. */
void kl__keys_add(kl__keys *keys, kl__key *key, const kl__timing_event *event,
                  int64_t now_ms);
void kl__keys_set_timer(kl__keys *keys, kl__key *key, int64_t due_ms,
                        int64_t now_ms);

/* The next key is in progress from now on: true; false: none waits. */
bool kl__keys_begin_run(kl__keys *keys, int64_t now_ms, kl_queue_item *item);

/* Ends the run of a key that is in progress; `end->lane` is filled in. In how
 * many ms it waits again; -1: not by itself. */
int64_t kl__keys_end_run(kl__keys *keys, kl__key *key, kl__timing_end *end,
                         uint64_t *random);

/* The key's next failure is a first one. */
void kl__keys_forget(kl__keys *keys, kl__key *key);

/* From now on: as the phase says. A later phase stays. */
void kl__keys_enter(kl__keys *keys, kl__keys_phase phase, int64_t now_ms);

/* How many wait, and when the next one does by itself, or KL__NEVER. */
size_t kl__keys_waiting(const kl__keys *keys);
int64_t kl__keys_due(const kl__keys *keys);

/* Nothing waits or is in progress, and nothing will be. */
bool kl__keys_are_finished(const kl__keys *keys);

#endif
