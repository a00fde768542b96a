/*
 * thread.h - mutexes with ranks, condition variables, and threads that receive
 * none of the host's signals. Debug builds abort when a thread locks a mutex
 * whose rank is not above the ranks it already holds.
 */
#ifndef KL_BASE_THREAD_H
#define KL_BASE_THREAD_H

#include "base/for_sim.h"
#include "kubelua/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* A thread locks mutexes in rising order of rank only, and never two of one
 * rank. */
typedef enum kl__rank {
    KL__RANK_REPORT = 5, /* what a process shows of itself */
    KL__RANK_LIFECYCLE = 10,
    KL__RANK_FLIGHT = 12, /* the wait of requests for credentials */
    KL__RANK_CHANGE = 13, /* the change of an informer's shard */
    KL__RANK_CANCEL = 15, /* wakes waiters, whose mutexes rank higher */
    /* 16 to 19: a kl__cancel_either ranks above its source tokens. */
    KL__RANK_DISTRIBUTE = 20,
    KL__RANK_HEALTH = 25, /* an informer's error and sync state */
    KL__RANK_FIFO = 30,
    KL__RANK_INDEXER = 40,
    KL__RANK_LISTENERS = 50,
    KL__RANK_REFLECTOR = 55, /* a reflector's status */
    KL__RANK_LISTENER = 60,
    KL__RANK_SHARED = 61,    /* a shared map as last published */
    KL__RANK_CHANGES = 62,   /* changes that the next publish contains */
    KL__RANK_WORKQUEUE = 63, /* a controller's keys */
    KL__RANK_REQUESTS = 64,  /* a client's requests and their answers */
    KL__RANK_QUEUE = 65,     /* event queue: what is ready */
    KL__RANK_CLIENT = 66,    /* credentials and discovery caches */
    KL__RANK_CARRIER = 67,   /* the threads that clients share */
    KL__RANK_SIM = 68,
    KL__RANK_TRANSPORT = 70,
    KL__RANK_TRUST = 72, /* the CAs of the system */
    KL__RANK_STREAM = 75,
    KL__RANK_NEWS = 77,         /* requests or answers to look at */
    KL__RANK_CREW = 78,         /* which tasks run, and on which threads */
    KL__RANK_REQUEST_LOOP = 79, /* which requesters have a turn */
    KL__RANK_SCHEMA = 85,       /* the simulator's types of built-in kinds */
    KL__RANK_METRICS = 87,      /* which metrics and series there are */
    KL__RANK_WATCHDOG = 88,     /* a watchdog's state */
    KL__RANK_OBJECT = 89, /* an object's open text and tree: an object may be
                             opened or freed under any lock but LOG */
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
#ifndef __GLIBC__
    pthread_mutex_t gate; /* the next to get the lock waits in it */
#endif
    kl__rank rank;
} kl__rwlock;

typedef struct kl__cond {
    pthread_cond_t native; /* on CLOCK_MONOTONIC */
} kl__cond;

KL__FOR_SIM void kl__mutex_init(kl__mutex *mutex, kl__rank rank);
KL__FOR_SIM void kl__mutex_deinit(kl__mutex *mutex);
KL__FOR_SIM void kl__mutex_lock(kl__mutex *mutex);
KL__FOR_SIM void kl__mutex_unlock(kl__mutex *mutex);
/* Locks the mutex if that needs no wait; false: it is locked. */
bool kl__mutex_try_lock(kl__mutex *mutex);

void kl__rwlock_init(kl__rwlock *lock, kl__rank rank);
void kl__rwlock_deinit(kl__rwlock *lock);
void kl__rwlock_read(kl__rwlock *lock);
void kl__rwlock_write(kl__rwlock *lock);
void kl__rwlock_unlock(kl__rwlock *lock);

KL__FOR_SIM void kl__cond_init(kl__cond *cond);
KL__FOR_SIM void kl__cond_deinit(kl__cond *cond);
void kl__cond_signal(kl__cond *cond);
KL__FOR_SIM void kl__cond_broadcast(kl__cond *cond);
/* Waits for a signal of the condition; true then. False: the monotonic clock
 * has reached `deadline_ms` (< 0: no deadline). May wake for nothing: wait in a
 * loop. */
KL__FOR_SIM bool kl__cond_wait(kl__cond *cond, kl__mutex *mutex,
                               int64_t deadline_ms);

typedef struct kl__thread {
    pthread_t native;
} kl__thread;

/* Starts a thread that runs `entry(arg)`. All signals are blocked in it but
 * SIGILL, SIGFPE, SIGSEGV and SIGBUS, so that the host's signal handlers never
 * run on it. `name`: at most 15 bytes. KL_EIO; KL_ENOMEM. */
KL__FOR_SIM kl_code kl__thread_start(kl__thread *thread, const char *name,
                                     void *(*entry)(void *), void *arg,
                                     kl_error *err);
KL__FOR_SIM void kl__thread_join(kl__thread *thread);
/* Detaches the thread, for the case that the caller is that thread and cannot
 * join itself. */
void kl__thread_detach(kl__thread *thread);
bool kl__thread_is_self(const kl__thread *thread);

/* What the calling thread is used for. Kept in thread-local storage. */
typedef enum kl__role {
    KL__ROLE_ANY,      /* the default: threads of the host, and all others */
    KL__ROLE_CALLBACK, /* runs a callback of the user: a handler, or an index
                          function */
    KL__ROLE_TRANSPORT /* moves the bytes of all streams of a client; must not
                          run a function of the user */
} kl__role;

void kl__thread_set_role(kl__role role);
kl__role kl__thread_role(void);

/*
 * True if the caller is a callback of the user. Inside a callback nothing waits
 * for another callback, or for a thread that runs callbacks: two of them that
 * end each other would wait for ever. What has to be waited for is left to the
 * last thread that has it.
 */
static inline bool kl__in_callback(void)
{
    return kl__thread_role() == KL__ROLE_CALLBACK;
}

/* The number of fork() calls between the first process and this one. A handle
 * keeps the number of the process that made it; another number means that this
 * is a child of fork(). */
typedef unsigned kl__forks;

KL__FOR_SIM kl__forks kl__process_here(void);
/* KL_EFORKED with a message if the handle was made before a fork() and this is
 * the child: the handle's threads do not exist here, and its locks may be held
 * for ever. Else KL_OK. Every public function that locks a mutex of a handle
 * calls this first. */
KL__FOR_SIM kl_code kl__check_process(kl__forks made_in, kl_error *err);
/* For static mutexes, which belong to no handle: fork() locks them first, so
 * that a child finds them free and the data they guard consistent. Call before
 * main(); `mutexes` must live for ever. */
void kl__mutex_outlive_fork(kl__mutex *mutexes, size_t count);

#endif
