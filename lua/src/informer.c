/*
 * informer.c - an informer: opening and stopping it, its state, queries of its
 * cache. Events of an informer: registration.c.
 */
#include "binding.h"

#include <string.h>

/* Above 0: true; below 0: false; 0: the field is absent. */
static int read_switch(lua_State *L, int index, const char *name)
{
    bool is_on = option_bool(L, index, name);
    bool is_absent;

    push_option(L, index, name);
    is_absent = lua_isnil(L, -1);
    lua_pop(L, 1);
    return is_on ? 1 : is_absent ? 0 : -1;
}

/* Below 0: never; 0, or absent: the core's default. */
static int64_t read_idle_timeout_ms(lua_State *L, int index)
{
    bool never;

    push_option(L, index, "idle_timeout");
    never = lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) < 0;
    lua_pop(L, 1);
    return never ? -1 : option_ms(L, index, "idle_timeout", 0);
}

static kl_shard_by read_shard_by(lua_State *L, int index)
{
    static const char *const ways[] = {[KL_SHARD_BY_UID] = "uid",
                                       [KL_SHARD_BY_KEY] = "key",
                                       [KL_SHARD_BY_NAMESPACE] = "namespace",
                                       [KL_SHARD_BY_OWNER_UID] = "owner_uid",
                                       [KL_SHARD_BY_OWNER_KEY] = "owner_key",
                                       [KL_SHARD_BY_OWNER_NAME] = "owner_name"};
    const char *by = option_string(L, index, "shard_by");

    for (int i = 0; by != NULL && i <= KL_SHARD_BY_OWNER_NAME; i++) {
        if (strcmp(by, ways[i]) == 0) {
            return (kl_shard_by)i;
        }
    }
    if (by != NULL) {
        luaL_error(L,
                   "informer: 'shard_by' must be \"uid\", \"key\", "
                   "\"namespace\", \"owner_uid\", \"owner_key\" or "
                   "\"owner_name\", not \"%s\"",
                   by);
    }
    return KL_SHARD_BY_UID;
}

/* Fills `options` from the table at `index`, which kubelua/informer.lua has
 * checked. They borrow from the table and from what this pushes: up to four
 * values. Raises where a type is wrong. */
static void push_informer_options(lua_State *L, int index,
                                  kl_informer_options *options)
{
    *options = (kl_informer_options){
        .resource = option_string(L, index, "resource"),
        .name_space = option_string(L, index, "namespace"),
        .namespace_if_any = option_bool(L, index, "namespace_if_any"),
        .labels = option_string(L, index, "labels"),
        .fields = option_string(L, index, "fields"),
        .shard = option_string(L, index, "shard"),
        .shard_by = read_shard_by(L, index),
        .ring = option_string(L, index, "ring"),
        .resync_ms = option_ms(L, index, "resync", 0),
        .idle_timeout_ms = read_idle_timeout_ms(L, index),
        .page_size = option_integer(L, index, "page_size"),
        .apart = option_bool(L, index, "apart"),
        .keep_managed_fields = option_bool(L, index, "managed_fields"),
        .metadata_only = option_bool(L, index, "metadata"),
        .compress = read_switch(L, index, "compress"),
        .no_streaming_list = read_switch(L, index, "streaming_list") < 0,
        .drop = push_texts(L, index, "drop"),
        .keep = push_texts(L, index, "keep")};
}

informer_box *check_informer_box(lua_State *L, int index)
{
    return luaL_checkudata(L, index, TYPE_INFORMER);
}

kl_informer *check_informer(lua_State *L, int index, kl_error *err)
{
    informer_box *box = check_informer_box(L, index);

    if (box->informer == NULL) {
        kl_error_set(err, KL_ECLOSED, "the informer is stopped");
    }
    return box->informer;
}

