/*
 * failing.c - the Lua module "failing", for specs of the binding: allocations
 * of the core that fail while a script runs, and a lua_State of its own whose
 * allocator fails.
 */
#include "failing_plan.h"
#include "kubelua/memory.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_STATE "failing.state"

LUALIB_API int luaopen_failing(lua_State *L);

/* ---- the core's allocations ---- */

static atomic_long live_blocks;

static void *core_malloc(size_t size)
{
    void *block = failing_plan_must_fail() ? NULL : malloc(size);

    atomic_fetch_add(&live_blocks, block != NULL);
    return block;
}

static void *core_realloc(void *block, size_t size)
{
    void *moved = failing_plan_must_fail() ? NULL : realloc(block, size);

    atomic_fetch_add(&live_blocks, moved != NULL && block == NULL);
    return moved;
}

static void core_free(void *block)
{
    atomic_fetch_sub(&live_blocks, block != NULL);
    free(block);
}

/* failing.install(path of core.so): call it while no object of the core
 * lives. */
static int install(lua_State *L)
{
    static const kl_allocator allocator = {core_malloc, core_realloc,
                                           core_free};
    void *core = dlopen(luaL_checkstring(L, 1), RTLD_NOW | RTLD_NOLOAD);
    uintptr_t found =
        core != NULL ? (uintptr_t)dlsym(core, "kl_set_allocator") : 0;

    if (found == 0) {
        return luaL_error(L, "%s is not loaded", lua_tostring(L, 1));
    }
    ((void (*)(const kl_allocator *))found)(&allocator);
    return 0;
}

/* failing.live(): how many blocks of the core are allocated. */
static int live(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)atomic_load(&live_blocks));
    return 1;
}

static failing_plan check_plan(lua_State *L, int index)
{
    return (failing_plan){.nth = (long)luaL_checkinteger(L, index),
                          .forever = lua_toboolean(L, index + 1) != 0,
                          .only_here = true};
}

/* failing.follow(nth, forever): from now on allocations of the core fail on
 * this thread. */
static int follow(lua_State *L)
{
    failing_plan_follow(check_plan(L, 1));
    return 0;
}

/* failing.pause(): no allocation fails any more; returns how many failed. */
static int pause_plan(lua_State *L)
{
    failing_plan_pause();
    lua_pushinteger(L, (lua_Integer)failing_plan_failures());
    return 1;
}

/* ---- a lua_State whose allocator fails ---- */

typedef struct state_box {
    lua_State *state;
    long bytes; /* bytes that the state holds */
} state_box;

/* A lua_Alloc. A block that does not grow cannot fail. */
static void *state_alloc(void *context, void *block, size_t before, size_t size)
{
    state_box *box = context;
    void *moved;

    before = block != NULL ? before : 0; /* otherwise `before` is a type */
    if (size == 0) {
        box->bytes -= (long)before;
        free(block);
        return NULL;
    }
    if (size > before && failing_plan_must_fail()) {
        return NULL;
    }
    moved = realloc(block, size);
    if (moved != NULL) {
        box->bytes += (long)size - (long)before;
    }
    return moved;
}

static void close_state(state_box *box)
{
    if (box->state != NULL) {
        lua_close(box->state);
        box->state = NULL;
    }
}

static int state_gc(lua_State *L)
{
    close_state(lua_touserdata(L, 1));
    return 0;
}

/* failing.state(chunk): a new state that has run the chunk; nil if the
 * interpreter does not let a state have its own allocator. */
static int new_state(lua_State *L)
{
    const char *chunk = luaL_checkstring(L, 1);
    state_box *box = lua_newuserdata(L, sizeof(*box));

    *box = (state_box){0};
    luaL_getmetatable(L, TYPE_STATE);
    lua_setmetatable(L, -2);
    box->state = lua_newstate(state_alloc, box);
    if (box->state == NULL) {
        lua_pushnil(L);
        return 1;
    }
    luaL_openlibs(box->state);
    if (luaL_loadstring(box->state, chunk) != 0 ||
        lua_pcall(box->state, 0, 0, 0) != 0) {
        return luaL_error(L, "%s", lua_tostring(box->state, -1));
    }
    return 1;
}

/* state:call(name, nth, forever): calls a global function while an allocation
 * fails. Returns nil, or the error's text and true if it is an error of memory;
 * and how many allocations failed. */
static int state_call(lua_State *L)
{
    state_box *box = luaL_checkudata(L, 1, TYPE_STATE);
    failing_plan plan = check_plan(L, 3);
    int status;

    luaL_checkstack(box->state, 8, NULL);
    lua_getglobal(box->state, luaL_checkstring(L, 2));
    failing_plan_follow(plan);
    status = lua_pcall(box->state, 0, 0, 0);
    failing_plan_pause();
    if (status == 0) {
        lua_pushnil(L);
    } else {
        lua_pushstring(L, lua_tostring(box->state, -1));
    }
    lua_pushboolean(L, status == LUA_ERRMEM);
    lua_pushinteger(L, (lua_Integer)failing_plan_failures());
    lua_settop(box->state, 0);
    return 3;
}

/* state:close(): returns how many bytes the state has not freed. */
static int state_close(lua_State *L)
{
    state_box *box = luaL_checkudata(L, 1, TYPE_STATE);

    close_state(box);
    lua_pushinteger(L, (lua_Integer)box->bytes);
    return 1;
}

KL_API int luaopen_failing(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"install", install},  {"live", live},       {"follow", follow},
        {"pause", pause_plan}, {"state", new_state}, {NULL, NULL}};

    luaL_newmetatable(L, TYPE_STATE);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, state_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, state_call);
    lua_setfield(L, -2, "call");
    lua_pushcfunction(L, state_close);
    lua_setfield(L, -2, "close");
    lua_pop(L, 1);
    lua_newtable(L);
    for (const luaL_Reg *each = functions; each->name != NULL; each++) {
        lua_pushcfunction(L, each->func);
        lua_setfield(L, -2, each->name);
    }
    return 1;
}
