/*
 * sim.c - the Lua C module kubelua.simcore: creates, serves and controls a
 * simulated API server. kubelua.sim adds the Lua part.
 */
#include "sim_binding.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

LUALIB_API int luaopen_kubelua_simcore(lua_State *L);

typedef struct sim_box {
    kl_sim *sim; /* NULL once closed */
} sim_box;

kl_sim *check_sim(lua_State *L, int index)
{
    sim_box *box = luaL_checkudata(L, index, TYPE_SIM);

    if (box->sim == NULL) {
        misuse(L, "the simulator is closed");
    }
    return box->sim;
}

/* Pushes true; or nil, message, code. */
static int push_outcome(lua_State *L, kl_code code, const kl_error *err)
{
    if (code != KL_OK) {
        return push_error(L, err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* A string field of the table on top of the stack; borrowed from the table. */
static const char *user_text(lua_State *L, const char *name)
{
    const char *text;

    lua_getfield(L, -1, name); /* user, text */
    text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (text == NULL && !lua_isnil(L, -1)) {
        misuse(L, "a user's '%s' must be a string, not a %s", name,
               luaL_typename(L, -1));
    }
    lua_pop(L, 1);
    return text;
}

/* The option "users"; pushes a userdata with the array. */
static const kl_sim_user *check_users(lua_State *L, size_t *count)
{
    kl_sim_user *users;

    lua_getfield(L, 1, "users"); /* list */
    if (!lua_isnil(L, -1)) {
        luaL_checktype(L, -1, LUA_TTABLE);
    }
    *count = lua_isnil(L, -1) ? 0 : lua_rawlen(L, -1);
    users = lua_newuserdata(L, (*count + 1) * sizeof(*users)); /* list, users */
    for (size_t i = 0; i < *count; i++) {
        lua_rawgeti(L, -2, (int)i + 1); /* list, users, user */
        luaL_checktype(L, -1, LUA_TTABLE);
        users[i] = (kl_sim_user){.name = user_text(L, "name"),
                                 .token = user_text(L, "token"),
                                 .groups = user_text(L, "groups")};
        lua_pop(L, 1);
    }
    lua_remove(L, -2);
    return users;
}

/* simcore.new{bookmark =, history =, no_streaming_list =, token =,
 * no_controllers =, clock_stands =, now =, rbac =, users = {{name =, token =,
 * groups =}, ..}} */
static int sim_new(lua_State *L)
{
    static const char *const names[] = {"bookmark",
                                        "history",
                                        "no_streaming_list",
                                        "token",
                                        "clock_stands",
                                        "compaction",
                                        "now",
                                        "users",
                                        "rbac",
                                        "no_controllers",
                                        NULL};
    kl_sim_options options;
    size_t user_count;
    const kl_sim_user *users;
    sim_box *box;
    kl_error err;

    check_options(L, 1, "sim", names);
    users = check_users(L, &user_count); /* users */
    options = (kl_sim_options){
        .users = users,
        .user_count = user_count,
        .rbac = option_bool(L, 1, "rbac"),
        .bookmark_ms = option_ms(L, 1, "bookmark", 0),
        .history = (size_t)option_integer(L, 1, "history"),
        .no_streaming_list = option_bool(L, 1, "no_streaming_list"),
        .no_controllers = option_bool(L, 1, "no_controllers"),
        .token = option_string(L, 1, "token"),
        .clock_stands = option_bool(L, 1, "clock_stands"),
        .now_ms = option_ms(L, 1, "now", 0),
        .compaction_ms = option_ms(L, 1, "compaction", 0)};
    box = push_with_state(L, sizeof(*box), TYPE_SIM);
    box->sim = kl_sim_new(&options, &err);
    return box->sim != NULL ? 1 : push_error(L, &err);
}

static void drop_sim(sim_box *box)
{
    kl_sim_unref(box->sim);
    box->sim = NULL;
}

static int sim_gc(lua_State *L)
{
    drop_sim(lua_touserdata(L, 1));
    return 0;
}

static int sim_close(lua_State *L)
{
    drop_sim(luaL_checkudata(L, 1, TYPE_SIM));
    return 0;
}

/* simcore.load(sim, text) */
static int sim_load(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 2, &length);
    kl_error err;

    return push_outcome(L, kl_sim_load(check_sim(L, 1), text, length, &err),
                        &err);
}

/* simcore.call(sim, {...}): status, body, content type, warnings (one a line,
 * or nil). */
static int sim_call(lua_State *L)
{
    kl_reply *reply;
    kl_call call;
    kl_error err;

    check_call(L, 2, &call);
    reply = push_reply_guard(L);
    if (kl_sim_call(check_sim(L, 1), &call, reply, &err) != KL_OK) {
        return push_error(L, &err);
    }
    push_reply(L, reply);
    lua_pushstring(L, reply->warnings);
    return 4;
}

/* simcore.listen(sim, {address =, port =, tls =}): the URL. */
static int sim_listen(lua_State *L)
{
    static const char *const names[] = {"address", "port", "tls", NULL};
    kl_sim_listen_options options;
    kl_sim *sim;
    kl_error err;

    check_options(L, 2, "listen", names);
    options = (kl_sim_listen_options){.address = option_string(L, 2, "address"),
                                      .port = option_integer(L, 2, "port"),
                                      .tls = option_bool(L, 2, "tls")};
    sim = check_sim(L, 1);
    if (kl_sim_listen(sim, &options, &err) != KL_OK) {
        return push_error(L, &err);
    }
    push_borrowed(L, kl_sim_url(sim));
    return 1;
}

/* simcore.kubeconfig(sim, [{name =, token =, groups =}]): its text. */
static int sim_kubeconfig(lua_State *L)
{
    char **text = push_text_guard(L);
    kl_error err;

    if (!lua_istable(L, 2)) {
        *text = kl_sim_kubeconfig(check_sim(L, 1), &err);
    } else {
        kl_sim_user user;

        lua_pushvalue(L, 2); /* .., user */
        user = (kl_sim_user){.name = user_text(L, "name"),
                             .token = user_text(L, "token"),
                             .groups = user_text(L, "groups")};
        *text = kl_sim_kubeconfig_of(check_sim(L, 1), &user, &err);
        lua_pop(L, 1);
    }
    if (*text == NULL) {
        return push_error(L, &err);
    }
    lua_pushstring(L, *text);
    return 1;
}

/* simcore.requests(sim): a JSON array of the requests. */
static int sim_requests(lua_State *L)
{
    char **text = push_text_guard(L);
    kl_error err;

    *text = kl_sim_requests(check_sim(L, 1), &err);
    if (*text == NULL) {
        return push_error(L, &err);
    }
    lua_pushstring(L, *text);
    return 1;
}

static int sim_url(lua_State *L)
{
    const char *url = kl_sim_url(check_sim(L, 1));

    if (url == NULL) {
        lua_pushnil(L);
    } else {
        push_borrowed(L, url);
    }
    return 1;
}

/* simcore.control_token(sim): of control requests; nil: it does not listen. */
static int sim_control_token(lua_State *L)
{
    lua_pushstring(L, kl_sim_control_token(check_sim(L, 1)));
    return 1;
}

static int sim_unlisten(lua_State *L)
{
    kl_sim_unlisten(check_sim(L, 1));
    return 0;
}

static int sim_cut(lua_State *L)
{
    kl_sim_cut(check_sim(L, 1));
    return 0;
}

static int sim_refuse(lua_State *L)
{
    kl_sim_refuse(check_sim(L, 1), lua_isnone(L, 2) || lua_toboolean(L, 2));
    return 0;
}

static int sim_freeze(lua_State *L)
{
    kl_sim_freeze(check_sim(L, 1), lua_isnone(L, 2) || lua_toboolean(L, 2));
    return 0;
}

static int sim_compact(lua_State *L)
{
    kl_sim_compact(check_sim(L, 1));
    return 0;
}

/* simcore.replay(sim, json, change) */
static int sim_replay(lua_State *L)
{
    static const char *const changes[] = {"initial", "put", "deleted", NULL};
    kl_sim_change change =
        (kl_sim_change)luaL_checkoption(L, 3, "put", changes);
    size_t length;
    const char *json = luaL_checklstring(L, 2, &length);
    kl_error err;

    return push_outcome(
        L, kl_sim_replay(check_sim(L, 1), change, json, length, &err), &err);
}

/* simcore.advance(sim, seconds) */
static int sim_advance(lua_State *L)
{
    kl_sim *sim = check_sim(L, 1);
    kl_error err;

    return push_outcome(L, kl_sim_advance(sim, check_ms(L, 2, 0), &err), &err);
}

/* simcore.now(sim): seconds, with a fraction. */
static int sim_now(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)kl_sim_now(check_sim(L, 1)) / 1000);
    return 1;
}

