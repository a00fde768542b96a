/*
 * reply.c - raw requests: reads the table of a request, pushes its reply; and
 * guards, userdata whose __gc frees what the core returned. Part of both C
 * modules.
 */
#include "binding.h"

#include <limits.h>
#include <string.h>

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
    luaL_getmetatable(L, TYPE_REPLY);
    lua_setmetatable(L, -2);
    return reply;
}

static void push_headers(lua_State *L, const kl_reply *reply)
{
    lua_createtable(L, 0, (int)reply->header_count);
    for (size_t i = 0; i < reply->header_count; i++) {
        const kl_header *header = &reply->headers[i];

        lua_pushstring(L, header->name);
        lua_pushstring(L, header->value);
        /* headers, name, value */
        lua_pushvalue(L, -2);
        lua_rawget(L, -4);
        /* headers, name, value, earlier value or nil */
        if (lua_isnil(L, -1)) {
            lua_pop(L, 1);
        } else {
            lua_insert(L, -2);
            lua_pushliteral(L, ", ");
            lua_insert(L, -2);
            lua_concat(L, 3);
        }
        lua_rawset(L, -3);
    }
}

/* Pushes a field of the reply: status, body or headers; nil: another name.
 * Values of headers of the same name are joined with commas. */
static void push_reply_field(lua_State *L, const kl_reply *reply,
                             const char *name)
{
    if (strcmp(name, "status") == 0) {
        lua_pushinteger(L, reply->status);
    } else if (strcmp(name, "body") == 0) {
        lua_pushlstring(L, reply->body != NULL ? reply->body : "",
                        reply->body_length);
    } else if (strcmp(name, "headers") == 0) {
        push_headers(L, reply);
    } else {
        lua_pushnil(L);
    }
}

/* reply.status, reply.body, reply.headers: made when they are read. */
static int reply_index(lua_State *L)
{
    const kl_reply *reply = luaL_checkudata(L, 1, TYPE_REPLY);

    push_reply_field(L, reply, luaL_checkstring(L, 2));
    return 1;
}

void push_reply_table(lua_State *L, const kl_reply *reply)
{
    static const char *const names[] = {"status", "body", "headers"};

    lua_createtable(L, 0, 3);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        push_reply_field(L, reply, names[i]);
        lua_setfield(L, -2, names[i]);
    }
}

kl_reply *test_reply(lua_State *L, int index)
{
    return test_type(L, index, TYPE_REPLY);
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
    static const luaL_Reg reply_methods[] = {
        {"__gc", reply_gc}, {"__index", reply_index}, {NULL, NULL}};
    static const luaL_Reg text_methods[] = {{"__gc", text_gc}, {NULL, NULL}};

    push_type(L, TYPE_REPLY, reply_methods);
    push_type(L, "kubelua.text", text_methods);
}
