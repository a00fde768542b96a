/*
 * queue.c - a workqueue: the keys of objects that a controller has yet to
 * reconcile. kubelua/queue.h has the promises of each call; here times are
 * seconds.
 *
 * The queue wakes nothing: all calls run on the thread of its lua_State, and
 * the controller that owns the queue wakes its task after each call that may
 * have added a key.
 */
#include "binding.h"

#include <math.h>
#include <string.h>
#include <time.h>

/* A hundred years: a longer wait is as good as an endless one. */
static const double MAX_SECONDS = 100.0 * 365 * 86400;

typedef struct queue_box {
    kl_queue *queue; /* NULL while it is made, and once it is freed */
    kl_queue_item item;
    /* The item is in progress, but Lua did not receive its key: memory was
     * short. */
    bool holds_item;
    kl_report *report;       /* a reference: the controller is in it; or NULL */
    kl_reported *controller; /* NULL: not shown */
} queue_box;

static queue_box *check_queue_box(lua_State *L)
{
    queue_box *box = luaL_checkudata(L, 1, TYPE_QUEUE);

    if (box->queue == NULL) {
        misuse(L, "the queue is closed");
    }
    return box;
}

static kl_queue *check_workqueue(lua_State *L)
{
    return check_queue_box(L)->queue;
}

/* The key, argument 2. Borrowed: the stack keeps it alive. */
static const char *check_queue_key(lua_State *L)
{
    if (lua_type(L, 2) != LUA_TSTRING) {
        misuse(L, "a key must be a string, not a %s",
               lua_isnone(L, 2) ? "nil" : luaL_typename(L, 2));
    }
    return check_text(L, 2);
}

/* Seconds as milliseconds, rounded up; nil or none gives `absent`. */
static int64_t check_delay(lua_State *L, int index, int64_t absent)
{
    double seconds;

    if (lua_isnoneornil(L, index)) {
        return absent;
    }
    seconds = luaL_checknumber(L, index);
    if (isnan(seconds)) {
        misuse(L, "not a number of seconds");
    }
    seconds = fmax(-MAX_SECONDS, fmin(seconds, MAX_SECONDS));
    return (int64_t)ceil(seconds * 1000);
}

static lua_Number to_seconds(int64_t ms)
{
    return (lua_Number)ms / 1000;
}

static int push_true_or_error(lua_State *L, kl_code code, const kl_error *err)
{
    if (code != KL_OK) {
        return push_error(L, err);
    }
    lua_pushboolean(L, true);
    return 1;
}

/* core.queue { delay = seconds, stands = bool }: with `stands`, only
 * queue:advance moves its clock. */
static int queue_new(lua_State *L)
{
    static const char *const names[] = {"delay", "stands", NULL};
    kl_queue_options options;
    queue_box *box;
    kl_error err;

    check_options(L, 1, "core.queue", names);
    options = (kl_queue_options){.gather_ms = option_ms(L, 1, "delay", 0),
                                 .clock_stands = option_bool(L, 1, "stands")};
    box = lua_newuserdata(L, sizeof(*box));
    *box = (queue_box){0};
    luaL_getmetatable(L, TYPE_QUEUE);
    lua_setmetatable(L, -2);
    box->queue = kl_queue_new(&options, &err);
    return box->queue != NULL ? 1 : push_error(L, &err);
}

static void hide_controller(queue_box *box)
{
    if (box->report != NULL) {
        kl_report_remove_controller(box->report, box->controller);
        kl_report_unref(box->report);
    }
    box->report = NULL;
    box->controller = NULL;
}

static int queue_gc(lua_State *L)
{
    queue_box *box = lua_touserdata(L, 1);

    hide_controller(box);
    kl_queue_free(box->queue);
    box->queue = NULL;
    return 0;
}

/* queue:show(name, workers, lease or nil, cluster or nil): shows the controller
 * that owns the queue in the report of its lua_State. True; or nil, message,
 * code. */
