/*
 * thread.c - see thread.h.
 */
#include "base/thread.h"

#include "base/mem.h"
#include "base/remedy.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef NDEBUG
/* The ranks of the mutexes that this thread holds, lowest first. */
static _Thread_local kl__rank held[16];
static _Thread_local int held_count;

static void note_lock(kl__rank rank)
{
    if (held_count > 0 && held[held_count - 1] >= rank) {
        abort(); /* the lock order is violated: a bug */
    }
    if (held_count == (int)(sizeof(held) / sizeof(held[0]))) {
        abort();
    }
    held[held_count++] = rank;
}

static void note_unlock(kl__rank rank)
{
    int i = held_count - 1;

    while (i >= 0 && held[i] != rank) {
        i--;
    }
    if (i < 0) {
        abort();
    }
    memmove(&held[i], &held[i + 1],
            (size_t)(held_count - i - 1) * sizeof(held[0]));
    held_count--;
}
#else
static void note_lock(kl__rank rank)
{
    (void)rank;
}

static void note_unlock(kl__rank rank)
{
    (void)rank;
}
#endif

/* Checks the result of a pthread call that cannot fail on valid arguments. */
static void must(int status)
{
    if (status != 0) {
        abort();
    }
}

void kl__mutex_init(kl__mutex *mutex, kl__rank rank)
{
    mutex->rank = rank;
    must(pthread_mutex_init(&mutex->native, NULL));
}

void kl__mutex_deinit(kl__mutex *mutex)
{
    must(pthread_mutex_destroy(&mutex->native));
}

void kl__mutex_lock(kl__mutex *mutex)
{
    note_lock(mutex->rank);
    must(pthread_mutex_lock(&mutex->native));
}

bool kl__mutex_try_lock(kl__mutex *mutex)
{
    int status = pthread_mutex_trylock(&mutex->native);

    if (status == EBUSY) {
        return false;
    }
    must(status);
    note_lock(mutex->rank);
    return true;
}

void kl__mutex_unlock(kl__mutex *mutex)
{
    note_unlock(mutex->rank);
    must(pthread_mutex_unlock(&mutex->native));
}

#ifdef __GLIBC__

