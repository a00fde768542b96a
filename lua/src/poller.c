/*
 * poller.c - what the loop of a lua_State waits on: its event queue and its
 * next timer, as one descriptor that is readable when there is work. Also the
 * signals that end a run.
 */
#include "view.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

typedef struct poller {
    kl_event_queue *queue; /* NULL: not open yet */
    int timer;       /* fires when the next Lua timer is due; -1: none yet */
    double armed_at; /* when it fires, in seconds of core.now; 0: it does not */
    int epoll;       /* of queue and timer; kubelua.fd() returns it */
    bool closed;     /* for good: its lua_State ends */
    bool was_handed_out; /* it must stay open: another part has it */
    bool is_seen;        /* the script has the descriptor */
    bool looks_again;    /* the next poller:next returns 0: look at all */
    loop_watch *watch;   /* NULL: not open, or not wanted */
    kl_report *report;   /* a reference: it is told that the loop goes on; NULL:
                            nothing asks */
    int64_t limit_ms;    /* of one activity; 0: none is watched */
    char own[256];       /* see watch_start */
} poller;

static poller *check_poller(lua_State *L, int index)
{
    return luaL_checkudata(L, index, TYPE_POLLER);
}

static bool add_to_epoll(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void tell_beat(const poller *self, bool is_awake)
{
    if (self->report != NULL) {
        kl_report_beat(self->report, is_awake);
    }
}

static void close_poller(poller *self)
{
    if (self->report != NULL) {
        kl_report_set_watchdog(self->report, NULL);
    }
    watch_stop(self->watch);
    if (self->epoll >= 0) {
        close(self->epoll);
    }
    if (self->timer >= 0) {
        close(self->timer);
    }
    if (self->queue != NULL) {
        kl_event_queue_free(self->queue);
    }
    self->queue = NULL;
    self->watch = NULL;
    self->timer = self->epoll = -1;
    self->armed_at = 0;
}

static bool is_forked(const poller *self)
{
    return kl_event_queue_check(self->queue, NULL) != KL_OK;
}

static void restore_signals(const poller *self);
static void restore_hangup(const poller *self);
static bool is_catching(const poller *self);

/* Opens the descriptors when they are first needed: a program that loads the
 * module and then forks shares no descriptor with its child. A child of fork()
 * opens its own. */
static bool ensure_open(poller *self, kl_error *err)
{
    if (self->queue != NULL && !is_forked(self)) {
        return true;
    }
    if (self->queue != NULL) {
        restore_signals(self);
        restore_hangup(self);
        close_poller(self);
        self->looks_again = true;
    }
    if (self->closed) {
        kl_error_set(err, KL_ECLOSED, "the poller is closed");
        return false;
    }
    self->queue = kl_event_queue_new(err);
    if (self->queue == NULL) {
        return false;
    }
    self->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self->timer < 0 || self->epoll < 0 ||
        !add_to_epoll(self->epoll, self->timer) ||
        !add_to_epoll(self->epoll, kl_event_queue_fd(self->queue))) {
        kl_error_set(err, KL_EIO,
                     "no descriptor to wait on: %s; raise the "
                     "limit (ulimit -n)",
                     strerror(errno));
        close_poller(self);
        return false;
    }
    self->watch = watch_start(self->limit_ms, self->own);
    watch_show(self->watch, self->report);
    return true;
}

/* Between two waits nothing need be written for this loop. A host that has the
 * descriptor may look at it at any time. */
static void attend_alone(const poller *self)
{
    if (!self->is_seen) {
        kl_event_queue_attend(self->queue);
    }
}

static poller *check_open(lua_State *L, int index)
{
    poller *self = check_poller(L, index);
    kl_error err;

    if (!ensure_open(self, &err)) {
        luaL_error(L, "%s", err.message);
    }
    return self;
}

kl_event_queue *check_queue(lua_State *L, int index)
{
    return check_open(L, index)->queue;
}

bool poller_adds(lua_State *L, int index, int fd)
{
    poller *self = check_open(L, index);

    self->was_handed_out = true; /* its epoll must stay */
    return add_to_epoll(self->epoll, fd);
}

