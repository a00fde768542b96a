/*
 * carrier_turns_spec.c - loops that share the thread of core/http/carrier.c,
 * under every order of their users: each has its turns in time, whatever the
 * others do, none after its last, and the thread ends with the last loop. The
 * functions of the kernel that carrier.c calls are those below.
 */
#include "schedule.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/carrier.h"
#include "kubelua/memory.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    SEEDS = 20000,
    USERS = 3,
    LOOPS = 4, /* at a time: their sockets have these numbers */
    EPOLL = 300000,
    EVENTFD,
    LIVES = 3,     /* loops that a user has, one after the other */
    DEEDS = 6,     /* what it does with each */
    MOST_BUSY = 9, /* turns that ask for one more */
    FAR_MS = 60000,
    /* Turns of all loops while one waits for its own: the rest of a round, and
     * two more. */
    MOST_BEFORE = 3 * LOOPS
};

/* A loop, which sleeps and is woken as a transport is (curl_loop.c). */
typedef struct loop {
    kl__carried carried;
    int place;
    kl__mutex mutex; /* guards the next six */
    kl__cond cond;   /* `done` has changed */
    int posted, done;
    bool is_asleep, is_closing;
    int asked_turn; /* since when it waits for a turn; -1: it does not */

    /* Of the carrier's thread, then of the user that leaves. */
    bool is_watching, is_over;
    int busy;       /* how often it asks for one more turn */
    int64_t due_ms; /* 0: it does not rest */
} loop;

/* ---- the kernel: one epoll, one eventfd, a socket for each loop ---- */

typedef struct open_socket {
    void *data; /* what it was watched with; NULL: it is not watched */
    bool is_edge;
    bool is_news; /* a change that was not told */
    bool has_bytes;
    int64_t bytes_ms; /* since when */
    int bytes_turn;
} open_socket;

typedef struct world {
    kl__mutex kernel;
    kl__cond changed;
    bool has_epoll, has_eventfd;
    int wakes;
    open_socket sockets[LOOPS];
    int fails_per_mille; /* calls that have no descriptor or memory */

    kl__mutex registry;       /* guards the four below */
    loop *loops[LOOPS];       /* a loop that is here does not leave */
    bool has_loop[LOOPS];     /* one that may be leaving, too */
    loop made[USERS * LIVES]; /* all that there were */
    int made_count;
    loop *in_turn;
    int turns; /* of all loops */
} world;

static world w;

static int fail_with(int code)
{
    errno = code;
    return -1;
}

int epoll_create1(int flags)
{
    schedule_check(flags == EPOLL_CLOEXEC && !w.has_epoll, "a second epoll");
    if (schedule_chance(w.fails_per_mille)) {
        return fail_with(EMFILE);
    }
    w.has_epoll = true;
    return EPOLL;
}

int eventfd(unsigned count, int flags)
{
    schedule_check(count == 0 && flags == (EFD_CLOEXEC | EFD_NONBLOCK) &&
                       !w.has_eventfd,
                   "another eventfd");
    if (schedule_chance(w.fails_per_mille)) {
        return fail_with(EMFILE);
    }
    w.has_eventfd = true;
    w.wakes = 0;
    return EVENTFD;
}

int close(int fd)
{
    bool *is_open = fd == EPOLL ? &w.has_epoll : &w.has_eventfd;

    schedule_check((fd == EPOLL || fd == EVENTFD) && *is_open,
                   "a close of what is not open");
    *is_open = false;
    return 0;
}

int epoll_ctl(int epoll, int what, int fd, struct epoll_event *event)
{
    open_socket *self = fd == EVENTFD ? NULL : &w.sockets[fd];

    schedule_check(epoll == EPOLL && w.has_epoll, "no epoll");
    if (self == NULL) {
        schedule_check(event->data.ptr == NULL && w.has_eventfd, "a wake-up");
        return 0;
    }
    if (what == EPOLL_CTL_ADD && schedule_chance(w.fails_per_mille)) {
        return fail_with(ENOSPC);
    }
    schedule_check((self->data == NULL) == (what == EPOLL_CTL_ADD),
                   "a socket is watched twice, or forgotten twice");
    *self = (open_socket){0};
    if (what == EPOLL_CTL_ADD) {
        self->data = event->data.ptr;
        self->is_edge = (event->events & EPOLLET) != 0;
        self->is_news = true; /* it can be written to */
    }
    return 0;
}

