/*
 * account.c - tells Lua's collector of the memory in C that its garbage holds.
 * The collector sees some 80 bytes of a userdata that holds an object of 7 KB
 * and its tree, so with a large heap it would come by after gigabytes.
 *
 * Charged is what the script alone keeps alive: objects made for it, old states
 * and deleted ones as they are handed out, and the trees that it has opened. An
 * object that the cache holds costs nothing more. (An old state that several
 * handlers are given is charged for each: the collector then comes sooner.) The
 * collector is moved on as if Lua had allocated the bytes, but for heaps below
 * SMALL: there, SMALL bytes count as much as the whole heap, or a cycle of the
 * collector would cost more than the objects do.
 */
#include "view.h"

#include <stdint.h>

enum {
    /* Bytes. A cycle of LuaJIT takes longer: see bench/README.md. */
    SMALL = LUA_VERSION_NUM >= 504 ? 4 << 20 : 8 << 20,
    PORTION = 64 << 10 /* bytes that are charged between two steps */
};

struct account {
    size_t held;   /* charged, and not collected */
    size_t due;    /* charged since the last step */
    size_t base;   /* the least that was held since a cycle ended */
    bool collects; /* LuaJIT: in a cycle that was begun here */
};

/* The key of a lua_State's account in the registry. */
static const char key = 0;

static account *look_up(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)(uintptr_t)&key);
    lua_rawget(L, LUA_REGISTRYINDEX);
    return lua_touserdata(L, -1);
}

void push_account(lua_State *L)
{
    account *self = look_up(L);

    if (self == NULL) {
        lua_pop(L, 1);
        self = lua_newuserdata(L, sizeof(*self));
        *self = (account){0};
        lua_pushlightuserdata(L, (void *)(uintptr_t)&key);
        lua_pushvalue(L, -2);
        lua_rawset(L, LUA_REGISTRYINDEX);
    }
}

/* The bytes of garbage after which a cycle of the collector is worth it: as
 * much as the heap, which is Lua's own measure; twice that in LuaJIT, whose
 * cycles take longer (bench/README.md). */
static size_t budget(lua_State *L)
{
    size_t heap = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;

    heap *= LUA_VERSION_NUM >= 504 ? 1 : 2;
    return heap > SMALL ? heap : SMALL;
}

#if LUA_VERSION_NUM >= 504
/* A step with a size adds to the collector's debt: its pause, and its mode,
 * stay in force. */
static void move_on(lua_State *L, account *self)
{
    size_t heap = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;
    double share = (double)heap / (double)budget(L);

    lua_gc(L, LUA_GCSTEP, (int)((double)self->due * share / 1024) + 1);
}
#else
/* In LuaJIT a step begins a cycle, however long ago the last one was: so a
 * cycle is begun once it is worth it, and then done within a quarter of that.
 */
static void move_on(lua_State *L, account *self)
{
    size_t enough = budget(L);
    size_t heap = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;

    if (self->held >= self->base + enough) {
        self->collects = true;
    } else if (self->held < self->base + enough / 2) {
        self->collects = false; /* the collector has been there by itself */
    }
    /* A step of a kilobyte is two kilobytes of work. */
    if (self->collects && lua_gc(L, LUA_GCSTEP,
                                 (int)((double)heap * 2 * (double)self->due /
                                       (double)enough / 1024) +
                                     1) == 1) {
        self->collects = false;
        self->base = self->held;
    }
}
#endif

void account_charge(lua_State *L, whole *owner, size_t bytes)
{
    account *self = look_up(L);

    lua_pop(L, 1);
    owner->charged += bytes;
    self->held += bytes;
    self->due += bytes;
    if (self->due < PORTION) {
        return;
    }
    /* Not while the script has stopped the collector, nor in a finalizer, where
     * Lua has: a step would run it all the same. */
    if (lua_gc(L, LUA_GCISRUNNING, 0) > 0) {
        move_on(L, self);
    }
    self->due = 0;
}

void account_release(account *self, whole *owner)
{
    self->held -= owner->charged;
    owner->charged = 0;
    if (self->held < self->base) {
        self->base = self->held;
    }
}
