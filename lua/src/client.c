/*
 * client.c - a connection to one API server, over the network or straight into
 * a simulator, and raw requests through it.
 */
#include "binding.h"

#include <limits.h>

static const char *const OPTIONS[] = {
    "kubeconfig", "context",         "server",    "token",    "token_file",
    "ca_file",    "ca_data",         "cert_file", "key_file", "namespace",
    "insecure",   "tls_server_name", "proxy_url", "sim",      NULL};

typedef struct client_box {
    kl_client *client; /* NULL once closed */
} client_box;

kl_client *check_client(lua_State *L, int index)
{
    client_box *box = luaL_checkudata(L, index, TYPE_CLIENT);

    if (box->client == NULL) {
        luaL_argerror(L, index, "the client is closed");
    }
    return box->client;
}

static void read_options(lua_State *L, int index, kl_config_options *options)
{
    *options = (kl_config_options){
        .kubeconfig = option_string(L, index, "kubeconfig"),
        .context = option_string(L, index, "context"),
        .server = option_string(L, index, "server"),
        .token = option_string(L, index, "token"),
        .token_file = option_string(L, index, "token_file"),
        .ca_file = option_string(L, index, "ca_file"),
        .ca_data = option_string(L, index, "ca_data"),
        .cert_file = option_string(L, index, "cert_file"),
        .key_file = option_string(L, index, "key_file"),
        .name_space = option_string(L, index, "namespace"),
        .tls_server_name = option_string(L, index, "tls_server_name"),
        .proxy_url = option_string(L, index, "proxy_url"),
        .insecure = option_bool(L, index, "insecure")};
}

/* No lua_* call between what is taken and what is given back. */
static kl_client *over_network(const kl_config_options *options, kl_error *err)
{
    kl_config *config = kl_config_load(options, err);
    kl_client *client = NULL;

    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, err);
        kl_config_unref(config);
    }
    return client;
}

static kl_client *into_sim(kl_sim *sim, const char *token, kl_error *err)
{
    kl_transport *transport = kl_sim_transport_as(sim, token, err);
    kl_client *client = NULL;

    if (transport != NULL) {
        client =
            kl_client_new(&(kl_client_options){.transport = transport}, err);
        kl_transport_unref(transport);
    }
    return client;
}

/* core.connect(options): a client, or nil, message, code. */
static int connect(lua_State *L)
{
    kl_config_options options;
    kl_sim *sim = NULL;
    client_box *box;
    kl_error err;

    check_options(L, 1, "connect", OPTIONS);
    read_options(L, 1, &options);
    push_option(L, 1, "sim");
    box = lua_newuserdata(L, sizeof(*box));
    box->client = NULL;
    luaL_getmetatable(L, TYPE_CLIENT);
    lua_setmetatable(L, -2);
    /* sim or nil, box */
    if (!lua_isnil(L, -2)) {
        sim = check_sim(L, -2);
    }
    box->client = sim != NULL ? into_sim(sim, options.token, &err)
                              : over_network(&options, &err);
    return box->client != NULL ? 1 : push_error(L, &err);
}

static void drop_client(client_box *box)
{
    kl_client_unref(box->client);
    box->client = NULL;
}

static int client_gc(lua_State *L)
{
    drop_client(lua_touserdata(L, 1));
    return 0;
}

/* client:close(): every call and informer of it ends. */
static int client_close(lua_State *L)
{
    client_box *box = luaL_checkudata(L, 1, TYPE_CLIENT);

    if (box->client != NULL) {
        kl_client_close(box->client);
    }
    drop_client(box);
    return 0;
}

static int client_namespace(lua_State *L)
{
    push_borrowed(L, kl_client_namespace(check_client(L, 1)));
    return 1;
}

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
        luaL_error(L, "request needs a target, such as \"/version\"");
    }
    if (call->method == NULL) {
        call->method = "GET";
    }
    push_option(L, index, "body");
    if (lua_type(L, -1) == LUA_TSTRING) {
        call->body = lua_tolstring(L, -1, &call->body_length);
    } else if (!lua_isnil(L, -1)) {
        luaL_error(L, "option 'body' must be a string, not a %s",
                   luaL_typename(L, -1));
    }
    lua_pop(L, 1); /* the table keeps it */
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

/* client:call{...}: status, body, content type; blocks. */
static int client_call(lua_State *L)
{
    kl_reply *reply;
    kl_call call;
    kl_error err;

    check_call(L, 2, &call);
    reply = push_reply_guard(L);
    if (kl_client_call(check_client(L, 1), &call, reply, &err) != KL_OK) {
        return push_error(L, &err);
    }
    push_reply(L, reply);
    return 3;
}

void bind_client(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", client_gc},
                                       {"close", client_close},
                                       {"namespace", client_namespace},
                                       {"call", client_call},
                                       {NULL, NULL}};
    static const luaL_Reg reply_methods[] = {{"__gc", reply_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"connect", connect}, {NULL, NULL}};

    push_type(L, TYPE_CLIENT, methods);
    push_type(L, "kubelua.reply", reply_methods);
    luaL_setfuncs(L, functions, 0);
}
