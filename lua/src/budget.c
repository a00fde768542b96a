/*
 * budget.c - limits of time and memory for Lua code that is not trusted: a hook
 * on the count of instructions, and an allocator around that of the lua_State.
 * The gateway runs the scripts of tenants between begin and end; nothing may
 * yield there, since LuaJIT's hook is the one of all coroutines.
 */
#include "budget.h"

#include <time.h>

/* Instructions between two looks at the clock. A call of a C function is one
 * instruction, and may take a millisecond of a text of megabytes. */
#define LOOK_EVERY 50
/* Bytes that are allocated between two looks: long texts take time, too. */
#define LOOK_BYTES (1 << 20)
/* What may be allocated whatever the limits say, so that the error is handled;
 * the hook ends the script soon. */
#define SMALL_BYTES 4096
/* Nanoseconds that a look stands for if the coarse clock has not moved. */
#define NS_OF_LOOK 250

#ifdef CLOCK_MONOTONIC_COARSE
#define TICKING_CLOCK CLOCK_MONOTONIC_COARSE
#else
#define TICKING_CLOCK CLOCK_MONOTONIC
#endif

struct budget {
    lua_Alloc allocate; /* of the lua_State */
    void *of_allocate;
    lua_Hook hook; /* that was there before */
    int mask, count;
    bool has_begun;
    const char *own; /* the source of functions that are not stopped */
    limit_over over;
    int64_t bytes, most_bytes; /* that may still be allocated; at most */
    int64_t unlooked;          /* bytes since the last look */
    int64_t ns;                /* of CPU time that are left */
    int64_t looks;
    int64_t tick;  /* the coarse clock at the last look; 0: none yet */
    int64_t since; /* CPU time of the thread; 0: the coarse clock stands */
};

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t used_ns(const budget *self)
{
    int64_t by_clock = self->since != 0
                           ? read_clock(CLOCK_THREAD_CPUTIME_ID) - self->since
                           : 0;
    int64_t by_looks = self->looks * NS_OF_LOOK;

    return by_clock > by_looks ? by_clock : by_looks;
}

/* The CPU time costs a system call: it is read when the coarse clock moves. */
static bool is_late(budget *self)
{
    int64_t tick = read_clock(TICKING_CLOCK);

    self->looks++;
    self->unlooked = 0;
    if (self->tick == 0) {
        self->tick = tick;
    } else if (tick != self->tick) {
        self->tick = tick;
        if (self->since == 0) {
            self->since = read_clock(CLOCK_THREAD_CPUTIME_ID);
        } else if (read_clock(CLOCK_THREAD_CPUTIME_ID) - self->since >
                   self->ns) {
            return true;
        }
    }
    return false;
}

static void count_growth(budget *self, int64_t growth)
{
    self->bytes -= growth;
    self->unlooked += growth > 0 ? growth : 0;
    if (self->bytes > self->most_bytes) {
        self->bytes = self->most_bytes; /* garbage of others was freed */
    } else if (self->over == LIMIT_KEPT && self->bytes < 0) {
        self->over = LIMIT_MEMORY;
    } else if (self->over == LIMIT_KEPT && self->unlooked > LOOK_BYTES &&
               is_late(self)) {
        self->over = LIMIT_TIME;
    }
}

/* NULL fails the allocation with an error that Lua may catch; `over` says that
 * the script must not go on. To make a block smaller never fails. */
static void *allocate_within(void *data, void *block, size_t old, size_t size)
{
    budget *self = data;
    int64_t growth = (int64_t)size - (block != NULL ? (int64_t)old : 0);

    count_growth(self, growth);
    if (growth > SMALL_BYTES && self->over != LIMIT_KEPT) {
        self->bytes += growth;
        return NULL;
    }
    return self->allocate(self->of_allocate, block, old, size);
}

static budget *current_budget(lua_State *L)
{
    void *data;

    return lua_getallocf(L, &data) == allocate_within ? data : NULL;
}

/* Ends the script: the value tells nothing, and needs no memory. */
static void stop_script(lua_State *L)
{
    lua_pushlightuserdata(L, NULL);
    lua_error(L);
}

