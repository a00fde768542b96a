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

/* Userdata with a user value, `values` of which is 0 or 1: what Lua keeps alive
 * as long as it; any value from 5.3 on, before that a table. */
#if LUA_VERSION_NUM >= 504
#define compat_newuserdata(L, size, values) lua_newuserdatauv(L, size, values)
#define compat_getuservalue(L, index) ((void)lua_getiuservalue(L, index, 1))
#define compat_setuservalue(L, index) ((void)lua_setiuservalue(L, index, 1))
#else
#define compat_newuserdata(L, size, values) lua_newuserdata(L, size)
#if LUA_VERSION_NUM >= 502
#define compat_getuservalue(L, index) ((void)lua_getuservalue(L, index))
#define compat_setuservalue(L, index) ((void)lua_setuservalue(L, index))
#else
#define compat_getuservalue(L, index) ((void)lua_getfenv(L, index))
#define compat_setuservalue(L, index) ((void)lua_setfenv(L, index))
#endif
#endif

#endif
