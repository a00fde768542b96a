/*
 * schedule_thread.c - the rest of core/base that is replaced: threads, clock,
 * wake-ups and random seeds.
 */
#include "schedule.h"
#include "strand.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/wakeup.h"

#include <string.h>

enum { WAKEUPS_MAX = 64, FIRST_FD = 100000 };

/* A kl__thread: the strand's serial and its place in one word. */
static pthread_t handle_of(const strand *self)
{
    return (pthread_t)(self->serial << 8 | (uint64_t)strand_place(self));
}

static strand *strand_of(const kl__thread *thread, const char *what)
{
    strand *self = strand_at((int)(thread->native & 0xff) % STRANDS_MAX);

    schedule_check(self->state != STRAND_NONE &&
                       handle_of(self) == thread->native,
                   "%s of a thread that was joined or detached before", what);
    schedule_check(!self->is_detached, "%s of a detached thread", what);
    return self;
}

typedef struct start {
    void *(*entry)(void *arg);
    void *arg;
} start;

static void *run_thread(void *arg)
{
    start begun = *(start *)arg;
    void *result;

    kl__free(arg);
    result = begun.entry(begun.arg);
    kl__live_add(KL_LIVE_THREAD, -1);
    return result;
}

kl_code kl__thread_start(kl__thread *thread, const char *name,
                         void *(*entry)(void *), void *arg, kl_error *err)
{
    start *begun = kl__malloc(sizeof(*begun));
    strand *made;

    if (begun == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a thread");
    }
    *begun = (start){entry, arg};
    made = strand_new(name, run_thread, begun);
    if (made == NULL) {
        kl__free(begun);
        return kl_error_set(err, KL_EIO, "cannot start thread %s", name);
    }
    kl__live_add(KL_LIVE_THREAD, 1);
    thread->native = handle_of(made);
    schedule_point();
    return KL_OK;
}

void kl__thread_join(kl__thread *thread)
{
    strand *joined = strand_of(thread, "join");
    strand *self = strand_self();

    schedule_check(joined != self, "a thread joins itself");
    schedule_check(joined->joiners == 0, "two threads join %s", joined->name);
    schedule_point();
    while (joined->state != STRAND_ENDED) {
        joined->joiners |= strand_bit(self);
        self->wait = WAIT_JOIN;
        self->wait_owner = strand_place(joined);
        strand_sleep(-1);
    }
    strand_drop(joined);
}

void kl__thread_detach(kl__thread *thread)
{
    strand *self = strand_of(thread, "detach");

    schedule_check(self->joiners == 0, "%s is detached while it is joined",
                   self->name);
    self->is_detached = true;
    if (self->state == STRAND_ENDED) {
        strand_drop(self);
    }
    schedule_point();
}

bool kl__thread_is_self(const kl__thread *thread)
{
    return handle_of(strand_self()) == thread->native;
}

void kl__thread_set_role(kl__role role)
{
    strand_self()->role = role;
}

kl__role kl__thread_role(void)
{
    return strand_self() != NULL ? strand_self()->role : KL__ROLE_ANY;
}

kl__forks kl__process_here(void)
{
    return 0;
}

void kl__mutex_outlive_fork(kl__mutex *mutexes, size_t count)
{
    (void)mutexes;
    (void)count;
}

kl_code kl__check_process(kl__forks made_in, kl_error *err)
{
    (void)made_in;
    (void)err;
    return KL_OK;
}

/* There is one clock, the run's; a fake one is not needed. */
struct kl__clock {
    char unused;
};

kl__clock *kl__clock_real(void)
{
    static kl__clock clock;

    return &clock;
}

int64_t kl__clock_now(kl__clock *clock)
{
    (void)clock;
    return strand_now();
}

int64_t kl__boottime_ms(void)
{
    return strand_now();
}

int64_t kl__clock_after(kl__clock *clock, int64_t ms)
{
    int64_t now = kl__clock_now(clock);

    if (ms < 0) {
        return -1;
    }
    return ms < INT64_MAX - now ? now + ms : INT64_MAX;
}

bool kl__clock_wait(kl__clock *clock, kl__cond *cond, kl__mutex *mutex,
                    int64_t deadline_ms)
{
    (void)clock;
    return kl__cond_wait(cond, mutex, deadline_ms);
}

uint64_t kl__random_seed(const void *address)
{
    (void)address;
    return 1 + schedule_random(UINT64_MAX - 1);
}

/* Wake-ups that replace descriptors; the index is fd - FIRST_FD. */
static struct wakeup {
    bool is_open;
    bool is_set;
    strand_set waiters;
} wakeups[WAKEUPS_MAX];

void strand_forget_wakeups(void)
{
    memset(wakeups, 0, sizeof(wakeups));
}

static struct wakeup *wakeup_of(const kl__wakeup *wakeup)
{
    int place = wakeup->fd - FIRST_FD;

    schedule_check(place >= 0 && place < WAKEUPS_MAX && wakeups[place].is_open,
                   "a wake-up is used that is not open");
    return &wakeups[place];
}

kl_code kl__wakeup_init(kl__wakeup *wakeup, kl_error *err)
{
    for (int i = 0; i < WAKEUPS_MAX; i++) {
        if (!wakeups[i].is_open) {
            wakeups[i] = (struct wakeup){.is_open = true};
            wakeup->fd = FIRST_FD + i;
            return KL_OK;
        }
    }
    return kl_error_set(err, KL_EIO, "no descriptor for an event queue");
}

void kl__wakeup_deinit(kl__wakeup *wakeup)
{
    struct wakeup *self = wakeup_of(wakeup);

    schedule_check(self->waiters == 0, "an event queue is freed while waited "
                                       "for");
    self->is_open = false;
}

int kl__wakeup_fd(const kl__wakeup *wakeup)
{
    return wakeup->fd;
}

void kl__wakeup_set(kl__wakeup *wakeup)
{
    struct wakeup *self = wakeup_of(wakeup);

    self->is_set = true;
    strand_wake(self->waiters);
    schedule_point();
}

void kl__wakeup_clear(kl__wakeup *wakeup)
{
    wakeup_of(wakeup)->is_set = false;
    schedule_point();
}

kl_code kl__wakeup_wait(kl__wakeup *wakeup, int64_t timeout_ms)
{
    int64_t deadline = kl__clock_after(kl__clock_real(), timeout_ms);
    strand *self = strand_self();
    bool in_time = true;

    schedule_point();
    while (!wakeup_of(wakeup)->is_set && in_time) {
        wakeup_of(wakeup)->waiters |= strand_bit(self);
        self->wait = WAIT_WAKEUP;
        self->wait_owner = -1;
        in_time = strand_sleep(deadline);
        wakeup_of(wakeup)->waiters &= ~strand_bit(self);
    }
    return wakeup_of(wakeup)->is_set ? KL_OK : KL_ETIMEOUT;
}