/* core.poller(limit, own): an activity of the loop that takes more than `limit`
 * seconds is logged (0: never); for `own`, see watch_start. */
static int poller_new(lua_State *L)
{
    int64_t limit_ms = check_ms(L, 1, 0);
    const char *own = luaL_optstring(L, 2, "");
    poller *self = lua_newuserdata(L, sizeof(*self));

    *self = (poller){.timer = -1, .epoll = -1, .limit_ms = limit_ms};
    snprintf(self->own, sizeof(self->own), "%s", own);
    luaL_getmetatable(L, TYPE_POLLER);
    lua_setmetatable(L, -2);
    return 1;
}

/* poller:watch(descriptor): wakes the poller while it is readable, until it is
 * closed. True, or nil, message, code. */
static int poller_watch(lua_State *L)
{
    kl_error err;

    if (!poller_adds(L, 1, (int)luaL_checkinteger(L, 2))) {
        kl_error_set(&err, KL_EIO, "epoll: %s", strerror(errno));
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* poller:open(): true, or nil, message, code. Other methods open it too, but
 * they raise an error if that fails. */
static int poller_open(lua_State *L)
{
    kl_error err;

    if (!ensure_open(check_poller(L, 1), &err)) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

static int poller_gc(lua_State *L)
{
    poller *self = lua_touserdata(L, 1);

    restore_signals(self); /* of a run that never returned */
    restore_hangup(self);
    close_poller(self);
    kl_report_unref(self->report);
    self->report = NULL;
    self->closed = true;
    return 0;
}

loop_watch *check_watch(lua_State *L, int index)
{
    return check_open(L, index)->watch;
}

/* poller:enter(activity, coroutine, registration or nil): the loop is about to
 * run `activity`, or the event that the registration handles now. */
static int poller_enter(lua_State *L)
{
    const poller *self = check_poller(L, 1);
    const kl_activity *activity = luaL_checkudata(L, 2, TYPE_ACTIVITY);
    const kl_activity *handling = test_handling(L, 4);
    lua_State *co = lua_tothread(L, 3);

    watch_enter(self->watch, co != NULL ? co : L,
                handling != NULL ? handling : activity);
    return 0;
}

/* poller:leave(): the loop runs nothing now. */
static int poller_leave(lua_State *L)
{
    watch_leave(check_poller(L, 1)->watch);
    return 0;
}

static int poller_fd(lua_State *L)
{
    poller *self = check_open(L, 1);

    self->was_handed_out = self->is_seen = true;
    kl_event_queue_leave(self->queue);
    lua_pushinteger(L, self->epoll);
    return 1;
}

static double read_clock(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int push_time(lua_State *L, clockid_t clock)
{
    lua_pushnumber(L, read_clock(clock));
    return 1;
}

/* poller:shut_unused(): closes the queue, and stops the watchdog's thread,
 * until they are needed again. Does nothing while something feeds the queue, or
 * the script has the descriptor. */
static int poller_shut_unused(lua_State *L)
{
    poller *self = check_poller(L, 1);

    if (self->queue != NULL && !self->was_handed_out && !is_catching(self) &&
        !kl_event_queue_is_fed(self->queue)) {
        close_poller(self);
    }
    return 0;
}

/* core.now(): seconds on the monotonic clock. */
static int push_now(lua_State *L)
{
    return push_time(L, CLOCK_MONOTONIC);
}

/* core.boottime(): seconds on the clock that also counts while the machine is
 * suspended; core.now() does not. */
static int push_boottime(lua_State *L)
{
    return push_time(L, CLOCK_BOOTTIME);
}

/* core.unix(): seconds since 1970. */
static int push_unix_time(lua_State *L)
{
    return push_time(L, CLOCK_REALTIME);
}

/* core.is_yieldable(): true if the calling coroutine can yield. Like
 * coroutine.isyieldable, which nginx's Lua module removes. */
static int is_yieldable(lua_State *L)
{
    lua_pushboolean(L, lua_isyieldable(L));
    return 1;
}

/* True if the timer may stay as it is: it fires at `at` or earlier, and has not
 * fired yet. If it fires too early, the loop runs one round that finds nothing
 * due, and arms the timer again. Most timers are timeouts that are cancelled
 * long before, so this saves a system call for each run of a controller. */
static bool is_armed_before(const poller *self, double at)
{
    return self->armed_at > 0 && self->armed_at <= at &&
           self->armed_at > read_clock(CLOCK_MONOTONIC);
}

/* poller:arm(time or nil): the descriptor is readable from that time on (a time
 * of core.now), or earlier. */
static int poller_arm(lua_State *L)
{
    poller *self = check_poller(L, 1);
    struct itimerspec when = {0};
    double armed_at = 0;

    if (self->queue == NULL && lua_isnoneornil(L, 2)) {
        return 0;
    }
    (void)check_open(L, 1);
    if (!lua_isnoneornil(L, 2)) {
        double at = luaL_checknumber(L, 2);

        /* 0 would disarm the timer, so a time in the past is set to 1 ns. */
        at = at > 1e-9 ? fmin(at, 4e9) : 1e-9;
        if (is_armed_before(self, at)) {
            return 0;
        }
        armed_at = at;
        when.it_value.tv_sec = (time_t)at;
        when.it_value.tv_nsec = (long)((at - floor(at)) * 1e9);
        if (when.it_value.tv_sec == 0 && when.it_value.tv_nsec == 0) {
            when.it_value.tv_nsec = 1;
        }
    }
    self->armed_at = armed_at;
    timerfd_settime(self->timer, TFD_TIMER_ABSTIME, &when, NULL);
    return 0;
}

/* The timeout for poll(): -1 is for ever. poll() may return earlier. */
static int wait_ms(lua_State *L, int index)
{
    lua_Number ms;

    if (lua_isnoneornil(L, index)) {
        return -1;
    }
    ms = ceil(luaL_checknumber(L, index) * 1000);
    if (!(ms > 0)) {
        return 0;
    }
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* poller:wait(seconds or nil): true when readable; false after that time, or
 * when a signal came. */
static int poller_wait(lua_State *L)
{
    poller *self = check_open(L, 1);
    struct pollfd entry = {.fd = self->epoll, .events = POLLIN};
    int timeout_ms = wait_ms(L, 2);
    int ready;

    kl_event_queue_leave(self->queue);
    tell_beat(self, false);
    ready = poll(&entry, 1, timeout_ms);
    tell_beat(self, true);
    attend_alone(self);
    lua_pushboolean(L, ready > 0);
    return 1;
}

/* poller:next(): the id of a source that has events, or nil. It returns 0 once
 * in a child of fork(): look at every source, because this queue is new and no
 * event of the old sources will reach it. */
static int poller_next(lua_State *L)
{
    poller *self = check_poller(L, 1);
    void *tag;

    if (self->queue == NULL && !self->looks_again) {
        lua_pushnil(L); /* nothing feeds the queue */
        return 1;
    }
    tag = kl_event_queue_next(check_queue(L, 1));
    if (self->looks_again) {
        self->looks_again = false;
        lua_pushinteger(L, 0);
        return 1;
    }
    if (tag == NULL) {
        texts_close(L); /* the loop is about to wait */
        tell_beat(self, true);
        lua_pushnil(L);
    } else {
        lua_pushinteger(L, (lua_Integer)(intptr_t)tag);
    }
    return 1;
}

/* poller:show(): from now on the report of this lua_State knows whether the
 * loop goes on, and what blocks it. True; or nil, message, code. */
static int poller_show(lua_State *L)
{
    poller *self = check_poller(L, 1);
    kl_error err;
    kl_report *report = push_report(L, &err);

    if (report == NULL) {
        return push_error(L, &err);
    }
    if (self->report == NULL) {
        self->report = kl_report_ref(report);
        watch_show(self->watch, self->report);
    }
    tell_beat(self, true);
    lua_pushboolean(L, true);
    return 1;
}

/* poller:wake(): makes the current wait return, or else the next one. */
static int poller_wake(lua_State *L)
{
    kl_event_queue_wake(check_queue(L, 1));
    return 0;
}

/*
 * Signals belong to the process, so only one run at a time catches them, of any
 * lua_State on any thread. The handler sets a flag, wakes the queue, and
 * restores the default action of both signals: a second signal ends the process
 * at once, unless poller:catch_again has set the handler again. A signal
 * handler may use only atomics without locks, such as these. The run whose
 * queue is in `signal_queue` owns the other variables.
 */
static atomic_int caught;         /* the first signal; 0: none */
static atomic_bool caught_second; /* another came after catch_again */
static _Atomic(kl_event_queue *) signal_queue;
static _Atomic(loop_watch *) signal_watch;
static struct sigaction before_int, before_term;

static void on_signal(int number)
{
    struct sigaction ends = {.sa_handler = SIG_DFL};
    kl_event_queue *queue = atomic_load(&signal_queue);
    int saved = errno;

    if (atomic_load(&caught) != 0) {
        atomic_store(&caught_second, true);
    } else {
        atomic_store(&caught, number);
    }
    sigemptyset(&ends.sa_mask);
    sigaction(SIGINT, &ends, NULL);
    sigaction(SIGTERM, &ends, NULL);
    if (queue != NULL) {
        kl_event_queue_wake(queue);
    }
    watch_hurry(atomic_load(&signal_watch), number);
    errno = saved;
}

static bool is_catching(const poller *self)
{
    return self->queue != NULL && atomic_load(&signal_queue) == self->queue;
}

static void forget_signals(const poller *self)
{
    atomic_store(&signal_watch, NULL);
    watch_hurry(self->watch, 0);
    atomic_store(&signal_queue, NULL);
}

static void restore_signals(const poller *self)
{
    if (is_catching(self)) {
        sigaction(SIGINT, &before_int, NULL);
        sigaction(SIGTERM, &before_term, NULL);
        forget_signals(self);
    }
}

/* Sets the handler; stores the actions before it, where they are wanted. */
static void handle_signals(struct sigaction *of_int, struct sigaction *of_term)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, of_int);
    sigaction(SIGTERM, &action, of_term);
}

/* poller:catch(): SIGINT and SIGTERM now end the run. False: another run has
 * them. */
static int poller_catch(lua_State *L)
{
    kl_event_queue *no_queue = NULL;
    bool is_first = atomic_compare_exchange_strong(&signal_queue, &no_queue,
                                                   check_queue(L, 1));

    if (is_first) {
        atomic_store(&caught, 0);
        atomic_store(&caught_second, false);
        atomic_store(&signal_watch, check_watch(L, 1));
        handle_signals(&before_int, &before_term);
    }
    lua_pushboolean(L, is_first);
    return 1;
}

/* poller:catch_again(): the next signal sets caught_second, and does not end
 * the process. For a run that has caught one. */
static int poller_catch_again(lua_State *L)
{
    if (is_catching(check_poller(L, 1))) {
        handle_signals(NULL, NULL);
    }
    return 0;
}

/* poller:caught_second(): true once a signal came after catch_again. */
static int poller_caught_second(lua_State *L)
{
    lua_pushboolean(L, is_catching(check_poller(L, 1)) &&
                           atomic_load(&caught_second));
    return 1;
}

/* poller:release(): restores the signals; returns the signal that came, or
 * nil. It is looked at last: until the actions are restored, one may come. */
static int poller_release(lua_State *L)
{
    poller *self = check_poller(L, 1);
    bool is_first = is_catching(self);
    int number;

    restore_signals(self);
    number = is_first ? atomic_load(&caught) : 0;
    if (number == 0) {
        return 0;
    }
    lua_pushinteger(L, number);
    return 1;
}

/* poller:release_unless_caught(): restores the signals; but if one came, it
 * stays caught, and the next one ends the process. */
static int poller_release_unless_caught(lua_State *L)
{
    struct sigaction ends = {.sa_handler = SIG_DFL};
    const poller *self = check_poller(L, 1);

    if (!is_catching(self)) {
        return 0;
    }
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
    if (atomic_load(&caught) == 0) { /* and no other can be caught now */
        forget_signals(self);
        return 0;
    }
    sigaction(SIGINT, &ends, NULL); /* as on_signal did */
    sigaction(SIGTERM, &ends, NULL);
    return 0;
}

/* poller:caught(): the signal that came, or nil. */
static int poller_caught(lua_State *L)
{
    int number = is_catching(check_poller(L, 1)) ? atomic_load(&caught) : 0;

    if (number == 0) {
        lua_pushnil(L);
    } else {
        lua_pushinteger(L, number);
    }
    return 1;
}

/*
 * SIGHUP, which reloads a script. It also comes when the terminal of the
 * process is closed; then a process that had a terminal has none any more.
 */
static atomic_bool has_hung_up;
static _Atomic(kl_event_queue *) hangup_queue;
static bool had_terminal;
static struct sigaction before_hangup;

static bool has_terminal(void)
{
    return isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) ||
           isatty(STDERR_FILENO);
}

static void on_hangup(int number)
{
    kl_event_queue *queue = atomic_load(&hangup_queue);
    int saved = errno;

    (void)number;
    atomic_store(&has_hung_up, true);
    if (queue != NULL) {
        kl_event_queue_wake(queue);
    }
    errno = saved;
}

static void restore_hangup(const poller *self)
{
    if (self->queue != NULL && atomic_load(&hangup_queue) == self->queue) {
        sigaction(SIGHUP, &before_hangup, NULL);
        atomic_store(&hangup_queue, NULL);
    }
}

/* poller:catch_hangup(): SIGHUP wakes the poller from now on. False: another
 * lua_State has it, or the process was told to ignore it (nohup). */
static int poller_catch_hangup(lua_State *L)
{
    struct sigaction action = {.sa_handler = on_hangup, .sa_flags = SA_RESTART};
    kl_event_queue *no_queue = NULL;
    poller *self = check_open(L, 1);
    bool is_first;

    sigaction(SIGHUP, NULL, &before_hangup);
    is_first =
        before_hangup.sa_handler != SIG_IGN &&
        atomic_compare_exchange_strong(&hangup_queue, &no_queue, self->queue);
    if (is_first) {
        self->was_handed_out = true; /* the handler has the queue */
        had_terminal = has_terminal();
        sigemptyset(&action.sa_mask);
        sigaction(SIGHUP, &action, NULL);
    }
    lua_pushboolean(L, is_first);
    return 1;
}

/* poller:has_hung_up(): true once after SIGHUP. If the terminal is gone, the
 * process gets SIGTERM instead. */
static int poller_has_hung_up(lua_State *L)
{
    bool has_come = atomic_exchange(&has_hung_up, false);

    (void)check_poller(L, 1);
    if (has_come && had_terminal && !has_terminal()) {
        raise(SIGTERM);
        has_come = false;
    }
    lua_pushboolean(L, has_come);
    return 1;
}

void bind_poller(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"__gc", poller_gc},
        {"open", poller_open},
        {"watch", poller_watch},
        {"fd", poller_fd},
        {"arm", poller_arm},
        {"wait", poller_wait},
        {"next", poller_next},
        {"enter", poller_enter},
        {"leave", poller_leave},
        {"wake", poller_wake},
        {"show", poller_show},
        {"catch", poller_catch},
        {"release", poller_release},
        {"release_unless_caught", poller_release_unless_caught},
        {"shut_unused", poller_shut_unused},
        {"caught", poller_caught},
        {"catch_again", poller_catch_again},
        {"caught_second", poller_caught_second},
        {"catch_hangup", poller_catch_hangup},
        {"has_hung_up", poller_has_hung_up},
        {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"poller", poller_new},         {"now", push_now},
        {"boottime", push_boottime},    {"unix", push_unix_time},
        {"is_yieldable", is_yieldable}, {NULL, NULL}};

    push_type(L, TYPE_POLLER, methods);
    luaL_setfuncs(L, functions, 0);
}
