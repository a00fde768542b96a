/*
 * reply.c - raw requests: reads the table of a request, pushes its reply; and
 * guards, userdata whose __gc frees what the core returned. Part of both C
 * modules.
 */
#include "binding.h"

#include <limits.h>

void check_call(lua_State *L, int index, kl_call *call)
{
    static const char *const names[] = {"method", "target",  "body", "type",
                                        "accept", "timeout", NULL};
    int64_t timeout_ms;

    check_options(L, index, "request", names);
    timeout_ms = option_ms(L, index, "timeout", 0);
    *call = (kl_call){.method = option_string(L, index, "method"),
                      .target = option_string(L, index, "target"),
                      .content_type = option_string(L, index, "type"),
                      .accept = option_string(L, index, "accept"),
                      .timeout_ms =
                          timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX};
    if (call->target == NULL) {
        misuse(L, "request needs a target, such as \"/version\"");
    }
    if (call->method == NULL) {
        call->method = "GET";
    }
    push_option(L, index, "body");
    if (lua_type(L, -1) == LUA_TSTRING) {
        call->body = lua_tolstring(L, -1, &call->body_length);
    } else if (!lua_isnil(L, -1)) {
        misuse(L, "option 'body' must be a string, not a %s",
               luaL_typename(L, -1));
    }
    lua_pop(L, 1); /* the table keeps the string alive */
}

static int reply_gc(lua_State *L)
{
    kl_reply_clear(lua_touserdata(L, 1));
    return 0;
}

kl_reply *push_reply_guard(lua_State *L)
{
    kl_reply *reply = lua_newuserdata(L, sizeof(*reply));

    *reply = (kl_reply){0};
    luaL_getmetatable(L, "kubelua.reply");
    lua_setmetatable(L, -2);
    return reply;
}

void push_reply(lua_State *L, const kl_reply *reply)
{
    lua_pushinteger(L, reply->status);
    lua_pushlstring(L, reply->body != NULL ? reply->body : "",
                    reply->body_length);
    lua_pushstring(L, reply->content_type != NULL ? reply->content_type : "");
}

static int text_gc(lua_State *L)
{
    char **box = lua_touserdata(L, 1);

    kl_free(*box);
    *box = NULL;
    return 0;
}

char **push_text_guard(lua_State *L)
{
    char **box = lua_newuserdata(L, sizeof(char *));

    *box = NULL;
    luaL_getmetatable(L, "kubelua.text");
    lua_setmetatable(L, -2);
    return box;
}

void bind_reply(lua_State *L)
{
    static const luaL_Reg reply_methods[] = {{"__gc", reply_gc}, {NULL, NULL}};
    static const luaL_Reg text_methods[] = {{"__gc", text_gc}, {NULL, NULL}};

    push_type(L, "kubelua.reply", reply_methods);
    push_type(L, "kubelua.text", text_methods);
}
