/*
 * push.c - pushes results. A call of the module that fails returns nil, a
 * message and a code. Also makes metatables, and userdata that have a state.
 */
#include "binding.h"

#include <stdint.h>
#include <string.h>

int push_error(lua_State *L, const kl_error *err)
{
    lua_pushnil(L);
    lua_pushstring(L, err->message);
    lua_pushstring(L, kl_code_name(err->code));
    return 3;
}

void push_borrowed(lua_State *L, const char *text)
{
    char copy[1024]; /* namespaces and URLs are shorter */
    size_t length = strlen(text);

    if (length < sizeof(copy)) {
        text = memcpy(copy, text, length);
    }
    lua_pushlstring(L, text, length);
}

void push_type(lua_State *L, const char *name, const luaL_Reg *methods)
{
    if (!luaL_newmetatable(L, name)) {
        lua_pop(L, 1); /* kubelua.simcore has made it, from the same source */
        return;
    }
    lua_newtable(L);
    for (; methods->name != NULL; methods++) {
        bool is_event = methods->name[0] == '_';

        /* metatable, table of methods */
        lua_pushcfunction(L, methods->func);
        lua_setfield(L, is_event ? -3 : -2, methods->name);
    }
    lua_getfield(L, -2, "__index");
    /* metatable, table of methods, __index or nil */
    if (lua_isnil(L, -1)) {
        lua_pushvalue(L, -2);
        lua_setfield(L, -4, "__index");
    }
    lua_pop(L, 2);
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}

void *test_type(lua_State *L, int index, const char *name)
{
    void *box = lua_touserdata(L, index);
    bool same;

    if (box == NULL || !lua_getmetatable(L, index)) {
        return NULL;
    }
    luaL_getmetatable(L, name);
    same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same ? box : NULL;
}

void *push_with_state(lua_State *L, size_t size, const char *type)
{
    void *box;

    lua_newtable(L);
    box = compat_newuserdata(L, size, 1);
    memset(box, 0, size);
    luaL_getmetatable(L, type);
    lua_setmetatable(L, -2);
    lua_insert(L, -2);
    /* userdata, state */
    compat_setuservalue(L, -2);
    return box;
}

void *push_kept(lua_State *L, const void *address, size_t size)
{
    void *kept;

    lua_pushlightuserdata(L, (void *)(uintptr_t)address);
    lua_rawget(L, LUA_REGISTRYINDEX);
    kept = lua_touserdata(L, -1);
    if (kept == NULL) {
        lua_pop(L, 1);
        kept = lua_newuserdata(L, size);
        memset(kept, 0, size);
        lua_pushlightuserdata(L, (void *)(uintptr_t)address);
        lua_pushvalue(L, -2);
        lua_rawset(L, LUA_REGISTRYINDEX);
    }
    return kept;
}

void push_state(lua_State *L, int index)
{
    compat_getuservalue(L, index);
}

void set_count(lua_State *L, const char *name, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}
