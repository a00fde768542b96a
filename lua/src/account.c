/*
 * account.c - tells Lua's collector how much memory in C its garbage holds. The
 * collector sees some 80 bytes of a userdata that holds an object of 7 KB and
 * its tree; with a large heap it would start only after gigabytes.
 *
 * What only the script keeps alive is charged: objects made for it, old states
 * and deleted objects that it is given, and the trees it has parsed. An object
 * that the cache holds costs nothing more. (An old state that goes to several
 * handlers is charged for each: the collector then runs earlier.) The collector
 * makes the progress it would make if Lua had allocated these bytes. Below a
 * heap of SMALL bytes it makes less: SMALL bytes then count as much as the
 * whole heap, because a cycle of the collector would cost more than the objects
 * do.
 */
#include "view.h"

enum {
    /* Bytes. LuaJIT's cycle takes longer: bench/README.md. */
    SMALL = LUA_VERSION_NUM >= 504 ? 4 << 20 : 8 << 20,
    PORTION = 64 << 10 /* bytes charged between two steps */
};

struct account {
    size_t held;   /* charged and not yet collected */
    size_t due;    /* charged since the last step */
    size_t base;   /* least value of `held` since a cycle ended */
    bool collects; /* LuaJIT: a cycle begun here is under way */
};

account *push_account(lua_State *L)
{
    static const char address = 0;

    return push_kept(L, &address, sizeof(account));
}

/* How many bytes of garbage make a cycle of the collector worthwhile: as many
 * as the heap has (Lua's own measure); twice that in LuaJIT, whose cycles take
 * longer (bench/README.md). */
static size_t garbage_budget(lua_State *L)
{
    size_t heap = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;

    heap *= LUA_VERSION_NUM >= 504 ? 1 : 2;
    return heap > SMALL ? heap : SMALL;
}

#if LUA_VERSION_NUM >= 504
/* A step with a size adds to the collector's debt, and leaves its pause and its
 * mode as they are. */
static void advance_collector(lua_State *L, account *self)
{
    size_t heap = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;
    double share = (double)heap / (double)garbage_budget(L);

    lua_gc(L, LUA_GCSTEP, (int)((double)self->due * share / 1024) + 1);
}
#else
/* In LuaJIT any step begins a cycle, even just after the last one ended. So a
 * cycle is begun here only once it is worthwhile, and then done within a
 * quarter of that garbage. */
static void advance_collector(lua_State *L, account *self)
{
    size_t enough = garbage_budget(L);
    size_t heap = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;

    if (self->held >= self->base + enough) {
        self->collects = true;
    } else if (self->held < self->base + enough / 2) {
        /* LuaJIT has collected by itself. */
        self->collects = false;
    }
    /* A step of one kilobyte does the work of two kilobytes. */
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
    account *self = push_account(L);

    lua_pop(L, 1);
    owner->charged += bytes;
    self->held += bytes;
    self->due += bytes;
    if (self->due < PORTION) {
        return;
    }
    /* No step while the script has stopped the collector, nor in a finalizer,
     * where Lua has stopped it: a step would run it all the same. */
    if (lua_gc(L, LUA_GCISRUNNING, 0) > 0) {
        advance_collector(L, self);
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