static int queue_show(lua_State *L)
{
    queue_box *box = check_queue_box(L);
    kl_reported_options options = {.name = check_text(L, 2),
                                   .queue = box->queue,
                                   .workers = (int)luaL_checkinteger(L, 3),
                                   .lease = luaL_optstring(L, 4, NULL),
                                   .cluster = luaL_optstring(L, 5, NULL)};
    kl_error err;
    kl_report *report = push_report(L, &err);

    if (report == NULL) {
        return push_error(L, &err);
    }
    hide_controller(box);
    box->controller = kl_report_add_controller(report, &options, &err);
    if (box->controller == NULL) {
        return push_error(L, &err);
    }
    box->report = kl_report_ref(report);
    lua_pushboolean(L, true);
    return 1;
}

/* queue:hide(): the controller has ended. */
static int queue_hide(lua_State *L)
{
    hide_controller(luaL_checkudata(L, 1, TYPE_QUEUE));
    return 0;
}

/* queue:set_listed(): the controller's caches hold their first lists. */
static int queue_set_listed(lua_State *L)
{
    const queue_box *box = check_queue_box(L);

    if (box->controller != NULL) {
        kl_reported_set_listed(box->controller, true);
    }
    return 0;
}

/* queue:lead(seconds or nil): the controller leads for so long at most, unless
 * this is called again; nil: it does not lead. */
static int queue_lead(lua_State *L)
{
    const queue_box *box = check_queue_box(L);
    int64_t left_ms = check_delay(L, 2, 0);
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    if (box->controller != NULL) {
        kl_reported_set_leads_until(
            box->controller, left_ms > 0 ? (int64_t)now.tv_sec * 1000 +
                                               now.tv_nsec / 1000000 + left_ms
                                         : 0);
    }
    return 0;
}

static kl_lane read_lane(lua_State *L, int index)
{
    return lua_toboolean(L, index) ? KL_LANE_REAR : KL_LANE_FRONT;
}

/* queue:add(key, is_rear): true, or nil, message, code. */
static int queue_add(lua_State *L)
{
    const char *key = check_queue_key(L);
    kl_error err;

    return push_true_or_error(
        L, kl_queue_add(check_workqueue(L), key, read_lane(L, 3), &err), &err);
}

/* queue:add_related(key, is_rear): true, or nil, message, code. */
static int queue_add_related(lua_State *L)
{
    const char *key = check_queue_key(L);
    kl_error err;

    return push_true_or_error(
        L, kl_queue_add_related(check_workqueue(L), key, read_lane(L, 3), &err),
        &err);
}

/* queue:add_after(key, seconds): true, or nil, message, code. */
static int queue_add_after(lua_State *L)
{
    const char *key = check_queue_key(L);
    int64_t ms = check_delay(L, 3, 0);
    kl_error err;

    return push_true_or_error(
        L, kl_queue_add_after(check_workqueue(L), key, ms, &err), &err);
}

/*
 * queue:next(): takes the next key and returns five values: the key, which is
 * in progress from now on; true if it waited in the rear lane; the number of
 * the attempt; how many seconds it waited; and the seconds until a later run
 * that was asked for, or nil. Nothing if no key waits. If it raises because
 * memory is short, the next call returns the same key.
 */
static int queue_next(lua_State *L)
{
    queue_box *box = check_queue_box(L);

    luaL_checkstack(L, 5, "for a key");
    if (!box->holds_item && !kl_queue_next(box->queue, &box->item)) {
        return 0;
    }
    box->holds_item = true;
    push_borrowed(L, box->item.key);
    box->holds_item = false;
    lua_pushboolean(L, box->item.lane == KL_LANE_REAR);
    lua_pushinteger(L, (lua_Integer)box->item.attempt);
    lua_pushnumber(L, to_seconds(box->item.waited_ms));
    if (!box->item.has_timer) {
        lua_pushnil(L);
    } else {
        lua_pushnumber(L, to_seconds(box->item.timer_ms));
    }
    return 5;
}