/* simcore.version(sim): the resourceVersion of the last change. */
static int sim_version(lua_State *L)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, kl_sim_version(check_sim(L, 1)));
    lua_pushstring(L, text);
    return 1;
}

static int sim_bookmark(lua_State *L)
{
    kl_sim_bookmark(check_sim(L, 1));
    return 0;
}

static int sim_requests_clear(lua_State *L)
{
    kl_sim_requests_clear(check_sim(L, 1));
    return 0;
}

/* simcore.transport(sim, [token]): a transport for core.connect. */
static int sim_transport(lua_State *L)
{
    const char *token = luaL_optstring(L, 2, NULL);
    kl_transport **box = push_transport(L);
    kl_error err;

    *box = kl_sim_transport_as(check_sim(L, 1), token, &err);
    return *box != NULL ? 1 : push_error(L, &err);
}

/* simcore.is_sim(value) */
static int sim_is_sim(lua_State *L)
{
    lua_pushboolean(L, test_type(L, 1, TYPE_SIM) != NULL);
    return 1;
}

/* simcore.state(sim): the table with Lua's fields; also after sim is closed. */
static int sim_state(lua_State *L)
{
    luaL_checkudata(L, 1, TYPE_SIM);
    push_state(L, 1);
    return 1;
}

/* simcore.methods(): the table of its methods; Lua fills it. */
static int sim_methods(lua_State *L)
{
    luaL_getmetatable(L, TYPE_SIM);
    lua_getfield(L, -1, "__index");
    return 1;
}

