/*
 * carrier.c - see carrier.h. The sockets of all loops are watched by one epoll,
 * which tells each change once (EPOLLET).
 */
#include "http/carrier.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    EVENTS = 64,
    LONG_MS = 500 /* a wait for a turn, from which on it is counted */
};

struct kl__carrier {
    kl__forks made_in;
    kl__thread thread;
    int epoll;
    int wakeup;   /* an eventfd: what wakes the thread in epoll_wait */
    size_t users; /* loops that have not left; guarded by `shared` */

    /* Rank TRANSPORT. Guards the rest, and a part of each kl__carried. */
    kl__mutex mutex;
    kl__cond is_left; /* a loop is over */
    kl__list ready;   /* loops, first come first served */
    bool is_asleep;   /* what comes into `ready` has to wake the thread */
    bool ends;        /* no loop is left */

    /* Of the thread. */
    kl__list members;  /* all loops */
    int64_t looked_ms; /* when it looked at the sockets last */
};

/* Guards the pointer and the users; rank CARRIER. */
static kl__mutex shared = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_CARRIER};
static kl__carrier *carrier_of_process;

__attribute__((constructor)) static void begin_process(void)
{
    kl__mutex_outlive_fork(&shared, 1);
}

/* ---- waking ---- */

static void wake_thread(kl__carrier *self)
{
    uint64_t one = 1;

    (void)!write(self->wakeup, &one, sizeof(one));
}

/* The loop has had something to do since a time of the real clock. */
static void make_ready(kl__carried *carried, int64_t since_ms)
{
    kl__carrier *self = carried->carrier;
    bool must_wake = false;

    kl__mutex_lock(&self->mutex);
    if (kl__list_empty(&carried->ready_node) && !carried->is_over) {
        carried->ready_ms = since_ms;
        kl__list_append(&self->ready, &carried->ready_node);
        must_wake = self->is_asleep;
        self->is_asleep = false;
    } else if (since_ms < carried->ready_ms) {
        carried->ready_ms = since_ms;
    }
    kl__mutex_unlock(&self->mutex);
    if (must_wake) {
        wake_thread(self);
    }
}

void kl__carrier_wake(kl__carried *carried)
{
    make_ready(carried, kl__clock_now(kl__clock_real()));
}

bool kl__carrier_watch(kl__carried *carried, int socket)
{
    struct epoll_event event = {.events =
                                    EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                .data.ptr = carried};

    return carried->carrier == NULL ||
           epoll_ctl(carried->carrier->epoll, EPOLL_CTL_ADD, socket, &event) ==
               0;
}

/* Not left to the close: a child of fork() may have the descriptor, too. */
void kl__carrier_forget(kl__carried *carried, int socket)
{
    if (carried->carrier != NULL) {
        (void)epoll_ctl(carried->carrier->epoll, EPOLL_CTL_DEL, socket, NULL);
    }
}

/* ---- the turns ---- */

/* The last use of a loop: its user may free it afterwards. */
static void end_loop(kl__carrier *self, kl__carried *carried)
{
    kl__list_remove(&carried->member_node);
    kl__mutex_lock(&self->mutex);
    kl__list_remove(&carried->ready_node);
    carried->is_over = true;
    kl__cond_broadcast(&self->is_left);
    kl__mutex_unlock(&self->mutex);
}

static void run_turn(kl__carrier *self, kl__carried *carried)
{
    int64_t due_ms;

    if (kl__list_empty(&carried->member_node)) {
        kl__list_append(&self->members, &carried->member_node);
    }
    carried->due_ms = INT64_MAX;
    due_ms = carried->run(carried->arg);
    if (due_ms == KL__CARRIED_OVER) {
        end_loop(self, carried);
    } else if (due_ms == KL__CARRIED_AGAIN) {
        kl__carrier_wake(carried);
    } else {
        carried->due_ms = due_ms;
    }
}

static void note_wait(kl__carried *carried)
{
    int64_t wait_ms = kl__clock_now(kl__clock_real()) - carried->ready_ms;

    carried->waited_ms += wait_ms >= LONG_MS ? wait_ms : 0;
}

/* Gives each loop that is ready one turn; those that become ready meanwhile
 * have theirs afterwards. */
static void run_round(kl__carrier *self)
{
    kl__list round;
    kl__list *node;

    kl__list_init(&round);
    kl__mutex_lock(&self->mutex);
    while ((node = kl__list_shift(&self->ready)) != NULL) {
        kl__list_append(&round, node);
    }
    while ((node = kl__list_shift(&round)) != NULL) {
        kl__carried *next = KL__CONTAINER(node, kl__carried, ready_node);

        note_wait(next);
        kl__mutex_unlock(&self->mutex);
        run_turn(self, next);
        kl__mutex_lock(&self->mutex);
    }
    kl__mutex_unlock(&self->mutex);
}

/* Makes the loops ready whose time has come. Returns how long to sleep;
 * -1: without a limit. */
static int look_at_times(kl__carrier *self)
{
    int64_t now = kl__clock_now(kl__clock_real());
    int64_t next = INT64_MAX;

    for (kl__list *node = self->members.next; node != &self->members;
         node = node->next) {
        kl__carried *each = KL__CONTAINER(node, kl__carried, member_node);

        if (each->due_ms <= now) {
            make_ready(each, each->due_ms);
            each->due_ms = INT64_MAX;
        } else if (each->due_ms < next) {
            next = each->due_ms;
        }
    }
    return next == INT64_MAX ? -1 : (int)(next - now);
}

