/*
 * watchdog.c - tells the core's watchdog what the loop runs. When a handler
 * blocks the loop, it also asks the running Lua code for its traceback.
 *
 * How to get the traceback of a lua_State that runs. Only the thread that runs
 * it may read its stack, so that thread must be interrupted:
 * - Not by lua_sethook on the watchdog's thread. PUC Lua allows that call
 *   "during a signal" (ldebug.c), that is, on the thread that runs the state:
 *   it walks the list of calls, which that thread changes. In LuaJIT, both
 *   threads would write the dispatch table (LuaJIT issues 1012 and 1460).
 * - But by lua_sethook in a signal handler on that thread itself, as lua.c and
 *   luajit.c do for SIGINT, and LuaJIT's profiler for SIGPROF. The hook runs at
 *   the next Lua instruction, where every call is allowed.
 *
 * The signal is SIGURG: a process that does not catch it ignores it. If the
 * host program catches it, or the script has set a hook, there is no traceback.
 * A C function first runs to its end; poll() and the like return EINTR once,
 * other system calls are restarted. In PUC Lua a hook belongs to one coroutine,
 * that of the handler. In LuaJIT, compiled code sees the hook only when it
 * leaves its trace, unless LuaJIT was built with LUAJIT_ENABLE_CHECKHOOK. Until
 * it leaves, the report has only names; the traceback follows once the hook
 * runs.
 */
#include "binding.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * One for each lua_State that has a loop. They are used again, and never freed,
 * because a signal handler walks the list. Threads other than the one that runs
 * the lua_State use only the atomics, and `next`, which never changes.
 */
struct loop_watch {
    struct loop_watch *next;
    atomic_bool is_used;
    int references;        /* one of the poller, one for each registration */
    kl_watchdog *watchdog; /* NULL: none */
    kl_report *report;     /* borrowed: each activity is a beat; NULL: none */
    /* The activity that was entered; NULL: none. */
    const kl_activity *current;
    /* Chunks whose names begin with this are KubeLua's. */
    char own[256];
    /* The thread that entered the activity. */
    _Atomic(pthread_t) thread;
    /* The coroutine that runs it; set from watch_enter to watch_leave only. */
    _Atomic(lua_State *) running;
    /* The coroutine that has our hook, or NULL. */
    _Atomic(lua_State *) hooked;
    /* True once the watchdog has asked for the traceback. */
    atomic_bool is_asked;
};

/* The list of all; a new one is put in front. */
static _Atomic(loop_watch *) watches;

static void report_traceback(lua_State *L, lua_Debug *now);

/* Runs in a signal handler, on the thread that runs the lua_State. */
static void set_hook(loop_watch *self)
{
    lua_State *L = atomic_load(&self->running);

    atomic_store(&self->is_asked, false);
    if (L != NULL && lua_gethook(L) == NULL) {
        atomic_store(&self->hooked, L);
        lua_sethook(L, report_traceback, LUA_MASKCOUNT, 1);
    }
}

static bool is_own_thread(loop_watch *self)
{
    return pthread_equal(atomic_load(&self->thread), pthread_self()) != 0;
}

static void on_sigurg(int number)
{
    int saved = errno;

    (void)number;
    for (loop_watch *at = atomic_load(&watches); at != NULL; at = at->next) {
        if (atomic_load(&at->is_asked) && is_own_thread(at)) {
            set_hook(at);
        }
    }
    errno = saved;
}

/* Catches SIGURG; the first request for a traceback calls this. False if the
 * host program catches SIGURG itself. */
static bool catch_sigurg(void)
{
    struct sigaction action = {.sa_handler = on_sigurg,
                               .sa_flags = SA_RESTART | SA_ONSTACK};
    struct sigaction before;

    if (sigaction(SIGURG, NULL, &before) != 0) {
        return false;
    }
    if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == on_sigurg) {
        return true;
    }
    if ((before.sa_flags & SA_SIGINFO) != 0 ||
        (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)) {
        return false;
    }
    sigemptyset(&action.sa_mask);
    return sigaction(SIGURG, &action, NULL) == 0;
}

/* Runs on the watchdog's thread, while the thread of the loop runs an activity
 * that takes too long. */
static void ask_where(void *context)
{
    loop_watch *self = context;

    if (catch_sigurg()) {
        atomic_store(&self->is_asked, true);
        pthread_kill(atomic_load(&self->thread), SIGURG);
    }
}