void budget_look(lua_State *L)
{
    budget *self = current_budget(L);

    if (self == NULL) {
        return;
    }
    if (self->over == LIMIT_KEPT && is_late(self)) {
        self->over = LIMIT_TIME;
    }
    if (self->over != LIMIT_KEPT) {
        stop_script(L);
    }
}

/* The functions that begin and end a script are never stopped. */
static void look_by_count(lua_State *L, lua_Debug *ar)
{
    const budget *self = current_budget(L);

    if (self != NULL && lua_getinfo(L, "S", ar) != 0 &&
        ar->source != self->own) {
        budget_look(L);
    }
}

/* core.budget_own(): the functions of the file that calls this begin and end
 * scripts. */
static int set_own(lua_State *L)
{
    budget *self = lua_touserdata(L, lua_upvalueindex(1));
    lua_Debug ar;

    if (lua_getstack(L, 1, &ar) != 0 && lua_getinfo(L, "S", &ar) != 0) {
        self->own = ar.source;
    }
    return 0;
}

/* core.budget_begin(seconds, bytes): from here on, code of this lua_State may
 * take so much CPU time, and its memory may grow by so much. */
static int begin(lua_State *L)
{
    budget *self = lua_touserdata(L, lua_upvalueindex(1));
    lua_Number seconds = lua_tonumber(L, 1);
    lua_Number bytes = lua_tonumber(L, 2);

    if (self->has_begun) {
        return luaL_error(L, "core.budget_begin: the limits have begun");
    }
    self->ns = (int64_t)(seconds * 1e9);
    self->bytes = self->most_bytes = (int64_t)bytes;
    self->unlooked = self->looks = self->tick = self->since = 0;
    self->over = LIMIT_KEPT;
    self->hook = lua_gethook(L);
    self->mask = lua_gethookmask(L);
    self->count = lua_gethookcount(L);
    self->allocate = lua_getallocf(L, &self->of_allocate);
    self->has_begun = true;
    lua_sethook(L, look_by_count, LUA_MASKCOUNT, LOOK_EVERY);
    lua_setallocf(L, allocate_within, self);
    return 0;
}

/* core.budget_end(): the limits hold no longer. The seconds and bytes that are
 * left; and "time" or "memory" if that limit was passed. */
static int end(lua_State *L)
{
    static const char *const names[] = {NULL, "time", "memory"};
    budget *self = lua_touserdata(L, lua_upvalueindex(1));
    limit_over over = self->over;

    if (!self->has_begun) {
        return 0;
    }
    lua_setallocf(L, self->allocate, self->of_allocate);
    lua_sethook(L, self->hook, self->mask, self->count);
    self->has_begun = false;
    lua_pushnumber(L, (lua_Number)(self->ns - used_ns(self)) / 1e9);
    lua_pushnumber(L, (lua_Number)self->bytes);
    if (over == LIMIT_KEPT) {
        return 2;
    }
    lua_pushstring(L, names[over]);
    return 3;
}

/* core.budget_over(): true if the code that runs has passed a limit, so that it
 * must end although it caught the error. */
static int is_over(lua_State *L)
{
    const budget *self = lua_touserdata(L, lua_upvalueindex(1));

    lua_pushboolean(L, self->has_begun && self->over != LIMIT_KEPT);
    return 1;
}

/* A lua_State that is closed while the limits hold frees by its allocator. */
static int drop_budget(lua_State *L)
{
    budget *self = lua_touserdata(L, 1);

    if (self->has_begun) {
        lua_setallocf(L, self->allocate, self->of_allocate);
        self->has_begun = false;
    }
    return 0;
}

void bind_budget(lua_State *L)
{
    static const luaL_Reg functions[] = {{"budget_begin", begin},
                                         {"budget_end", end},
                                         {"budget_over", is_over},
                                         {"budget_own", set_own},
                                         {NULL, NULL}};
    static const luaL_Reg methods[] = {{"__gc", drop_budget}, {NULL, NULL}};
    budget *self;

    push_type(L, TYPE_BUDGET, methods);
    self = lua_newuserdata(L, sizeof(*self));
    *self = (budget){.has_begun = false};
    luaL_setmetatable(L, TYPE_BUDGET);
    luaL_setfuncs(L, functions, 1);
}
