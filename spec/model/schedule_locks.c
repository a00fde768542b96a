/*
 * schedule_locks.c - base/thread.h's mutexes, read-write locks and conditions
 * on fibers. Their state is kept in the memory of the native ones.
 */
#include "schedule.h"
#include "strand.h"

enum { ALIVE = 0x6c6f636b, DEAD = 0x64656164, NOBODY = 0, OUTSIDE = 255 };

/* Zeroed: a static mutex, initialised and unlocked. */
typedef struct __attribute__((may_alias)) latch {
    uint32_t state;
    int32_t owner; /* NOBODY, OUTSIDE of a run, or the strand's place + 1 */
    strand_set waiters;
} latch;

typedef struct __attribute__((may_alias)) shared_latch {
    uint32_t state;
    int32_t writer; /* like `owner` */
    int32_t readers;
    strand_set waiters;
    strand_set writers_waiting; /* the waiters that want to write */
} shared_latch;

typedef struct __attribute__((may_alias)) condition {
    uint32_t state;
    strand_set waiters;
} condition;

_Static_assert(sizeof(latch) <= sizeof(pthread_mutex_t), "a mutex's place");
_Static_assert(sizeof(shared_latch) <= sizeof(pthread_rwlock_t),
               "a read-write lock's place");
_Static_assert(sizeof(condition) <= sizeof(pthread_cond_t),
               "a condition's place");

/* True if the address is that of a static variable. A static mutex may be
 * initialised by zeros; a mutex in allocated memory may not. */
static bool is_static(const void *address)
{
    extern char __data_start, _end; /* symbols of the linker */

    return (const char *)address >= &__data_start &&
           (const char *)address < &_end;
}

static latch *latch_of(kl__mutex *mutex)
{
    latch *self = (latch *)&mutex->native;

    schedule_check(self->state == ALIVE ||
                       (self->state == 0 && is_static(mutex)),
                   "a mutex is used %s, its rank is %d",
                   self->state == DEAD ? "after its deinit" : "before its init",
                   (int)mutex->rank);
    return self;
}

static shared_latch *shared_of(kl__rwlock *lock)
{
    shared_latch *self = (shared_latch *)&lock->native;

    schedule_check(self->state == ALIVE,
                   "a read-write lock is used %s, its rank is %d",
                   self->state == DEAD ? "after its deinit" : "before its init",
                   (int)lock->rank);
    return self;
}

static condition *condition_of(kl__cond *cond)
{
    condition *self = (condition *)&cond->native;

    schedule_check(self->state == ALIVE, "a condition is used %s",
                   self->state == DEAD ? "after its deinit"
                                       : "before its init");
    return self;
}

static int32_t running_place(void)
{
    strand *self = strand_self();

    return self != NULL ? strand_place(self) + 1 : OUTSIDE;
}

static void note_lock(kl__rank rank)
{
    strand *self = strand_self();

    if (self == NULL) {
        return;
    }
    if (self->held_count > 0 && self->held[self->held_count - 1] >= rank) {
        schedule_fail("lock order: rank %d is taken above rank %d", (int)rank,
                      (int)self->held[self->held_count - 1]);
    }
    schedule_check(self->held_count < HELD_MAX, "too many mutexes are held");
    self->held[self->held_count++] = rank;
}

static void note_unlock(kl__rank rank)
{
    strand *self = strand_self();
    int i;

    if (self == NULL) {
        return;
    }
    i = self->held_count - 1;
    while (i >= 0 && self->held[i] != rank) {
        i--;
    }
    schedule_check(i >= 0, "rank %d is unlocked, but not held", (int)rank);
    self->held_count--;
    for (; i < self->held_count; i++) {
        self->held[i] = self->held[i + 1];
    }
}

/* Adds the strand to a set of waiters, and sleeps. The caller then looks again,
 * and removes the strand from the set once it has the lock. */
static void wait_in(strand_set *waiters, strand_wait wait, kl__rank rank,
                    int32_t owner)
{
    strand *self = strand_self();

    schedule_check(self != NULL, "a lock that is held is taken");
    *waiters |= strand_bit(self);
    self->wait = wait;
    self->wait_rank = (int)rank;
    self->wait_owner = owner != OUTSIDE ? owner - 1 : -1;
    strand_sleep(-1);
}

static void leave_set(strand_set *waiters)
{
    if (strand_self() != NULL) {
        *waiters &= ~strand_bit(strand_self());
    }
}

void kl__mutex_init(kl__mutex *mutex, kl__rank rank)
{
    mutex->rank = rank;
    *(latch *)&mutex->native = (latch){.state = ALIVE};
}

void kl__mutex_deinit(kl__mutex *mutex)
{
    latch *self = latch_of(mutex);

    schedule_check(self->owner == NOBODY && self->waiters == 0,
                   "a mutex of rank %d is destroyed while it is %s",
                   (int)mutex->rank,
                   self->owner != NOBODY ? "locked" : "waited for");
    self->state = DEAD;
}

/* Locks the mutex without noting its rank: the rank stays noted while
 * kl__cond_wait waits. */
static void acquire(kl__mutex *mutex)
{
    int32_t me = running_place();
    latch *self = latch_of(mutex);

    schedule_check(self->owner != me,
                   "a mutex of rank %d is locked twice by one thread",
                   (int)mutex->rank);
    while (self->owner != NOBODY) {
        wait_in(&self->waiters, WAIT_MUTEX, mutex->rank, self->owner);
        self = latch_of(mutex);
    }
    leave_set(&self->waiters);
    self->owner = me;
}