/* By default, in glibc, new readers go first and a writer may wait for ever. */
static void init_native(kl__rwlock *lock)
{
    pthread_rwlockattr_t attributes;

    must(pthread_rwlockattr_init(&attributes));
    must(pthread_rwlockattr_setkind_np(
        &attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    must(pthread_rwlock_init(&lock->native, &attributes));
    must(pthread_rwlockattr_destroy(&attributes));
}

static void pass_gate(kl__rwlock *lock, int (*acquire)(pthread_rwlock_t *))
{
    must(acquire(&lock->native));
}

#else

static void init_native(kl__rwlock *lock)
{
    must(pthread_rwlock_init(&lock->native, NULL));
    must(pthread_mutex_init(&lock->gate, NULL));
}

/* New readers go first here too, and it cannot be changed (musl). So a writer
 * waits inside the gate, and new readers wait for it there. */
static void pass_gate(kl__rwlock *lock, int (*acquire)(pthread_rwlock_t *))
{
    must(pthread_mutex_lock(&lock->gate));
    must(acquire(&lock->native));
    must(pthread_mutex_unlock(&lock->gate));
}

#endif

void kl__rwlock_init(kl__rwlock *lock, kl__rank rank)
{
    lock->rank = rank;
    init_native(lock);
}

void kl__rwlock_deinit(kl__rwlock *lock)
{
    must(pthread_rwlock_destroy(&lock->native));
#ifndef __GLIBC__
    must(pthread_mutex_destroy(&lock->gate));
#endif
}

void kl__rwlock_read(kl__rwlock *lock)
{
    note_lock(lock->rank);
    pass_gate(lock, pthread_rwlock_rdlock);
}

void kl__rwlock_write(kl__rwlock *lock)
{
    note_lock(lock->rank);
    pass_gate(lock, pthread_rwlock_wrlock);
}

void kl__rwlock_unlock(kl__rwlock *lock)
{
    note_unlock(lock->rank);
    must(pthread_rwlock_unlock(&lock->native));
}

void kl__cond_init(kl__cond *cond)
{
    pthread_condattr_t attributes;

    must(pthread_condattr_init(&attributes));
    must(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    must(pthread_cond_init(&cond->native, &attributes));
    must(pthread_condattr_destroy(&attributes));
}

void kl__cond_deinit(kl__cond *cond)
{
    must(pthread_cond_destroy(&cond->native));
}

void kl__cond_signal(kl__cond *cond)
{
    must(pthread_cond_signal(&cond->native));
}

void kl__cond_broadcast(kl__cond *cond)
{
    must(pthread_cond_broadcast(&cond->native));
}

bool kl__cond_wait(kl__cond *cond, kl__mutex *mutex, int64_t deadline_ms)
{
    struct timespec until;
    int status;

    if (deadline_ms < 0) {
        must(pthread_cond_wait(&cond->native, &mutex->native));
        return true;
    }
    until.tv_sec = (time_t)(deadline_ms / 1000);
    until.tv_nsec = (long)(deadline_ms % 1000) * 1000000L;
    status = pthread_cond_timedwait(&cond->native, &mutex->native, &until);
    if (status != 0 && status != ETIMEDOUT) {
        abort();
    }
    return status == 0;
}

typedef struct start_arg {
    void *(*entry)(void *);
    void *arg;
    char name[16];
} start_arg;

static void *run_thread(void *arg)
{
    start_arg start = *(start_arg *)arg;
    void *result;

    kl__free(arg);
    pthread_setname_np(pthread_self(), start.name);
    result = start.entry(start.arg);
    kl__live_add(KL_LIVE_THREAD, -1);
    return result;
}

kl_code kl__thread_start(kl__thread *thread, const char *name,
                         void *(*entry)(void *), void *arg, kl_error *err)
{
    start_arg *start = kl__calloc(1, sizeof(*start));
    sigset_t blocked, before;
    int status;

    if (start == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a thread");
    }
    start->entry = entry;
    start->arg = arg;
    strncpy(start->name, name, sizeof(start->name) - 1);
    sigfillset(&blocked);
    sigdelset(&blocked, SIGILL);
    sigdelset(&blocked, SIGFPE);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    must(pthread_sigmask(SIG_SETMASK, &blocked, &before));
    kl__live_add(KL_LIVE_THREAD, 1);
    status = pthread_create(&thread->native, NULL, run_thread, start);
    must(pthread_sigmask(SIG_SETMASK, &before, NULL));
    if (status != 0) {
        kl__live_add(KL_LIVE_THREAD, -1);
        kl__free(start);
        return kl_error_set(err, KL_EIO, "cannot start thread %s: %s%s", name,
                            strerror(status), kl__process_remedy(status));
    }
    return KL_OK;
}

void kl__thread_join(kl__thread *thread)
{
    must(pthread_join(thread->native, NULL));
}

void kl__thread_detach(kl__thread *thread)
{
    must(pthread_detach(thread->native));
}

bool kl__thread_is_self(const kl__thread *thread)
{
    return pthread_equal(thread->native, pthread_self()) != 0;
}

static _Thread_local kl__role own_role;

void kl__thread_set_role(kl__role role)
{
    own_role = role;
}

kl__role kl__thread_role(void)
{
    return own_role;
}

/* Written only in a new child, which has one thread: relaxed is enough. */
static atomic_uint forks;

kl__forks kl__process_here(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

kl_code kl__check_process(kl__forks made_in, kl_error *err)
{
    if (made_in == kl__process_here()) {
        return KL_OK;
    }
    return kl_error_set(err, KL_EFORKED,
                        "it was opened before fork(), and its threads do not "
                        "exist in the child: connect again after the fork");
}

enum { MOST_STATIC = 12 };

/* Static mutexes that stay usable over fork(). Filled before main() and never
 * changed after that. */
static struct {
    kl__mutex *mutexes;
    size_t count;
} outliving[MOST_STATIC];
static size_t outliving_count;

/* Before fork(). The order does not matter: no code locks two of these at
 * once. */
static void lock_static_mutexes(void)
{
    for (size_t i = 0; i < outliving_count; i++) {
        for (size_t j = 0; j < outliving[i].count; j++) {
            must(pthread_mutex_lock(&outliving[i].mutexes[j].native));
        }
    }
}

static void unlock_static_mutexes(void)
{
    for (size_t i = outliving_count; i-- > 0;) {
        for (size_t j = outliving[i].count; j-- > 0;) {
            must(pthread_mutex_unlock(&outliving[i].mutexes[j].native));
        }
    }
}

static void count_fork(void)
{
    unlock_static_mutexes();
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

void kl__mutex_outlive_fork(kl__mutex *mutexes, size_t count)
{
    if (outliving_count == 0) {
        must(pthread_atfork(lock_static_mutexes, unlock_static_mutexes,
                            count_fork));
    }
    if (outliving_count == MOST_STATIC) {
        abort();
    }
    outliving[outliving_count].mutexes = mutexes;
    outliving[outliving_count].count = count;
    outliving_count++;
}