static int collect(struct epoll_event *events)
{
    int count = 0;

    if (w.wakes > 0) {
        events[count++] = (struct epoll_event){.data.ptr = NULL};
    }
    for (int i = 0; i < LOOPS; i++) {
        open_socket *each = &w.sockets[i];

        if (each->data != NULL && each->is_news) {
            events[count++] = (struct epoll_event){.data.ptr = each->data};
            each->is_news = !each->is_edge;
        }
    }
    return count;
}

int epoll_wait(int epoll, struct epoll_event *events, int most, int limit_ms)
{
    int64_t deadline_ms = limit_ms < 0 ? -1 : schedule_now() + limit_ms;
    bool in_time = limit_ms != 0;
    int count;

    schedule_check(epoll == EPOLL && w.has_epoll && most > LOOPS, "no epoll");
    if (schedule_chance(w.fails_per_mille)) {
        return fail_with(EINTR);
    }
    kl__thread_set_role(KL__ROLE_ANY); /* between turns it may wait */
    kl__mutex_lock(&w.kernel);
    while ((count = collect(events)) == 0 && in_time) {
        in_time = kl__cond_wait(&w.changed, &w.kernel, deadline_ms);
    }
    kl__mutex_unlock(&w.kernel);
    kl__thread_set_role(KL__ROLE_TRANSPORT);
    return count;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    schedule_check(fd == EVENTFD && w.has_eventfd && length == 8 &&
                       *(const uint64_t *)bytes == 1,
                   "a wake-up of no eventfd");
    kl__mutex_lock(&w.kernel);
    w.wakes++;
    kl__cond_broadcast(&w.changed);
    kl__mutex_unlock(&w.kernel);
    return 8;
}

ssize_t read(int fd, void *bytes, size_t length)
{
    schedule_check(fd == EVENTFD && w.has_eventfd && length == 8, "no eventfd");
    *(uint64_t *)bytes = (uint64_t)w.wakes;
    w.wakes = 0;
    return 8;
}

/* ---- turns ---- */

static void check_wait(int since, const char *what)
{
    schedule_check(since < 0 || w.turns - since <= MOST_BEFORE,
                   "%d turns before that of a loop that has %s",
                   w.turns - since, what);
}

/* Reads all that has come. */
static void read_socket(loop *self)
{
    open_socket *socket = &w.sockets[self->place];

    kl__mutex_lock(&w.kernel);
    if (self->is_watching && socket->has_bytes) {
        check_wait(socket->bytes_turn, "bytes");
        schedule_check(socket->bytes_ms == schedule_now(), "bytes wait");
        socket->has_bytes = false;
    }
    kl__mutex_unlock(&w.kernel);
}

static bool has_bytes(loop *self)
{
    bool has_bytes;

    kl__mutex_lock(&w.kernel);
    has_bytes = self->is_watching && w.sockets[self->place].has_bytes;
    kl__mutex_unlock(&w.kernel);
    return has_bytes;
}

/* Carries out what was posted. False: the loop is closing. */
static bool run_posted(loop *self)
{
    bool is_closing;

    kl__mutex_lock(&self->mutex);
    check_wait(self->asked_turn, "been woken");
    self->asked_turn = -1;
    self->done = self->posted;
    is_closing = self->is_closing;
    self->is_asleep = false;
    kl__cond_broadcast(&self->cond);
    kl__mutex_unlock(&self->mutex);
    return !is_closing;
}