/* Appends one call to the text; returns the new length. */
static size_t append_call(char *text, size_t size, size_t length,
                          const lua_Debug *call)
{
    int wrote;

    if (call->currentline > 0) {
        wrote = snprintf(text + length, size - length, "\n\t%s:%d: in ",
                         call->short_src, call->currentline);
    } else {
        wrote = snprintf(text + length, size - length, "\n\t%s: in ",
                         call->short_src);
    }
    length += (size_t)wrote;
    if (length < size && call->name != NULL) {
        wrote = snprintf(text + length, size - length, "%s '%s'",
                         call->namewhat, call->name);
    } else if (length < size && *call->what == 'm') {
        wrote = snprintf(text + length, size - length, "main chunk");
    } else if (length < size) {
        wrote = snprintf(text + length, size - length, "function <%s:%d>",
                         call->short_src, call->linedefined);
    }
    length += (size_t)wrote;
    return length < size ? length : size - 1;
}

/* Writes the traceback, down to the outermost call of the script; false if the
 * script is not on the stack. It allocates nothing, because a hook must not
 * raise. */
static bool write_traceback(lua_State *L, const char *own, char *text,
                            size_t size)
{
    size_t begin = (size_t)snprintf(text, size, "stack traceback:");
    size_t length = begin;
    size_t script = begin;
    lua_Debug call;

    for (int level = 0; length < size - 1 && lua_getstack(L, level, &call);
         level++) {
        if (lua_getinfo(L, "Sln", &call) == 0) {
            break;
        }
        length = append_call(text, size, length, &call);
        if (*call.what != 'C' && strncmp(call.source, own, strlen(own)) != 0) {
            script = length;
        }
    }
    text[script] = '\0';
    return script > begin;
}

/* The hook; it runs once. A coroutine that was created while the hook was set
 * has inherited it. */
static void report_traceback(lua_State *L, lua_Debug *now)
{
    char text[1200];

    (void)now;
    lua_sethook(L, NULL, 0, 0);
    for (loop_watch *at = atomic_load(&watches); at != NULL; at = at->next) {
        if (!is_own_thread(at) || atomic_load(&at->hooked) == NULL) {
            continue;
        }
        if (atomic_load(&at->hooked) == L) {
            atomic_store(&at->hooked, NULL);
        }
        if (write_traceback(L, at->own, text, sizeof(text)) &&
            at->watchdog != NULL) {
            kl_watchdog_tell(at->watchdog, text);
        }
        return;
    }
}

/* A loop_watch that is not in use, or a new one. */
static loop_watch *find_watch(void)
{
    loop_watch *self;

    for (self = atomic_load(&watches); self != NULL; self = self->next) {
        bool is_free = false;

        if (atomic_compare_exchange_strong(&self->is_used, &is_free, true)) {
            return self;
        }
    }
    self = calloc(1, sizeof(*self));
    if (self != NULL) {
        atomic_init(&self->is_used, true);
        self->next = atomic_load(&watches);
        while (!atomic_compare_exchange_weak(&watches, &self->next, self)) {
        }
    }
    return self;
}

loop_watch *watch_start(int64_t limit_ms, const char *own)
{
    kl_watchdog_options options = {.limit_ms = limit_ms, .ask = ask_where};
    loop_watch *self = limit_ms > 0 ? find_watch() : NULL;
    kl_error err;

    if (self == NULL) {
        return NULL;
    }
    self->references = 1;
    atomic_store(&self->is_asked, false);
    snprintf(self->own, sizeof(self->own), "%s", own);
    options.context = self;
    self->watchdog = kl_watchdog_start(&options, &err);
    if (self->watchdog == NULL) {
        kl_log(KL_LOG_WARN,
               "the watchdog for handlers that block did not start: %s",
               err.message);
    }
    return self;
}

static void watch_unref(loop_watch *self)
{
    if (self != NULL && --self->references == 0) {
        atomic_store(&self->is_used, false);
    }
}

void watch_stop(loop_watch *self)
{
    if (self != NULL) {
        watch_leave(self);
        kl_watchdog_stop(self->watchdog);
        self->watchdog = NULL;
        self->report = NULL;
        watch_unref(self);
    }
}

void watch_show(loop_watch *self, kl_report *report)
{
    if (self != NULL && report != NULL) {
        kl_report_set_watchdog(report, self->watchdog);
        self->report = report;
    }
}

loop_watch *watch_ref(loop_watch *self)
{
    if (self != NULL) {
        self->references++;
    }
    return self;
}

