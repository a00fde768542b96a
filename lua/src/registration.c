/*
 * registration.c - a registration: the subscription of this lua_State to the
 * events of an informer. Lua takes one event at a time, calls the handler, and
 * gives the event back.
 */
#include "binding.h"

#include <stdint.h>

typedef struct registration_box {
    kl_registration *registration;
    /* The informer that lists this box; NULL once the registration is removed
     * or its informer is stopped. */
    informer_box *informer;
    struct registration_box *next;
    kl_event event; /* the event in progress, if `busy` */
    bool busy;
    /* True once Lua has received the event. It stays false if pushing the parts
     * of the event raised an error. */
    bool told;
    watched_events watched;
} registration_box;

static registration_box *check_box(lua_State *L)
{
    return luaL_checkudata(L, 1, TYPE_REGISTRATION);
}

static void attach_to_informer(registration_box *box, informer_box *informer)
{
    box->informer = informer;
    box->next = informer->first;
    informer->first = box;
}

static void detach_from_informer(registration_box *box)
{
    registration_box **place = &box->informer->first;

    while (*place != box) {
        place = &(*place)->next;
    }
    *place = box->next;
    box->informer = NULL;
}

void detach_registrations(informer_box *informer)
{
    while (informer->first != NULL) {
        detach_from_informer(informer->first);
    }
}

/* core.subscribe(informer, poller, id, options): a registration whose events
 * make the poller return `id`; or nil, message, code. */
static int subscribe(lua_State *L)
{
    kl_event_queue *queue = check_queue(L, 2);
    intptr_t id = (intptr_t)luaL_checkinteger(L, 3);
    kl_handler_options options;
    registration_box *box;
    informer_box *informer;
    kl_error err;

    options = (kl_handler_options){
        .name = option_string(L, 4, "name"),
        .resync_ms = option_ms(L, 4, "resync", 0),
        .every_change = option_bool(L, 4, "every_change"),
        .ignores_errors = option_bool(L, 4, "quiet"),
        .takes_over = option_bool(L, 4, "takes_over"),
        .backlog = (size_t)option_integer(L, 4, "backlog")};
    box = push_with_state(L, sizeof(*box), TYPE_REGISTRATION);
    box->watched.watch = watch_ref(check_watch(L, 2));
    informer = check_informer_box(L, 1);
    if (check_informer(L, 1, &err) == NULL) {
        return push_error(L, &err);
    }
    box->registration = kl_informer_subscribe(informer->informer, queue,
                                              (void *)id, &options, &err);
    if (box->registration == NULL) {
        return push_error(L, &err);
    }
    attach_to_informer(box, informer);
    return 1;
}

/* The registration; NULL once it has ended. */
static kl_registration *find_live(const registration_box *box)
{
    return box->informer != NULL ? box->registration : NULL;
}

/* Gives the event back to the core. Until then the event keeps the core's
 * registration alive. */
static void give_event_back(registration_box *box)
{
    if (box->busy) {
        box->busy = false;
        watched_end(&box->watched);
        kl_registration_done(box->registration, &box->event);
    }
}

/* Removes the registration. An event that Lua has not received yet stays: the
 * caller may be a finalizer that runs while registration_next pushes the parts
 * of that event. */
static void drop_registration(registration_box *box)
{
    if (box->told) {
        give_event_back(box);
    }
    if (box->informer != NULL) {
        detach_from_informer(box);
        kl_registration_remove(box->registration);
    }
}

static int registration_gc(lua_State *L)
{
    registration_box *box = lua_touserdata(L, 1);

    give_event_back(box);
    drop_registration(box);
    watched_deinit(&box->watched);
    return 0;
}

/* core.registration_remove(registration) */
static int registration_remove(lua_State *L)
{
    registration_box *box = check_box(L);
    bool is_handling = watched_end(&box->watched);

    drop_registration(box);
    if (is_handling) { /* its handler runs on, without the object */
        watch_enter(box->watched.watch, L, &box->watched.activity);
    }
    return 0;
}

/* Takes the next event, unless one is left that Lua did not receive because
 * memory was short. From here on the box owns what the event holds. */
static bool pull_event(registration_box *box)
{
    if (box->told) {
        give_event_back(box);
    }
    if (!box->busy && find_live(box) != NULL) {
        box->busy = kl_registration_next(box->registration, &box->event);
        box->told = false;
    }
    return box->busy;
}

/* The registration at 1 of registration_next, which runs for each event: its
 * metatable is compared with upvalue 1, without a lookup by name. */
static registration_box *check_box_of_next(lua_State *L)
{
    registration_box *box = lua_touserdata(L, 1);

    if (box != NULL && lua_getmetatable(L, 1)) {
        bool is_box = lua_rawequal(L, -1, lua_upvalueindex(1));

        lua_pop(L, 1);
        if (is_box) {
            return box;
        }
    }
    return check_box(L); /* raises */
}

/* Pushes the event's name and the arguments of its handler; returns how
 * many. Upvalue 2 is the metatable of objects. */
static int push_event(lua_State *L, const kl_event *event)
{
    const int type = lua_upvalueindex(2);

    switch (event->type) {
    case KL_EVENT_ADD:
        lua_pushliteral(L, "add");
        push_object(L, type, event->object);
        lua_pushboolean(L, event->initial);
        return 3;
    case KL_EVENT_UPDATE:
        lua_pushliteral(L, "update");
        push_last_object(L, type, event->old);
        push_object(L, type, event->object);
        return 3;
    case KL_EVENT_DELETE:
        lua_pushliteral(L, "delete");
        push_last_object(L, type, event->object);
        if (event->left_shard) {
            lua_pushliteral(L, "left");
        } else {
            lua_pushboolean(L, event->unknown);
        }
        return 3;
    case KL_EVENT_SYNCED:
        lua_pushliteral(L, "synced");
        return 1;
    default:
        lua_pushliteral(L, "error");
        lua_pushstring(L, event->error->message);
        lua_pushstring(L, kl_code_name(event->error->code));
        return 3;
    }
}