static int64_t choose_rest(loop *self)
{
    bool may_sleep;

    if (self->busy > 0) {
        self->busy--;
        return KL__CARRIED_AGAIN;
    }
    kl__mutex_lock(&self->mutex);
    may_sleep = self->posted == self->done && !self->is_closing;
    self->is_asleep = may_sleep;
    kl__mutex_unlock(&self->mutex);
    if (!may_sleep || has_bytes(self)) {
        return KL__CARRIED_AGAIN;
    }
    self->due_ms =
        schedule_now() +
        (schedule_chance(500) ? FAR_MS : 1 + (int64_t)schedule_random(50));
    return self->due_ms;
}

static int64_t run_turn(void *arg)
{
    loop *self = arg;
    int64_t result;

    schedule_check(w.in_turn == NULL, "two turns at once");
    schedule_check(!self->is_over, "a turn after the last one");
    schedule_check(self->due_ms == 0 || schedule_now() <= self->due_ms,
                   "a turn comes too late");
    w.in_turn = self;
    w.turns++;
    self->due_ms = 0;
    if (!self->is_watching && schedule_chance(500)) {
        self->is_watching = kl__carrier_watch(&self->carried, self->place);
    }
    read_socket(self);
    if (run_posted(self)) {
        result = choose_rest(self);
    } else {
        if (self->is_watching) {
            kl__carrier_forget(&self->carried, self->place);
        }
        self->is_over = true;
        result = KL__CARRIED_OVER;
    }
    w.in_turn = NULL;
    return result;
}

/* Wakes it, and notes since when it waits: before, another loop may have any
 * number of turns. */
static void wake(loop *self, int number)
{
    kl__carrier_wake(&self->carried);
    kl__mutex_lock(&self->mutex);
    if (self->done < number && self->asked_turn < 0) {
        self->asked_turn = w.turns;
    }
    kl__mutex_unlock(&self->mutex);
}

/* Posts a command, and tells its number. */
static int post(loop *self, bool closes)
{
    bool must_wake;
    int number;

    kl__mutex_lock(&self->mutex);
    number = ++self->posted;
    self->is_closing |= closes;
    must_wake = self->is_asleep;
    self->is_asleep = false;
    kl__mutex_unlock(&self->mutex);
    if (must_wake) {
        wake(self, number);
    }
    return number;
}

/* Time stands still while a thread can run: so a turn that another one has not
 * to wait for takes none. */
static void await(loop *self, int number)
{
    int64_t began_ms = schedule_now();

    kl__mutex_lock(&self->mutex);
    while (self->done < number) {
        kl__cond_wait(&self->cond, &self->mutex, -1);
    }
    kl__mutex_unlock(&self->mutex);
    schedule_check(schedule_now() == began_ms, "a command waits");
}

/* ---- users ---- */

/* Bytes come for a loop; a child of fork() may have the socket of one that is
 * gone. */
static void bring_bytes(int place)
{
    open_socket *socket = &w.sockets[place];

    kl__mutex_lock(&w.kernel);
    if (socket->data != NULL && !socket->has_bytes) {
        socket->has_bytes = socket->is_news = true;
        socket->bytes_ms = schedule_now();
        socket->bytes_turn = w.turns;
        kl__cond_broadcast(&w.changed);
    }
    kl__mutex_unlock(&w.kernel);
}

/* A command for any loop: its user does not leave meanwhile. */
static void post_to(int place)
{
    kl__mutex_lock(&w.registry);
    if (w.loops[place] != NULL) {
        (void)post(w.loops[place], false);
    }
    kl__mutex_unlock(&w.registry);
}

static void do_something(loop *self)
{
    int place = (int)schedule_random(LOOPS);

    switch (schedule_random(5)) {
    case 0:
        await(self, post(self, false));
        return;
    case 1:
        bring_bytes(place);
        return;
    case 2:
        post_to(place);
        return;
    case 3:
        schedule_wait_until(schedule_now() + (int64_t)schedule_random(80));
        return;
    default:
        schedule_yield();
        return;
    }
}

