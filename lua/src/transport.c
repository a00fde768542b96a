/*
 * transport.c - hands a transport from one C module to the other: the module
 * kubelua.simcore makes it, core.connect sends requests through it. Part of
 * both.
 */
#include "binding.h"

#define TYPE_TRANSPORT "kubelua.transport"

kl_transport *check_transport(lua_State *L, int index)
{
    kl_transport **box = luaL_checkudata(L, index, TYPE_TRANSPORT);

    if (*box == NULL) {
        misuse(L, "the transport is closed");
    }
    return *box;
}

kl_transport **push_transport(lua_State *L)
{
    kl_transport **box = lua_newuserdata(L, sizeof(*box));

    *box = NULL;
    luaL_getmetatable(L, TYPE_TRANSPORT);
    lua_setmetatable(L, -2);
    return box;
}

static int transport_gc(lua_State *L)
{
    kl_transport **box = lua_touserdata(L, 1);

    kl_transport_unref(*box);
    *box = NULL;
    return 0;
}

void bind_transport(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", transport_gc}, {NULL, NULL}};

    push_type(L, TYPE_TRANSPORT, methods);
}