/* queue:done(key, result, seconds): ends the run of the key. Returns the
 * seconds until the key waits again; nil: only after another add. */
static int queue_done(lua_State *L)
{
    static const char *const names[] = {"done", "after", "paced", "failed",
                                        NULL};
    static const kl_queue_result results[] = {
        KL_RESULT_DONE, KL_RESULT_AFTER, KL_RESULT_PACED, KL_RESULT_FAILED};
    const char *key = check_queue_key(L);
    kl_queue_result result = results[luaL_checkoption(L, 3, NULL, names)];
    int64_t ms = check_delay(L, 4, result == KL_RESULT_AFTER ? 0 : -1);
    int64_t again_ms;

    if (kl_queue_done(check_workqueue(L), key, result, ms, &again_ms) !=
        KL_OK) {
        return misuse(L, "'%s' is not in progress", key);
    }
    if (again_ms < 0) {
        return 0;
    }
    lua_pushnumber(L, to_seconds(again_ms));
    return 1;
}

static int queue_forget(lua_State *L)
{
    const char *key = check_queue_key(L);

    kl_queue_forget(check_workqueue(L), key);
    return 0;
}

/* queue:due_in(): the seconds until queue:next has a key; nil: only after
 * another add or done. */
static int queue_due_in(lua_State *L)
{
    int64_t ms = kl_queue_due_in(check_workqueue(L));

    if (ms < 0) {
        return 0;
    }
    lua_pushnumber(L, to_seconds(ms));
    return 1;
}

static int queue_drain(lua_State *L)
{
    kl_queue_drain(check_workqueue(L));
    return 0;
}

static int queue_shut_down(lua_State *L)
{
    kl_queue_shut_down(check_workqueue(L));
    return 0;
}

static int queue_is_finished(lua_State *L)
{
    lua_pushboolean(L, kl_queue_is_finished(check_workqueue(L)));
    return 1;
}

/* queue:advance(seconds): moves the queue's clock forward. */
static int queue_advance(lua_State *L)
{
    int64_t ms = check_ms(L, 2, 0);

    if (ms > 0) {
        kl_queue_advance(check_workqueue(L), ms);
    }
    return 0;
}

/* queue:status(): a table of what the queue holds, and what has passed through
 * it. */
static int queue_status(lua_State *L)
{
    kl_queue_status status;

    kl_queue_get_status(check_workqueue(L), &status);
    lua_createtable(L, 0, 8);
    set_count(L, "waiting", status.waiting);
    set_count(L, "waiting_rear", status.waiting_rear);
    set_count(L, "in_progress", status.in_progress);
    set_count(L, "delayed", status.delayed);
    set_count(L, "failing", status.failing);
    set_count(L, "adds", status.adds);
    set_count(L, "retries", status.retries);
    lua_pushnumber(L, to_seconds(status.oldest_wait_ms));
    lua_setfield(L, -2, "oldest_wait");
    return 1;
}

void bind_queue(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", queue_gc},
                                       {"add", queue_add},
                                       {"add_related", queue_add_related},
                                       {"add_after", queue_add_after},
                                       {"next", queue_next},
                                       {"done", queue_done},
                                       {"forget", queue_forget},
                                       {"due_in", queue_due_in},
                                       {"drain", queue_drain},
                                       {"shut_down", queue_shut_down},
                                       {"is_finished", queue_is_finished},
                                       {"advance", queue_advance},
                                       {"status", queue_status},
                                       {"show", queue_show},
                                       {"hide", queue_hide},
                                       {"set_listed", queue_set_listed},
                                       {"lead", queue_lead},
                                       {NULL, NULL}};
    static const luaL_Reg functions[] = {{"queue", queue_new}, {NULL, NULL}};

    push_type(L, TYPE_QUEUE, methods);
    luaL_setfuncs(L, functions, 0);
}
