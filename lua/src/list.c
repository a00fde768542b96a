/*
 * list.c - owns a list of objects of the core while Lua makes a table of it.
 */
#include "binding.h"

static int list_gc(lua_State *L)
{
    kl_object_list_clear(lua_touserdata(L, 1));
    return 0;
}

kl_object_list *push_list_guard(lua_State *L)
{
    kl_object_list *list = lua_newuserdata(L, sizeof(*list));

    *list = (kl_object_list){0};
    luaL_getmetatable(L, "kubelua.list");
    lua_setmetatable(L, -2);
    return list;
}

void bind_list(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", list_gc}, {NULL, NULL}};

    push_type(L, "kubelua.list", methods);
}