static void release(kl__mutex *mutex)
{
    latch *self = latch_of(mutex);

    schedule_check(
        self->owner == running_place(),
        "a mutex of rank %d is unlocked by a strand that does not hold it",
        (int)mutex->rank);
    self->owner = NOBODY;
    strand_wake(self->waiters);
}

/* True for the log's mutex. It is locked only if a log function is set, which
 * must not change the run. */
static bool is_log(const kl__mutex *mutex)
{
    return mutex->rank == KL__RANK_LOG && is_static(mutex);
}

void kl__mutex_lock(kl__mutex *mutex)
{
    note_lock(mutex->rank);
    if (!is_log(mutex)) {
        schedule_point();
    }
    acquire(mutex);
}

bool kl__mutex_try_lock(kl__mutex *mutex)
{
    schedule_point();
    if (latch_of(mutex)->owner != NOBODY) {
        return false;
    }
    note_lock(mutex->rank);
    acquire(mutex);
    return true;
}

void kl__mutex_unlock(kl__mutex *mutex)
{
    bool is_quiet = is_log(mutex);

    release(mutex);
    note_unlock(mutex->rank);
    if (!is_quiet) {
        schedule_point();
    }
}

void kl__rwlock_init(kl__rwlock *lock, kl__rank rank)
{
    lock->rank = rank;
    *(shared_latch *)&lock->native = (shared_latch){.state = ALIVE};
}

void kl__rwlock_deinit(kl__rwlock *lock)
{
    shared_latch *self = shared_of(lock);

    schedule_check(self->writer == NOBODY && self->readers == 0 &&
                       self->waiters == 0,
                   "a read-write lock of rank %d is destroyed while in use",
                   (int)lock->rank);
    self->state = DEAD;
}

void kl__rwlock_read(kl__rwlock *lock)
{
    shared_latch *self;

    note_lock(lock->rank);
    schedule_point();
    self = shared_of(lock);
    while (self->writer != NOBODY || self->writers_waiting != 0) {
        wait_in(&self->waiters, WAIT_READ, lock->rank, self->writer);
        self = shared_of(lock);
    }
    leave_set(&self->waiters);
    self->readers++;
}

void kl__rwlock_write(kl__rwlock *lock)
{
    shared_latch *self;

    note_lock(lock->rank);
    schedule_point();
    self = shared_of(lock);
    while (self->writer != NOBODY || self->readers > 0) {
        self->writers_waiting |= strand_bit(strand_self());
        wait_in(&self->waiters, WAIT_WRITE, lock->rank, self->writer);
        self = shared_of(lock);
    }
    leave_set(&self->waiters);
    leave_set(&self->writers_waiting);
    self->writer = running_place();
}

void kl__rwlock_unlock(kl__rwlock *lock)
{
    shared_latch *self = shared_of(lock);

    if (self->writer != NOBODY) {
        schedule_check(self->writer == running_place(),
                       "a read-write lock of rank %d is unlocked by a strand "
                       "that does not hold it",
                       (int)lock->rank);
        self->writer = NOBODY;
    } else {
        schedule_check(self->readers > 0,
                       "a read-write lock of rank %d is unlocked, but free",
                       (int)lock->rank);
        self->readers--;
    }
    strand_wake(self->waiters);
    note_unlock(lock->rank);
    schedule_point();
}

void kl__cond_init(kl__cond *cond)
{
    *(condition *)&cond->native = (condition){.state = ALIVE};
}

void kl__cond_deinit(kl__cond *cond)
{
    condition *self = condition_of(cond);

    schedule_check(self->waiters == 0,
                   "a condition is destroyed while it is waited for");
    self->state = DEAD;
}

void kl__cond_signal(kl__cond *cond)
{
    condition *self;

    schedule_point();
    self = condition_of(cond);
    if (self->waiters != 0) {
        strand *woken = strand_draw(self->waiters);

        self->waiters &= ~strand_bit(woken);
        strand_wake(strand_bit(woken));
    }
}

void kl__cond_broadcast(kl__cond *cond)
{
    condition *self;

    schedule_point();
    self = condition_of(cond);
    strand_wake(self->waiters);
    self->waiters = 0;
}

bool kl__cond_wait(kl__cond *cond, kl__mutex *mutex, int64_t deadline_ms)
{
    condition *self = condition_of(cond);
    strand *waiter = strand_self();
    bool in_time = true;

    schedule_check(kl__thread_role() != KL__ROLE_TRANSPORT,
                   "a turn of a reader waits on the transport thread");
    schedule_check(waiter != NULL, "a condition is waited for");
    schedule_check(waiter->held_count > 0 &&
                       waiter->held[waiter->held_count - 1] == mutex->rank,
                   "a condition is waited for while a mutex of rank %d above "
                   "its own is held",
                   (int)waiter->held[waiter->held_count - 1]);
    if (deadline_ms >= 0 && strand_now() >= deadline_ms) {
        release(mutex);
        schedule_point();
        in_time = false;
    } else if (strand_is_spurious()) {
        release(mutex);
        schedule_yield();
    } else {
        self->waiters |= strand_bit(waiter);
        release(mutex);
        waiter->wait = WAIT_COND;
        waiter->wait_rank = (int)mutex->rank;
        waiter->wait_owner = -1;
        in_time = strand_sleep(deadline_ms);
        if (!in_time) {
            condition_of(cond)->waiters &= ~strand_bit(waiter);
        }
    }
    acquire(mutex);
    return in_time;
}