void watch_enter(loop_watch *self, lua_State *L, const kl_activity *activity)
{
    if (self == NULL || self->watchdog == NULL) {
        return;
    }
    watch_leave(self);
    atomic_store_explicit(&self->thread, pthread_self(), memory_order_relaxed);
    atomic_store_explicit(&self->running, L, memory_order_relaxed);
    self->current = activity;
    if (self->report != NULL) { /* many quick handlers are no hang */
        kl_report_beat(self->report, true);
    }
    kl_watchdog_enter(self->watchdog, activity);
}

void watch_leave(loop_watch *self)
{
    lua_State *hooked;

    if (self == NULL || self->current == NULL) {
        return;
    }
    self->current = NULL;
    /* From here on a late signal sets no hook. */
    atomic_store_explicit(&self->running, NULL, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* not after the load below */
    hooked = atomic_load_explicit(&self->hooked, memory_order_relaxed);
    if (hooked != NULL) {
        atomic_store(&self->hooked, NULL);
        if (lua_gethook(hooked) == report_traceback) {
            lua_sethook(hooked, NULL, 0, 0);
        }
    }
    kl_watchdog_leave(self->watchdog);
}

void watch_hurry(loop_watch *self, int signal)
{
    if (self != NULL && self->watchdog != NULL) {
        kl_watchdog_hurry(self->watchdog, signal);
    }
}

/* The events of a registration */

static const char *const EVENTS[] = {"add",    "update", "delete",
                                     "synced", "error",  NULL};

/* Runs for each event, so it looks nothing up and copies nothing. */
void watched_begin(watched_events *self, lua_State *L, const kl_event *event)
{
    if (self->names[event->type] == NULL) {
        return;
    }
    self->activity.what = self->names[event->type];
    self->activity.subject =
        event->object != NULL ? kl_object_key(event->object) : NULL;
    watch_enter(self->watch, L, &self->activity);
}

bool watched_end(watched_events *self)
{
    bool is_current =
        self->watch != NULL && self->watch->current == &self->activity;

    if (is_current) {
        watch_leave(self->watch);
    }
    self->activity.subject = NULL;
    return is_current;
}

void watched_deinit(watched_events *self)
{
    watched_end(self);
    for (size_t i = 0; i < sizeof(self->names) / sizeof(self->names[0]); i++) {
        free(self->names[i]);
        self->names[i] = NULL;
    }
    watch_unref(self->watch);
    self->watch = NULL;
}

int watched_name(lua_State *L, watched_events *self)
{
    int event = luaL_checkoption(L, 2, NULL, EVENTS);
    const char *text = luaL_checkstring(L, 3);

    if (self->names[event] == NULL) {
        self->names[event] = strdup(text);
    }
    return 0;
}

int watched_push(lua_State *L, const watched_events *self)
{
    const kl_activity *activity = &self->activity;

    if (activity->subject == NULL) {
        lua_pushstring(L, activity->what);
    } else {
        lua_pushfstring(L, "%s for %s", activity->what, activity->subject);
    }
    return 1;
}

/* Other activities of the loop, each with a text as its name */

/* core.activity(text): for poller:enter */
static int activity_new(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    kl_activity *self = lua_newuserdata(L, sizeof(*self) + length + 1);

    *self = (kl_activity){.what = memcpy(self + 1, text, length + 1)};
    luaL_getmetatable(L, TYPE_ACTIVITY);
    lua_setmetatable(L, -2);
    return 1;
}

/* core.where(f): where a function is defined, "shop.lua:12" */
static int push_definition_place(lua_State *L)
{
    lua_Debug info = {0};

    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_pushvalue(L, 1);
    /* Tarantool 2.6 answers 0, and fills nothing. */
    if (lua_getinfo(L, ">S", &info) == 0 || info.what == NULL) {
        lua_pushliteral(L, "?");
    } else if (*info.what == 'C') {
        lua_pushliteral(L, "[C]");
    } else {
        lua_pushfstring(L, "%s:%d", info.short_src, info.linedefined);
    }
    return 1;
}

void bind_watchdog(lua_State *L)
{
    static const luaL_Reg methods[] = {{NULL, NULL}};
    static const luaL_Reg functions[] = {{"activity", activity_new},
                                         {"where", push_definition_place},
                                         {NULL, NULL}};

    push_type(L, TYPE_ACTIVITY, methods);
    luaL_setfuncs(L, functions, 0);
}
