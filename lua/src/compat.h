/*
 * compat.h - hides the few differences between the C APIs of Lua 5.1 (LuaJIT)
 * and Lua 5.2 to 5.4 that concern this binding.
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

/* LuaRocks may know only the headers of plain Lua 5.1, which has the same ABI
 * as LuaJIT, and lacks these. */
#if LUA_VERSION_NUM < 502 && !defined(LUA_GCISRUNNING)
#define LUA_GCISRUNNING 9
void luaL_setfuncs(lua_State *L, const luaL_Reg *functions, int upvalues);
int lua_isyieldable(lua_State *L);
#endif

/* A userdata with `values` user values (0 or 1). Lua keeps a user value alive
 * as long as its userdata. From Lua 5.3 on it is any value; before, a table. */
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