KL_API int luaopen_kubelua_simcore(lua_State *L)
{
    static const luaL_Reg events[] = {{"__gc", sim_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {{"new", sim_new},
                                         {"is_sim", sim_is_sim},
                                         {"state", sim_state},
                                         {"methods", sim_methods},
                                         {"close", sim_close},
                                         {"load", sim_load},
                                         {"call", sim_call},
                                         {"listen", sim_listen},
                                         {"unlisten", sim_unlisten},
                                         {"url", sim_url},
                                         {"control_token", sim_control_token},
                                         {"kubeconfig", sim_kubeconfig},
                                         {"requests", sim_requests},
                                         {"requests_clear", sim_requests_clear},
                                         {"cut", sim_cut},
                                         {"refuse", sim_refuse},
                                         {"freeze", sim_freeze},
                                         {"compact", sim_compact},
                                         {"advance", sim_advance},
                                         {"now", sim_now},
                                         {"version", sim_version},
                                         {"bookmark", sim_bookmark},
                                         {"fault", sim_fault},
                                         {"faults", sim_faults},
                                         {"heal", sim_heal},
                                         {"snapshot", sim_snapshot},
                                         {"restore", sim_restore},
                                         {"replay", sim_replay},
                                         {"transport", sim_transport},
                                         {NULL, NULL}};

    bind_reply(L);
    bind_transport(L);
    push_type(L, TYPE_SIM, events);
    lua_newtable(L);
    luaL_setfuncs(L, functions, 0);
    return 1;
}