/* Waits for changes of sockets, at most for `limit_ms`. They have come after
 * `since_ms`: those that need no wait may be as old as the last look. */
static int look_at_sockets(kl__carrier *self, struct epoll_event *events,
                           int limit_ms, int64_t *since_ms)
{
    int64_t began_ms = kl__clock_now(kl__clock_real());
    int count = epoll_wait(self->epoll, events, EVENTS, limit_ms);
    int64_t now_ms = kl__clock_now(kl__clock_real());

    *since_ms = now_ms > began_ms ? now_ms : self->looked_ms;
    self->looked_ms = now_ms;
    return count;
}

/* Sleeps until something is to be done. */
static void await_news(kl__carrier *self, int limit_ms)
{
    struct epoll_event events[EVENTS];
    int64_t since_ms;
    uint64_t wakes;
    int count;

    kl__mutex_lock(&self->mutex);
    if (!kl__list_empty(&self->ready) || self->ends) {
        limit_ms = 0;
    }
    self->is_asleep = limit_ms != 0;
    kl__mutex_unlock(&self->mutex);
    count = look_at_sockets(self, events, limit_ms, &since_ms);
    kl__mutex_lock(&self->mutex);
    self->is_asleep = false;
    kl__mutex_unlock(&self->mutex);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr != NULL) {
            make_ready(events[i].data.ptr, since_ms);
        } else {
            (void)!read(self->wakeup, &wakes, sizeof(wakes));
        }
    }
}

static bool has_ended(kl__carrier *self)
{
    bool has_ended;

    kl__mutex_lock(&self->mutex);
    has_ended = self->ends;
    kl__mutex_unlock(&self->mutex);
    return has_ended;
}

static void *run_carrier(void *arg)
{
    kl__carrier *self = arg;

    kl__thread_set_role(KL__ROLE_TRANSPORT);
    self->looked_ms = kl__clock_now(kl__clock_real());
    while (!has_ended(self)) {
        await_news(self, look_at_times(self));
        run_round(self);
    }
    return NULL;
}

/* ---- life ---- */

static void free_carrier(kl__carrier *self)
{
    if (self->epoll >= 0) {
        close(self->epoll);
    }
    if (self->wakeup >= 0) {
        close(self->wakeup);
    }
    kl__cond_deinit(&self->is_left);
    kl__mutex_deinit(&self->mutex);
    kl__free(self);
}

static kl_code start_carrier(kl__carrier *self, kl_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    self->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->epoll < 0 || self->wakeup < 0 ||
        epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->wakeup, &event) != 0) {
        return kl_error_set(err, KL_EIO,
                            "cannot watch the connections of clients that "
                            "share a thread: %s (ulimit -n is the limit of "
                            "descriptors)",
                            strerror(errno));
    }
    return kl__thread_start(&self->thread, "kl-transport", run_carrier, self,
                            err);
}

static kl__carrier *make_carrier(kl_error *err)
{
    kl__carrier *self = kl__calloc(1, sizeof(*self));

    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a transport");
        return NULL;
    }
    self->made_in = kl__process_here();
    self->epoll = self->wakeup = -1;
    kl__mutex_init(&self->mutex, KL__RANK_TRANSPORT);
    kl__cond_init(&self->is_left);
    kl__list_init(&self->ready);
    kl__list_init(&self->members);
    if (start_carrier(self, err) != KL_OK) {
        free_carrier(self);
        return NULL;
    }
    return self;
}

kl_code kl__carrier_join(kl__carried *carried, kl_error *err)
{
    kl__carrier *self;
    kl_error local;

    err = err != NULL ? err : &local;
    kl__list_init(&carried->ready_node);
    kl__list_init(&carried->member_node);
    kl__mutex_lock(&shared);
    self = carrier_of_process;
    if (self == NULL || self->made_in != kl__process_here()) {
        self = carrier_of_process = make_carrier(err);
    }
    if (self != NULL) {
        self->users++;
        carried->carrier = self;
    }
    kl__mutex_unlock(&shared);
    if (self == NULL) {
        return err->code;
    }
    kl__carrier_wake(carried);
    return KL_OK;
}

/* The last loop has left. */
static void end_carrier_locked(kl__carrier *self)
{
    carrier_of_process = NULL;
    kl__mutex_lock(&self->mutex);
    self->ends = true;
    self->is_asleep = false;
    kl__mutex_unlock(&self->mutex);
    wake_thread(self);
    kl__thread_join(&self->thread);
    free_carrier(self);
}

void kl__carrier_leave(kl__carried *carried)
{
    kl__carrier *self = carried->carrier;

    kl__mutex_lock(&self->mutex);
    while (!carried->is_over) {
        kl__cond_wait(&self->is_left, &self->mutex, -1);
    }
    kl__mutex_unlock(&self->mutex);
    kl__mutex_lock(&shared);
    if (--self->users == 0) {
        end_carrier_locked(self);
    }
    kl__mutex_unlock(&shared);
}
