/*
 * client.c - a client: the connection to one API server, over the network or
 * through a transport of another C module (the simulator).
 */
#include "binding.h"
#include "shared_client.h"

typedef struct client_box {
    kl_client *client; /* NULL once closed */
    kl_report *report; /* a reference: the client is in it; or NULL */
    bool is_shared;    /* see shared_client.h */
} client_box;

kl_client *check_client(lua_State *L, int index)
{
    client_box *box = luaL_checkudata(L, index, TYPE_CLIENT);

    if (box->client == NULL) {
        misuse(L, "the client is closed");
    }
    return box->client;
}

static void read_client_options(lua_State *L, int index,
                                kl_config_options *options)
{
    *options = (kl_config_options){
        .kubeconfig = option_string(L, index, "kubeconfig"),
        .kubeconfig_text = option_string(L, index, "kubeconfig_text"),
        .context = option_string(L, index, "context"),
        .server = option_string(L, index, "server"),
        .token = option_string(L, index, "token"),
        .token_file = option_string(L, index, "token_file"),
        .ca_file = option_string(L, index, "ca_file"),
        .ca_data = option_string(L, index, "ca_data"),
        .cert_file = option_string(L, index, "cert_file"),
        .key_file = option_string(L, index, "key_file"),
        .cert_data = option_string(L, index, "cert_data"),
        .key_data = option_string(L, index, "key_data"),
        .name_space = option_string(L, index, "namespace"),
        .tls_server_name = option_string(L, index, "tls_server_name"),
        .proxy_url = option_string(L, index, "proxy_url"),
        .insecure = option_bool(L, index, "insecure")};
}

/* No lua_* call here: `config` is owned by a C local. */
static kl_client *connect_over_network(const kl_config_options *options,
                                       kl_client_options *of_client,
                                       kl_error *err)
{
    kl_config *config = kl_config_load(options, err);
    kl_client *client = NULL;

    if (config != NULL) {
        of_client->config = config;
        client = kl_client_new(of_client, err);
        kl_config_unref(config);
    }
    return client;
}

/* `ends`: also ends its requests and informers, unless others share them. */
static void drop_client(client_box *box, bool ends)
{
    kl_client *client = box->client;
    kl_report *report = box->report;

    box->client = NULL;
    box->report = NULL;
    if (report != NULL) {
        kl_report_remove_client(report, client);
        kl_report_unref(report);
    }
    if (client == NULL) {
        return;
    }
    if (box->is_shared) {
        shared_client_close(client, ends);
        return;
    }
    if (ends) {
        kl_client_close(client);
    }
    kl_client_unref(client);
}

/* Puts the client into the report of its lua_State. False: out of memory, and
 * the client is closed. */
static bool show_client(client_box *box, kl_report *report, kl_error *err)
{
    if (kl_report_add_client(report, box->client, err) != KL_OK) {
        drop_client(box, true);
        return false;
    }
    box->report = kl_report_ref(report);
    return true;
}

/* core.connect(options, transport or nil, name or nil): a client, or nil,
 * message, code. The name is that of its cluster in a fleet. The options
 * `share` and `shared_thread` do not concern a transport. */
static int connect_client(lua_State *L)
{
    kl_config_options options;
    kl_client_options of_client = {.name = luaL_optstring(L, 3, NULL)};
    const char *share;
    client_box *box;
    kl_report *report;
    kl_error err;

    read_client_options(L, 1, &options);
    share = option_string(L, 1, "share");
    of_client.shares_thread = option_bool(L, 1, "shared_thread");
    lua_settop(L, 3);
    report = push_report(L, &err);
    lua_settop(L, 3);
    if (report == NULL) {
        return push_error(L, &err);
    }
    box = push_with_state(L, sizeof(*box), TYPE_CLIENT);
    /* options, transport or nil, name or nil, box */
    if (lua_isnil(L, 2) && share != NULL) {
        box->client = shared_client_open(share, &options, &err);
        box->is_shared = true;
    } else if (lua_isnil(L, 2)) {
        box->client = connect_over_network(&options, &of_client, &err);
    } else {
        of_client.transport = check_transport(L, 2);
        box->client = kl_client_new(&of_client, &err);
    }
    if (box->client == NULL || !show_client(box, report, &err)) {
        return push_error(L, &err);
    }
    return 1;
}

/* core.client_reauthenticate(client, options): other credentials for the same
 * server; true. nil, message, "conflict": it needs a new client. */
static int reauthenticate_client(lua_State *L)
{
    kl_client *client = check_client(L, 1);
    kl_config_options options;
    kl_error err;

    read_client_options(L, 2, &options);
    if (kl_client_reauthenticate(client, &options, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

static int client_gc(lua_State *L)
{
    drop_client(lua_touserdata(L, 1), false);
    return 0;
}

/* core.client_close(client): ends all its requests and informers; if it is
 * shared, the caller has ended its own before. */
static int client_close(lua_State *L)
{
    drop_client(luaL_checkudata(L, 1, TYPE_CLIENT), true);
    return 0;
}

/* client:namespace(): the namespace of its configuration. A client of a
 * simulated cluster has no configuration: its state has the name. */
static int client_namespace(lua_State *L)
{
    const client_box *box = luaL_checkudata(L, 1, TYPE_CLIENT);
    kl_error err;

    if (box->client != NULL && kl_client_check(box->client, &err) != KL_OK) {
        return push_error(L, &err);
    }
    push_state(L, 1);
    lua_getfield(L, -1, "name_space");
    if (lua_isnil(L, -1)) {
        push_borrowed(L, kl_client_namespace(check_client(L, 1)));
    }
    return 1;
}

/* core.client_pointer(client): its kl_client, for the FFI of lua/resty;
 * borrowed until the client is closed. */
static int client_pointer(lua_State *L)
{
    lua_pushlightuserdata(L, check_client(L, 1));
    return 1;
}

/* core.client_server(client): the URL of its server; nil if it has none. */
static int client_server(lua_State *L)
{
    const char *server = kl_client_server(check_client(L, 1));

    if (server == NULL) {
        lua_pushnil(L);
    } else {
        push_borrowed(L, server);
    }
    return 1;
}

static int client_tostring(lua_State *L)
{
    luaL_checkudata(L, 1, TYPE_CLIENT);
    lua_pushliteral(L, TYPE_CLIENT);
    return 1;
}

/* core.status_error(status, body): for an answer with a status of 400 or more:
 * the message, the code, and the seconds of Retry-After (or nil). */
static int status_error(lua_State *L)
{
    int status = (int)luaL_checkinteger(L, 1);
    size_t length;
    const char *body = luaL_checklstring(L, 2, &length);
    kl_error err;

    kl_status_error(status, body, length, &err);
    lua_pushstring(L, err.message);
    lua_pushstring(L, kl_code_name(err.code));
    if (err.retry_after_ms < 0) {
        lua_pushnil(L);
    } else {
        lua_pushnumber(L, (lua_Number)err.retry_after_ms / 1000);
    }
    return 3;
}

void bind_client(lua_State *L)
{
    /* lua/kubelua/client.lua adds the other methods. */
    static const luaL_Reg methods[] = {{"__gc", client_gc},
                                       {"__tostring", client_tostring},
                                       {"namespace", client_namespace},
                                       {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"connect", connect_client},
        {"client_close", client_close},
        {"client_pointer", client_pointer},
        {"status_error", status_error},
        {"client_server", client_server},
        {"client_reauthenticate", reauthenticate_client},
        {NULL, NULL}};

    push_type(L, TYPE_CLIENT, methods);
    luaL_setfuncs(L, functions, 0);
}