/* Stops the informer; its registrations get no more events. */
static void close_informer(informer_box *box)
{
    kl_informer *informer = box->informer;
    kl_report *report = box->report;

    box->informer = NULL;
    box->report = NULL;
    detach_registrations(box);
    if (report != NULL) {
        kl_report_remove_informer(report, informer);
        kl_report_unref(report);
    }
    kl_informer_close(informer);
}

/* core.informer(client, options): an informer, or nil, message, code. */
static int informer_open(lua_State *L)
{
    kl_informer_options options;
    informer_box *box;
    kl_report *report;
    kl_error err;

    push_informer_options(L, 2, &options);
    box = push_with_state(L, sizeof(*box), TYPE_INFORMER);
    report = push_report(L, &err);
    lua_pop(L, 1);
    if (report == NULL) {
        return push_error(L, &err);
    }
    box->informer = kl_informer_open(check_client(L, 1), &options, &err);
    if (box->informer == NULL) {
        return push_error(L, &err);
    }
    if (kl_report_add_informer(report, box->informer, &err) != KL_OK) {
        close_informer(box);
        return push_error(L, &err);
    }
    box->report = kl_report_ref(report);
    return 1;
}

/* core.check_informer(options): true, or nil, message, code, if no server can
 * serve them. */
static int check_informer_options(lua_State *L)
{
    kl_informer_options options;
    kl_error err;

    push_informer_options(L, 1, &options);
    if (kl_informer_options_check(&options, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, 1);
    return 1;
}

static int informer_gc(lua_State *L)
{
    close_informer(lua_touserdata(L, 1));
    return 0;
}

/* core.informer_stop(informer): stops it and ends its registrations. */
static int informer_stop(lua_State *L)
{
    close_informer(check_informer_box(L, 1));
    return 0;
}

/* "kubelua.informer: pods (watching)" */
static int informer_tostring(lua_State *L)
{
    kl_informer *informer = check_informer(L, 1, NULL);
    kl_informer_status status = {.state = KL_STATE_STOPPED};

    if (informer != NULL) {
        kl_informer_status_get(informer, &status);
    }
    push_state(L, 1);
    lua_getfield(L, -1, "what");
    /* state, what */
    lua_pushfstring(L, TYPE_INFORMER ": %s (%s)",
                    lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "",
                    kl_informer_state_name(status.state));
    return 1;
}

/* True in a child of fork(), if the informer was opened before it; then pushes
 * nil, message and "forked". */
static bool push_forked(lua_State *L)
{
    const informer_box *box = check_informer_box(L, 1);
    kl_error err;

    if (box->informer == NULL ||
        kl_informer_check(box->informer, &err) == KL_OK) {
        return false;
    }
    push_error(L, &err);
    return true;
}

/* core.informer_check(informer): true; or nil, message, "forked" */
static int informer_check(lua_State *L)
{
    if (push_forked(L)) {
        return 3;
    }
    lua_pushboolean(L, true);
    return 1;
}

static int informer_has_synced(lua_State *L)
{
    kl_informer *informer = check_informer(L, 1, NULL);

    if (push_forked(L)) {
        return 3;
    }
    lua_pushboolean(L, informer != NULL && kl_informer_has_synced(informer));
    return 1;
}

/* core.informer_outcome(informer): true if it is synced; else nil, message,
 * code say why not. */
static int informer_outcome(lua_State *L)
{
    kl_error err;
    kl_informer *informer = check_informer(L, 1, &err);

    if (informer == NULL ||
        kl_informer_wait_synced(informer, 0, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* core.informer_settled(informer): true if it is synced, or will never be. */
static int informer_settled(lua_State *L)
{
    kl_informer *informer = check_informer(L, 1, NULL);

    lua_pushboolean(L, informer == NULL ||
                           kl_informer_wait_synced(informer, 0, NULL) !=
                               KL_ETIMEOUT);
    return 1;
}

/* core.informer_wake(informer, poller): wakes the poller one time, when the
 * informer has synced, or will never sync. */
static int informer_wake(lua_State *L)
{
    kl_event_queue *queue = check_queue(L, 2);
    kl_error err;
    kl_informer *informer = check_informer(L, 1, &err);

    if (informer == NULL ||
        kl_informer_wake_synced(informer, queue, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* core.informer_wake_changed(informer, poller): wakes the poller one time, at
 * the next change of the cache. */
static int informer_wake_changed(lua_State *L)
{
    kl_event_queue *queue = check_queue(L, 2);
    kl_error err;
    kl_informer *informer = check_informer(L, 1, &err);

    if (informer == NULL ||
        kl_informer_wake_changed(informer, queue, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* Returns the key that get asks for, such as "web/shop-1", and leaves it on the
 * stack at 2. It is one argument, or is made of a namespace and a name. */
static const char *check_get_key(lua_State *L, size_t *length)
{
    check_string(L, 2, "get", lua_gettop(L) > 2 ? "the namespace" : "the key");
    if (lua_gettop(L) > 2) {
        check_string(L, 3, "get", "the name");
        lua_settop(L, 3);
        lua_pushliteral(L, "/");
        lua_insert(L, 3);
        lua_concat(L, 3);
    }
    return lua_tolstring(L, 2, length);
}

/* informer:get(key), informer:get(namespace, name) */
static int informer_get(lua_State *L)
{
    informer_box *box = check_informer_box(L, 1);
    size_t length;
    const char *key = check_get_key(L, &length);
    kl_object **found = push_empty_object(L);
    kl_error err;

    /* Only now: push_empty_object may have run a finalizer that stops it. */
    if (box->informer == NULL) {
        kl_error_set(&err, KL_ECLOSED, "the informer is stopped");
        return push_error(L, &err);
    }
    if (kl_informer_check(box->informer, &err) != KL_OK) {
        return push_error(L, &err);
    }
    if (strlen(key) == length) { /* no key has a NUL byte */
        *found = kl_informer_get(box->informer, key);
    }
    if (*found == NULL) {
        lua_pushnil(L);
    }
    return 1;
}

const kl_selector *push_selector(lua_State *L, const char *text, kl_error *err)
{
    kl_selector **box = lua_newuserdata(L, sizeof(kl_selector *));

    *box = NULL;
    luaL_getmetatable(L, "kubelua.selector");
    lua_setmetatable(L, -2);
    *box = kl_selector_parse(text, err);
    return *box;
}

static int selector_gc(lua_State *L)
{
    kl_selector **box = lua_touserdata(L, 1);

    kl_selector_free(*box);
    *box = NULL;
    return 0;
}

/* informer:list{namespace =, labels =} */
static int informer_list(lua_State *L)
{
    static const char *const names[] = {"namespace", "labels", NULL};
    const kl_selector *labels = NULL;
    const char *name_space = NULL;
    kl_object_list *list;
    kl_informer *informer;
    kl_error err;

    if (!lua_isnoneornil(L, 2)) {
        const char *text;

        check_options(L, 2, "list", names);
        name_space = option_string(L, 2, "namespace");
        text = option_string(L, 2, "labels");
        if (text != NULL && (labels = push_selector(L, text, &err)) == NULL) {
            return push_error(L, &err);
        }
    }
    if (name_space != NULL && strcmp(name_space, "*") == 0) {
        name_space = NULL;
    }
    check_namespace(L, "list", name_space);
    list = push_list_guard(L);
    informer = check_informer(L, 1, &err);
    if (informer == NULL ||
        kl_informer_list(informer, name_space, labels, list, &err) != KL_OK) {
        return push_error(L, &err);
    }
    push_object_list(L, list);
    return 1;
}

/* core.informer_by(informer, index, value) */
static int informer_by(lua_State *L)
{
    size_t length;
    const char *index = check_text(L, 2);
    const char *value = luaL_checklstring(L, 3, &length);
    kl_object_list *list = push_list_guard(L);
    kl_informer *informer;
    kl_error err;

    informer = check_informer(L, 1, &err);
    if (informer == NULL ||
        kl_informer_by_index(informer, index, value, list, &err) != KL_OK) {
        return push_error(L, &err);
    }
    if (strlen(value) != length) {
        kl_object_list_clear(list); /* no value of an index has a NUL byte */
    }
    push_object_list(L, list);
    return 1;
}

static int strings_gc(lua_State *L)
{
    kl_string_list_clear(lua_touserdata(L, 1));
    return 0;
}

/* core.informer_values(informer, index) */
static int informer_values(lua_State *L)
{
    const char *index = check_text(L, 2);
    kl_string_list *list;
    kl_informer *informer;
    kl_error err;

    list = lua_newuserdata(L, sizeof(*list));
    *list = (kl_string_list){0};
    luaL_getmetatable(L, "kubelua.strings");
    lua_setmetatable(L, -2);
    informer = check_informer(L, 1, &err);
    if (informer == NULL ||
        kl_informer_index_values(informer, index, list, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_createtable(L, (int)list->count, 0);
    for (size_t i = 0; i < list->count; i++) {
        lua_pushstring(L, list->items[i]);
        lua_rawseti(L, -2, (int)i + 1);
    }
    return 1;
}

/* core.informer_index(informer, name, path) */
static int informer_index(lua_State *L)
{
    const char *name = check_text(L, 2);
    const char *path = check_text(L, 3);
    kl_informer *informer;
    kl_error err;

    informer = check_informer(L, 1, &err);
    if (informer == NULL ||
        kl_informer_add_path_index(informer, name, path, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

static int informer_count(lua_State *L)
{
    kl_informer *informer = check_informer(L, 1, NULL);

    if (push_forked(L)) {
        return 3;
    }
    lua_pushinteger(
        L, informer != NULL ? (lua_Integer)kl_informer_count(informer) : 0);
    return 1;
}

static int informer_resource_version(lua_State *L)
{
    kl_informer *informer = check_informer(L, 1, NULL);
    char version[64] = "";

    if (push_forked(L)) {
        return 3;
    }
    if (informer != NULL) {
        kl_informer_resource_version(informer, version, sizeof(version));
    }
    lua_pushstring(L, version);
    return 1;
}

/* core.informer_told_version(informer): the resourceVersion up to which every
 * event is in the queues of the handlers. */
static int informer_told_version(lua_State *L)
{
    kl_informer *informer = check_informer(L, 1, NULL);
    char version[64] = "";

    if (informer != NULL) {
        kl_informer_told_version(informer, version, sizeof(version));
    }
    lua_pushstring(L, version);
    return 1;
}

static void set_seconds(lua_State *L, const char *name, int64_t ms)
{
    lua_pushnumber(L, (lua_Number)ms / 1000);
    lua_setfield(L, -2, name);
}

/* Pushes the array of what cannot be read; its field `count` counts all. */
static void push_unreadable_now(lua_State *L, const kl_informer *informer,
                                size_t count)
{
    kl_unreadable_list *list = push_unreadable_guard(L);
    kl_error err;

    if (count > 0 && kl_informer_unreadable(informer, list, &err) != KL_OK) {
        luaL_error(L, "%s", err.message);
    }
    lua_createtable(L, (int)list->count, 1);
    push_unreadable(L, list);
    set_count(L, "count", count);
    lua_remove(L, -2); /* the guard, which frees the list */
}

/* informer:status(): a table of its state and counters; times are seconds. */
static int informer_status(lua_State *L)
{
    kl_informer *informer = check_informer(L, 1, NULL);
    kl_informer_status status = {.state = KL_STATE_STOPPED};

    if (informer != NULL) {
        kl_informer_status_get(informer, &status);
    }
    lua_newtable(L);
    lua_pushstring(L, kl_informer_state_name(status.state));
    lua_setfield(L, -2, "state");
    lua_pushboolean(L, status.has_synced);
    lua_setfield(L, -2, "has_synced");
    if (status.last_message_age_ms >= 0) {
        set_seconds(L, "age", status.last_message_age_ms);
    }
    set_seconds(L, "retry_in", status.retry_in_ms);
    set_count(L, "lists", status.lists);
    set_count(L, "lists_held", status.lists_held);
    set_count(L, "watches", status.watches);
    set_count(L, "events", status.events);
    set_count(L, "failures", status.failures);
    set_count(L, "objects", status.objects);
    set_count(L, "queued", status.queued);
    push_unreadable_now(L, informer, status.unreadable);
    lua_setfield(L, -2, "unreadable");
    if (status.error.code != KL_OK) {
        lua_pushstring(L, status.error.message);
        lua_setfield(L, -2, "error");
        lua_pushstring(L, kl_code_name(status.error.code));
        lua_setfield(L, -2, "code");
    }
    if (status.plugin[0] != '\0') {
        lua_pushstring(L, status.plugin);
        lua_setfield(L, -2, "plugin");
        set_seconds(L, "plugin_running", status.plugin_ms);
    }
    return 1;
}

/* informer:set_shard(shard): true, or nil, message, code. */
static int informer_set_shard(lua_State *L)
{
    const char *shard = luaL_checkstring(L, 2);
    kl_error err;
    kl_informer *informer = check_informer(L, 1, &err);

    if (informer == NULL ||
        kl_informer_set_shard(informer, shard, &err) != KL_OK) {
        return push_error(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* informer:holds_shard(): false after a stop, too. */
static int informer_holds_shard(lua_State *L)
{
    const kl_informer *informer = check_informer(L, 1, NULL);

    lua_pushboolean(L, informer != NULL && kl_informer_holds_shard(informer));
    return 1;
}

/* core.informer_lists_held(informer): as in its status, without the table. */
static int informer_lists_held(lua_State *L)
{
    kl_informer *informer = check_informer(L, 1, NULL);
    kl_informer_status status = {.state = KL_STATE_STOPPED};

    if (informer != NULL) {
        kl_informer_status_get(informer, &status);
    }
    lua_pushinteger(L, (lua_Integer)status.lists_held);
    return 1;
}

void bind_informer(lua_State *L)
{
    /* lua/kubelua/informer.lua adds the other methods. */
    static const luaL_Reg methods[] = {
        {"__gc", informer_gc},
        {"__tostring", informer_tostring},
        {"has_synced", informer_has_synced},
        {"get", informer_get},
        {"list", informer_list},
        {"count", informer_count},
        {"resource_version", informer_resource_version},
        {"status", informer_status},
        {"set_shard", informer_set_shard},
        {"holds_shard", informer_holds_shard},
        {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"informer", informer_open},
        {"informer_lists_held", informer_lists_held},
        {"check_informer", check_informer_options},
        {"informer_stop", informer_stop},
        {"informer_check", informer_check},
        {"informer_outcome", informer_outcome},
        {"informer_settled", informer_settled},
        {"informer_told_version", informer_told_version},
        {"informer_wake", informer_wake},
        {"informer_wake_changed", informer_wake_changed},
        {"informer_by", informer_by},
        {"informer_values", informer_values},
        {"informer_index", informer_index},
        {NULL, NULL}};
    static const luaL_Reg selector_methods[] = {{"__gc", selector_gc},
                                                {NULL, NULL}};
    static const luaL_Reg strings_methods[] = {{"__gc", strings_gc},
                                               {NULL, NULL}};

    push_type(L, TYPE_INFORMER, methods);
    push_type(L, "kubelua.selector", selector_methods);
    push_type(L, "kubelua.strings", strings_methods);
    luaL_setfuncs(L, functions, 0);
}