/*
 * core.registration_next(registration): gives the last event back, if that was
 * not done, and returns the next one: its name and the arguments of its
 * handler. Returns nothing if no event waits, or the registration was removed
 * meanwhile. If it raises because memory is short, the next call returns the
 * same event.
 */
static int registration_next(lua_State *L)
{
    registration_box *box = check_box_of_next(L);
    int count;

    if (!pull_event(box)) {
        return 0;
    }
    count = push_event(L, &box->event);
    box->told = true;
    if (find_live(box) == NULL) {
        give_event_back(box);
        return 0;
    }
    watched_begin(&box->watched, L, &box->event);
    return count;
}

/* core.registration_done(registration): gives the last event back, after its
 * handler has returned. */
static int registration_done(lua_State *L)
{
    registration_box *box = check_box(L);

    if (box->told) {
        give_event_back(box);
    }
    return 0;
}

/* core.registration_again(registration, poller): the poller will return this
 * registration once more. */
static int registration_again(lua_State *L)
{
    registration_box *box = check_box(L);

    if (find_live(box) != NULL) {
        kl_event_queue_again(check_queue(L, 2), box->registration);
    }
    return 0;
}

/* True in a child of fork(), if the registration was made before it; then
 * pushes nil, message and "forked". */
static bool push_forked(lua_State *L, const registration_box *box)
{
    kl_error err;

    if (find_live(box) == NULL ||
        kl_registration_check(box->registration, &err) == KL_OK) {
        return false;
    }
    push_error(L, &err);
    return true;
}

static int registration_has_synced(lua_State *L)
{
    registration_box *box = check_box(L);

    if (push_forked(L, box)) {
        return 3;
    }
    lua_pushboolean(L, find_live(box) != NULL &&
                           kl_registration_has_synced(box->registration));
    return 1;
}

static int registration_backlog(lua_State *L)
{
    registration_box *box = check_box(L);

    if (push_forked(L, box)) {
        return 3;
    }
    lua_pushinteger(
        L, find_live(box) != NULL
               ? (lua_Integer)kl_registration_backlog(box->registration)
               : 0);
    return 1;
}

/* core.registration_marked(registration): how many events wait before the mark
 * of a registration that took over; nil: there is no mark. */
static int registration_marked(lua_State *L)
{
    registration_box *box = check_box(L);
    size_t count;

    if (find_live(box) == NULL ||
        !kl_registration_marked(box->registration, &count)) {
        return 0;
    }
    lua_pushinteger(L, (lua_Integer)count);
    return 1;
}

/* core.registration_unmark(registration): forgets that mark. */
static int registration_unmark(lua_State *L)
{
    registration_box *box = check_box(L);

    if (find_live(box) != NULL) {
        kl_registration_unmark(box->registration);
    }
    return 0;
}

/* core.registration_name(registration, event, text): the name of that event's
 * handler, for the log. */
static int registration_name(lua_State *L)
{
    return watched_name(L, &check_box(L)->watched);
}

const kl_activity *test_handling(lua_State *L, int index)
{
    const registration_box *box = test_type(L, index, TYPE_REGISTRATION);

    return box != NULL && box->busy && box->told &&
                   box->watched.names[box->event.type] != NULL
               ? &box->watched.activity
               : NULL;
}

/* core.registration_doing(registration): the name of its handler and its
 * object; nil while no event is in progress. */
static int registration_doing(lua_State *L)
{
    const registration_box *box = check_box(L);

    if (test_handling(L, 1) == NULL) {
        return 0;
    }
    return watched_push(L, &box->watched);
}

/* "kubelua.registration: pods", with " (removed)" once it has ended. */
static int registration_tostring(lua_State *L)
{
    const registration_box *box = check_box(L);

    push_state(L, 1);
    lua_getfield(L, -1, "name");
    /* state, name */
    lua_pushfstring(L, TYPE_REGISTRATION ": %s%s",
                    lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "",
                    find_live(box) != NULL ? "" : " (removed)");
    return 1;
}

void bind_registration(lua_State *L)
{
    /* lua/kubelua/registration.lua adds the other methods. */
    static const luaL_Reg methods[] = {{"__gc", registration_gc},
                                       {"__tostring", registration_tostring},
                                       {"has_synced", registration_has_synced},
                                       {"backlog", registration_backlog},
                                       {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"subscribe", subscribe},
        {"registration_done", registration_done},
        {"registration_again", registration_again},
        {"registration_remove", registration_remove},
        {"registration_name", registration_name},
        {"registration_doing", registration_doing},
        {"registration_marked", registration_marked},
        {"registration_unmark", registration_unmark},
        {NULL, NULL}};

    push_type(L, TYPE_REGISTRATION, methods);
    luaL_setfuncs(L, functions, 0);
    luaL_getmetatable(L, TYPE_REGISTRATION);
    luaL_getmetatable(L, TYPE_OBJECT); /* bind_view has made it */
    lua_pushcclosure(L, registration_next, 2);
    lua_setfield(L, -2, "registration_next");
}
