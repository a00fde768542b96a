/*
 * list.c - owns lists of the core while Lua makes tables of them.
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

void push_unreadable(lua_State *L, const kl_unreadable_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, list->items[i].key);
        lua_setfield(L, -2, "key");
        lua_pushstring(L, list->items[i].why);
        lua_setfield(L, -2, "why");
        lua_pushboolean(L, list->items[i].is_cached);
        lua_setfield(L, -2, "cached");
        lua_rawseti(L, -2, (int)i + 1);
    }
}

static int unreadable_gc(lua_State *L)
{
    kl_unreadable_list_clear(lua_touserdata(L, 1));
    return 0;
}

kl_unreadable_list *push_unreadable_guard(lua_State *L)
{
    kl_unreadable_list *list = lua_newuserdata(L, sizeof(*list));

    *list = (kl_unreadable_list){0};
    luaL_getmetatable(L, "kubelua.unreadable");
    lua_setmetatable(L, -2);
    return list;
}

void bind_list(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", list_gc}, {NULL, NULL}};
    static const luaL_Reg unreadable_methods[] = {{"__gc", unreadable_gc},
                                                  {NULL, NULL}};

    push_type(L, "kubelua.list", methods);
    push_type(L, "kubelua.unreadable", unreadable_methods);
}
