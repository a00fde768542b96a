/*
 * request.c - requests that suspend the Lua task that sends them
 * (kubelua/request.h). The tag of a request is the id of its source in Lua; the
 * poller returns it when the request is complete, or a stream has more bytes.
 */
#include "binding.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

typedef struct request_box {
    kl_request *request; /* NULL while it is made, and once it is freed */
} request_box;

static kl_request *check_request(lua_State *L)
{
    request_box *box = luaL_checkudata(L, 1, TYPE_REQUEST);

    if (box->request == NULL) {
        luaL_error(L, "the request is closed");
    }
    return box->request;
}

/* The option "headers", an array {name, value, name, value, ...}. Pushes it and
 * a userdata with an array of kl_header, whose strings are borrowed from it. */
static const kl_header *check_headers(lua_State *L, int index, size_t *count)
{
    kl_header *headers;
    size_t length;

    push_option(L, index, "headers"); /* headers or nil */
    *count = 0;
    if (lua_isnil(L, -1)) {
        return NULL;
    }
    luaL_checktype(L, -1, LUA_TTABLE);
    length = lua_rawlen(L, -1) / 2;
    headers = lua_newuserdata(L, (length + 1) * sizeof(*headers));
    /* headers, userdata */
    for (size_t i = 0; i < length; i++) {
        lua_rawgeti(L, -2, (int)(2 * i) + 1);
        lua_rawgeti(L, -3, (int)(2 * i) + 2);
        /* headers, userdata, name, value */
        headers[i] =
            (kl_header){.name = check_text(L, -2), .value = check_text(L, -1)};
        lua_pop(L, 2);
    }
    *count = length;
    return headers;
}

/* The option "body"; borrowed from the options table. */
static void check_body(lua_State *L, int index, kl_call *call)
{
    push_option(L, index, "body");
    if (!lua_isnil(L, -1)) {
        call->body = luaL_checklstring(L, -1, &call->body_length);
    }
    lua_pop(L, 1);
}

/* core.request_send(client, {method =, target =, body =, type =, accept =,
 * authorization =, headers =, timeout =, send_by =, no_retry =, streams =},
 * poller, id): a request; or nil, message, code. From the time send_by (of
 * core.boottime) on, the request is not sent any more. */
static int request_send(lua_State *L)
{
    int64_t timeout_ms = option_ms(L, 2, "timeout", 0);
    kl_event_queue *queue;
    request_box *box;
    kl_client *client;
    lua_Integer id;
    kl_error err;
    kl_call call = {.method = option_string(L, 2, "method"),
                    .target = option_string(L, 2, "target"),
                    .content_type = option_string(L, 2, "type"),
                    .accept = option_string(L, 2, "accept"),
                    .authorization = option_string(L, 2, "authorization"),
                    .send_by_ms = option_ms(L, 2, "send_by", 0),
                    .no_retry = option_bool(L, 2, "no_retry"),
                    .streams = option_bool(L, 2, "streams"),
                    .timeout_ms =
                        timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX};

    lua_settop(L, 4);
    id = luaL_checkinteger(L, 4);
    check_body(L, 2, &call);
    call.headers = check_headers(L, 2, &call.header_count);
    box = lua_newuserdata(L, sizeof(*box));
    box->request = NULL;
    luaL_getmetatable(L, TYPE_REQUEST);
    lua_setmetatable(L, -2);
    /* client, call, poller, id, headers.., box */
    queue = check_queue(L, 3);
    client = check_client(L, 1);
    box->request =
        kl_client_send(client, &call, queue, (void *)(intptr_t)id, &err);
    return box->request != NULL ? 1 : push_error(L, &err);
}

/* core.request_is_complete(request): also true in a child of fork(), where no
 * answer can arrive. */
static int request_is_complete(lua_State *L)
{
    kl_request *request = check_request(L);

    lua_pushboolean(L, kl_request_is_complete(request) ||
                           kl_request_wait(request, 0) == KL_EFORKED);
    return 1;
}

/* core.request_wait(request, seconds): blocks; true once it is complete. */
static int request_wait(lua_State *L)
{
    int64_t timeout_ms = check_ms(L, 2, 0);

    lua_pushboolean(L, kl_request_wait(check_request(L), timeout_ms) == KL_OK);
    return 1;
}

/* core.request_result(request, is_brief): {status =, body =, headers =}, once
 * only; or nil, message, code. If is_brief, a userdata that makes these fields
 * when they are read: most replies to the verbs are read in C. */
static int request_result(lua_State *L)
{
    kl_reply *reply;
    kl_error err;

    check_request(L);
    lua_settop(L, 2);
    reply = push_reply_guard(L);
    if (kl_request_result(check_request(L), reply, &err) != KL_OK) {
        return push_error(L, &err);
    }
    if (!lua_toboolean(L, 2)) {
        push_reply_table(L, reply);
    }
    return 1;
}

/* core.reply_has_json(reply): true if the body begins as an object or an array
 * does. */
static int reply_has_json(lua_State *L)
{
    const kl_reply *reply = luaL_checkudata(L, 1, TYPE_REPLY);
    const char *text = reply->body != NULL ? reply->body : "";

    text += strspn(text, " \t\n\v\f\r");
    lua_pushboolean(L, *text == '{' || *text == '[');
    return 1;
}

/* core.reply_clear(reply): frees what it holds, so that it does not wait for
 * the collector, which does not see these bytes. */
static int reply_clear(lua_State *L)
{
    kl_reply_clear(luaL_checkudata(L, 1, TYPE_REPLY));
    return 0;
}

/* core.request_read(request): the next bytes of a stream; "" if none are there
 * yet; nil at its end; nil, message, code if the stream broke. */
static int request_read(lua_State *L)
{
    char buffer[16384];
    size_t length = 0;
    kl_error err;
    kl_code code = kl_request_read(check_request(L), buffer, sizeof(buffer),
                                   &length, &err);

    if (code == KL_ETIMEOUT) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (code != KL_OK) {
        return push_error(L, &err);
    }
    if (length == 0) {
        lua_pushnil(L);
    } else {
        lua_pushlstring(L, buffer, length);
    }
    return 1;
}

/* core.request_cancel(request): the request is complete within 50 ms. */
static int request_cancel(lua_State *L)
{
    request_box *box = luaL_checkudata(L, 1, TYPE_REQUEST);

    if (box->request != NULL) {
        kl_request_cancel(box->request);
    }
    return 0;
}

/* core.request_free(request): frees it; cancels it if it is in flight. */
static int request_free(lua_State *L)
{
    request_box *box = luaL_checkudata(L, 1, TYPE_REQUEST);

    kl_request_free(box->request);
    box->request = NULL;
    return 0;
}

void bind_request(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", request_free}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"request_send", request_send},
        {"request_is_complete", request_is_complete},
        {"request_wait", request_wait},
        {"request_result", request_result},
        {"reply_has_json", reply_has_json},
        {"reply_clear", reply_clear},
        {"request_read", request_read},
        {"request_cancel", request_cancel},
        {"request_free", request_free},
        {NULL, NULL}};

    push_type(L, TYPE_REQUEST, methods);
    luaL_setfuncs(L, functions, 0);
}
