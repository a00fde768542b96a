/*
 * compat.h - the few differences between the C APIs of Lua 5.1 (LuaJIT) and
 * 5.2 to 5.4 that the binding meets.
 */
#ifndef KUBELUA_COMPAT_H
#define KUBELUA_COMPAT_H

#include <lauxlib.h>
#include <lua.h>

#if LUA_VERSION_NUM < 502
#define lua_rawlen(L, index) lua_objlen(L, index)
#define COMPAT_ABSINDEX(L, index)                \
    ((index) > 0 || (index) <= LUA_REGISTRYINDEX \
         ? (index)                               \
         : lua_gettop(L) + (index) + 1)
#else
#define COMPAT_ABSINDEX(L, index) lua_absindex(L, index)
#endif

#endif