/* Without a carrier: there is no thread, or no descriptor. */
static loop *join_loop(void)
{
    loop *self;

    kl__mutex_lock(&w.registry);
    self = &w.made[w.made_count++];
    self->carried.run = run_turn;
    self->carried.arg = self;
    self->asked_turn = -1;
    self->busy = schedule_chance(300) ? (int)schedule_random(MOST_BUSY) : 0;
    kl__mutex_init(&self->mutex, KL__RANK_TRANSPORT);
    kl__cond_init(&self->cond);
    while (self->place < LOOPS && w.has_loop[self->place]) {
        self->place++;
    }
    schedule_check(self->place < LOOPS, "too many loops");
    if (kl__carrier_join(&self->carried, NULL) == KL_OK) {
        w.loops[self->place] = self;
        w.has_loop[self->place] = true;
    } else {
        schedule_check(w.fails_per_mille > 0, "no thread");
    }
    kl__mutex_unlock(&w.registry);
    return self;
}

static int64_t run_gone(void *arg)
{
    (void)arg;
    schedule_fail("a loop that is gone has a turn");
}

static void free_loop(loop *self)
{
    kl__cond_deinit(&self->cond);
    kl__mutex_deinit(&self->mutex);
    self->carried.run = run_gone;
}

static void leave_loop(loop *self)
{
    kl__mutex_lock(&w.registry);
    w.loops[self->place] = NULL;
    kl__mutex_unlock(&w.registry);
    (void)post(self, true);
    kl__carrier_leave(&self->carried);
    schedule_check(self->is_over, "a loop that is not over was left");
    schedule_check(w.sockets[self->place].data != self,
                   "the socket of a loop that is gone is watched");
    kl__mutex_lock(&w.registry);
    w.has_loop[self->place] = false;
    kl__mutex_unlock(&w.registry);
    free_loop(self);
}

static void *use_loops(void *arg)
{
    (void)arg;
    for (int i = 0; i < LIVES; i++) {
        loop *self = join_loop();

        if (self->carried.carrier == NULL) {
            free_loop(self);
            continue;
        }
        for (int k = (int)schedule_random(DEEDS); k > 0; k--) {
            do_something(self);
        }
        leave_loop(self);
    }
    return NULL;
}

static void run_users(void *arg)
{
    kl__thread threads[USERS];

    (void)arg;
    w.fails_per_mille = schedule_chance(300) ? 50 : 0;
    kl__mutex_init(&w.kernel, KL__RANK_LOG);
    kl__mutex_init(&w.registry, KL__RANK_CLIENT);
    kl__cond_init(&w.changed);
    for (int i = 0; i < USERS; i++) {
        kl__thread_start(&threads[i], "user", use_loops, NULL, NULL);
    }
    for (int i = 0; i < USERS; i++) {
        kl__thread_join(&threads[i]);
    }
    schedule_check(kl_live_count(KL_LIVE_THREAD) == 0, "the thread stays");
    schedule_check(!w.has_epoll && !w.has_eventfd, "a descriptor stays");
    kl__cond_deinit(&w.changed);
    kl__mutex_deinit(&w.registry);
    kl__mutex_deinit(&w.kernel);
}

static void run_seed(uint64_t seed, bool traces)
{
    static schedule_outcome outcome;
    const schedule_options wanted = {.seed = seed,
                                     .preemptions = -1,
                                     .spurious_per_mille =
                                         seed % 4 == 0 ? 20 : 0,
                                     .max_steps = 200000};

    memset(&w, 0, sizeof(w));
    schedule_trace(traces);
    schedule_run(&wanted, run_users, NULL, &outcome);
    if (outcome.failed) {
        printf("FAILED  seed %llu, after %llu histories\n%s\n",
               (unsigned long long)seed, (unsigned long long)seed - 1,
               outcome.message);
        fail();
    }
}

static uint64_t replayed; /* 0: none */

static void loops_have_their_turns_in_every_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; replayed == 0 && seed <= SEEDS; seed++) {
        run_seed(seed, false);
    }
    if (replayed != 0) {
        run_seed(replayed, true);
    }
}

/* With "--replay SEED" that one alone, with a trace. */
int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_have_their_turns_in_every_order),
    };

    if (count == 3 && strcmp(words[1], "--replay") == 0) {
        replayed = strtoull(words[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
