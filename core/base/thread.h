/*
 * thread.h - ranked mutexes, conditions and threads that keep out of their
 * host's way. Debug builds abort when a mutex is taken against its rank.
 */
#ifndef KL_BASE_THREAD_H
#define KL_BASE_THREAD_H

#include "base/for_sim.h"
#include "kubelua/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A thread takes mutexes in rising rank only; equal ranks never nest. */
typedef enum kl__rank {
    KL__RANK_LIFECYCLE = 10,
    KL__RANK_FLIGHT = 12, /* of requests: fires a token */
    KL__RANK_CANCEL = 15, /* wakes waiters: their mutexes rank higher */
    /* Up to 19: tokens that others fire, and those that they fire. */
    KL__RANK_DISTRIBUTE = 20,
    KL__RANK_HEALTH = 25, /* of an informer */
    KL__RANK_FIFO = 30,
    KL__RANK_INDEXER = 40,
    KL__RANK_LISTENERS = 50,
    KL__RANK_REFLECTOR = 55, /* its status */
    KL__RANK_LISTENER = 60,
    KL__RANK_SHARED = 61,    /* what the owner of a shared map published */
    KL__RANK_CHANGES = 62,   /* what waits for the next publish */
    KL__RANK_WORKQUEUE = 63, /* a controller's keys */
    KL__RANK_REQUESTS = 64,  /* a client's requests, and what came of them */
    KL__RANK_QUEUE = 65,     /* event queue: what is ready */
    KL__RANK_CLIENT = 66,    /* credentials and discovery caches */
    KL__RANK_SIM = 68,
    KL__RANK_TRANSPORT = 70,
    KL__RANK_STREAM = 75,
    KL__RANK_NEWS = 77,     /* which requests the loop is to look at */
    KL__RANK_OBJECT = 80,   /* opening a tree */
    KL__RANK_SCHEMA = 85,   /* reading the built-in kinds' types */
    KL__RANK_WATCHDOG = 88, /* what a thread does; nothing is locked below it */
    KL__RANK_LOG = 90
} kl__rank;

typedef struct kl__mutex {
    pthread_mutex_t native;
    kl__rank rank;
} kl__mutex;

/* Many readers or one writer; a waiting writer goes before new readers. Ranked
 * like a mutex, for readers too. */
typedef struct kl__rwlock {
    pthread_rwlock_t native;
    kl__rank rank;
} kl__rwlock;

typedef struct kl__cond {
    pthread_cond_t native; /* on CLOCK_MONOTONIC */
} kl__cond;

KL__FOR_SIM void kl__mutex_init(kl__mutex *mutex, kl__rank rank);
KL__FOR_SIM void kl__mutex_deinit(kl__mutex *mutex);
KL__FOR_SIM void kl__mutex_lock(kl__mutex *mutex);
KL__FOR_SIM void kl__mutex_unlock(kl__mutex *mutex);

void kl__rwlock_init(kl__rwlock *lock, kl__rank rank);
void kl__rwlock_deinit(kl__rwlock *lock);
void kl__rwlock_read(kl__rwlock *lock);
void kl__rwlock_write(kl__rwlock *lock);
void kl__rwlock_unlock(kl__rwlock *lock);

KL__FOR_SIM void kl__cond_init(kl__cond *cond);
KL__FOR_SIM void kl__cond_deinit(kl__cond *cond);
void kl__cond_signal(kl__cond *cond);
KL__FOR_SIM void kl__cond_broadcast(kl__cond *cond);
/* Waits until woken, or until the monotonic clock says `deadline_ms` (< 0: no
 * deadline): false then. May wake for nothing: wait in a loop. */
KL__FOR_SIM bool kl__cond_wait(kl__cond *cond, kl__mutex *mutex,
                               int64_t deadline_ms);

typedef struct kl__thread {
    pthread_t native;
} kl__thread;

/* Starts `entry(arg)` with all signals blocked but those of faults, so that no
 * signal of the host lands on it. `name`: at most 15 bytes. KL_EIO. */
KL__FOR_SIM kl_code kl__thread_start(kl__thread *thread, const char *name,
                                     void *(*entry)(void *), void *arg,
                                     kl_error *err);
KL__FOR_SIM void kl__thread_join(kl__thread *thread);
/* Lets it end by itself: for a thread that would have to join itself. */
void kl__thread_detach(kl__thread *thread);
bool kl__thread_is_self(const kl__thread *thread);

/* What the thread at hand does for the layers above; a word of its own. */
typedef enum kl__role {
    KL__ROLE_ANY,    /* until it is set: the host's threads, and all others */
    KL__ROLE_HANDLER /* runs a handler's callbacks: it can join no handler */
} kl__role;

void kl__thread_set_role(kl__role role);
kl__role kl__thread_role(void);

/* Tells processes of one family apart: how many calls of fork() made this one.
 * A handle keeps that of the process it was made in. */
typedef unsigned kl__forks;

KL__FOR_SIM kl__forks kl__process_here(void);
/* KL_EFORKED with a message where a handle was made before a fork(), and this
 * is the child: its threads do not exist here, and may have left its locks
 * held. KL_OK elsewhere. Public doors that take a lock ask it first. */
KL__FOR_SIM kl_code kl__check_process(kl__forks made_in, kl_error *err);
/* Mutexes that are static, and belong to no handle: a child finds them free,
 * and what they guard whole. Called before main(); `mutexes` is kept. */
void kl__mutex_outlive_fork(kl__mutex *mutexes, size_t count);

#endif
