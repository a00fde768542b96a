/*
 * binding.h - what the files of lua/src share. Each file binds one concept of
 * the C core, in three steps: check the arguments, call the core, push the
 * result.
 *
 * Rules for every file here:
 * - No lua_State is kept (but watchdog.c keeps one while it runs).
 * - Nothing that must be freed is owned only by a C local across a lua_* call
 *   that can throw: the userdata is made first, and filled afterwards.
 * - No lock is held across a lua_* call.
 * - A __gc neither throws nor calls Lua.
 * - A lua_* call that allocates may run a finalizer of the script, and that may
 *   stop or close anything. So call check_client, check_informer and the like
 *   after the last such call, just before their result is used.
 *
 * A client, an informer and a registration are one userdata each. The methods
 * of a type are in one table, and Lua adds to it (core.methods). Lua's own
 * fields for a userdata are in a second table, its state (core.state).
 */
#ifndef KUBELUA_BINDING_H
#define KUBELUA_BINDING_H

#include "compat.h"

#include "kubelua/kubelua.h"

#include <stdbool.h>

#pragma GCC visibility push(hidden) /* a rock is built without that flag */

/* Names of the metatables in the registry. */
#define TYPE_OBJECT "kubelua.object"
#define TYPE_VIEW "kubelua.view"
#define TYPE_NUMBER "kubelua.number"
#define TYPE_CLIENT "kubelua.client"
#define TYPE_INFORMER "kubelua.informer"
#define TYPE_REGISTRATION "kubelua.registration"
#define TYPE_POLLER "kubelua.poller"
#define TYPE_QUEUE "kubelua.queue"
#define TYPE_REPLY "kubelua.reply"
#define TYPE_REQUEST "kubelua.request"
#define TYPE_PROCESS "kubelua.process"
#define TYPE_ACTIVITY "kubelua.activity"
#define TYPE_BUDGET "kubelua.budget"
/* Marks the tables that are JSON arrays, also when they are empty. */
#define TYPE_ARRAY "kubelua.array"

/* Each adds its functions to the module table on top of the stack, and makes
 * its metatables. */
void bind_view(lua_State *L);
void bind_list(lua_State *L);
void bind_convert(lua_State *L);
void bind_client(lua_State *L);
void bind_informer(lua_State *L);
void bind_registration(lua_State *L);
void bind_poller(lua_State *L);
void bind_queue(lua_State *L);
void bind_request(lua_State *L);
void bind_process(lua_State *L);
void bind_metric(lua_State *L);
void bind_reply(lua_State *L);
void bind_transport(lua_State *L);
void bind_watchdog(lua_State *L);
void bind_log(lua_State *L);
void bind_manifest(lua_State *L);
void bind_match(lua_State *L);
void bind_host(lua_State *L);
void bind_first_process(lua_State *L);
/* file.c: adds core.private_file and core.close_file. */
void bind_file(lua_State *L);
void bind_stream(lua_State *L);
void bind_shard(lua_State *L);
void bind_digest(lua_State *L);
void bind_text(lua_State *L);
/* budget.c, pattern.c: for code that is not trusted. */
void bind_budget(lua_State *L);
void bind_pattern(lua_State *L);
void bind_answer(lua_State *L);

/* push.c: results */

/* Pushes nil, the message and the code's name; returns 3. */
int push_error(lua_State *L, const kl_error *err);
/* Sets a field of the table on top of the stack. */
void set_count(lua_State *L, const char *name, uint64_t value);
/* Pushes a text that its owner frees when it is closed. The text is copied
 * first: LuaJIT may collect before lua_pushstring copies, and a finalizer may
 * close the owner. */
void push_borrowed(lua_State *L, const char *text);
/* Makes a metatable of that name; pushes nothing. The methods are in a separate
 * table (it becomes __index, unless they have an __index). getmetatable returns
 * only the name, so no script can call a __gc. */
void push_type(lua_State *L, const char *name, const luaL_Reg *methods);
/* Pushes a zeroed userdata of that type, with an empty state. */
void *push_with_state(lua_State *L, size_t size, const char *type);
/* Pushes and returns the userdata that the registry has under this address; the
 * first call for a lua_State makes it, of zeros. */
void *push_kept(lua_State *L, const void *address, size_t size);
/* Pushes the state of the userdata at `index`, made by push_with_state. */
void push_state(lua_State *L, int index);

/* misuse.c: mistakes of the script */

/* Adds core.misuse, core.methods and core.state. */
void bind_misuse(lua_State *L);
/* Raises an error with the line of the script: of the innermost function on the
 * stack that is not KubeLua's. Never returns; the int is for "return
 * misuse(...)". */
int misuse(lua_State *L, const char *format, ...);

/* check.c: arguments */

/* Pushes a field of the table at `index` (absolute), without metamethods. */
void push_option(lua_State *L, int index, const char *name);
/* The string field of the options table at `index`; NULL if absent. Raises if
 * it is anything else, or has a NUL byte. Borrowed: the table keeps it. */
const char *option_string(lua_State *L, int index, const char *name);
/* Raises unless a string is there; `call` and `what` are for the message. */
void check_string(lua_State *L, int index, const char *call, const char *what);
/* The string at `index`, which has no NUL byte; raises otherwise. */
const char *check_text(lua_State *L, int index);
/* The strings of the array `name`, then NULL; or NULL. Pushes two values. */
const char *const *push_texts(lua_State *L, int index, const char *name);
bool option_bool(lua_State *L, int index, const char *name);
/* Seconds (0 to a hundred years, else raises) as ms; or `absent`. */
int64_t option_ms(lua_State *L, int index, const char *name, int64_t absent);
/* An integer of 0 or more; 0 if absent. Raises on anything else. */
int option_integer(lua_State *L, int index, const char *name);
/* Raises unless every string key of the table is in `names` (NULL-ended); the
 * error names the nearest one. */
void check_options(lua_State *L, int index, const char *what,
                   const char *const *names);
/* Raises if the name is not NULL and cannot be a namespace. */
void check_namespace(lua_State *L, const char *call, const char *name);
/* Seconds at `index` as milliseconds; nil or none gives `absent`. */
int64_t check_ms(lua_State *L, int index, int64_t absent);

/* The userdata at `index` if it is of that type, else NULL. */
void *test_type(lua_State *L, int index, const char *name);

/* whole.c: objects */

/* Pushes a read-only object, whose metatable is at `type`; adds a reference. */
void push_object(lua_State *L, int type, kl_object *object);
/* The same for an old state or a deleted object: only the script keeps it
 * alive, so the collector is told of its size. */
void push_last_object(lua_State *L, int type, kl_object *object);
/* Pushes an object without content; the caller stores a reference to a
 * kl_object in the result. */
kl_object **push_empty_object(lua_State *L);
/* Pushes an array of the objects; takes the references that the list has. The
 * caller keeps the list in a userdata (push_list_guard). */
void push_object_list(lua_State *L, kl_object_list *list);
/* view_text.c */

/* The value of the object or view at `index`, parsed if it was not; NULL if it
 * is neither. Borrowed while the userdata lives. */
const kl_value *to_value(lua_State *L, int index);

/* list.c: lists of objects */

/* Pushes a userdata whose __gc clears the list in it; returns that list. */
kl_object_list *push_list_guard(lua_State *L);
/* The same for a list of objects that cannot be read. */
kl_unreadable_list *push_unreadable_guard(lua_State *L);
/* Sets the elements of the table on top of the stack: { key =, why =,
 * cached = }. */
void push_unreadable(lua_State *L, const kl_unreadable_list *list);

/* convert.c: JSON to tables and back */

/* Pushes a deep copy of a value: tables, kubelua.null, exact numbers. */
void push_copy(lua_State *L, const kl_value *value);
/* Pushes a scalar; returns false (and pushes nothing) for array and object. */
bool push_scalar(lua_State *L, const kl_value *value);
/* Pushes the JSON text of the value at `index` (table, object, view, scalar),
 * and returns it. Raises on what JSON cannot hold. */
const char *push_json(lua_State *L, int index, size_t *length);
/* Pushes a userdata for a document, empty; its __gc unrefs the document. */
kl_doc **push_doc_guard(lua_State *L);

/* client.c, poller.c, informer.c: the first two raise if the value is closed.
 * check_informer returns NULL and an error if the informer is stopped. */
kl_client *check_client(lua_State *L, int index);
kl_event_queue *check_queue(lua_State *L, int index);
/* Makes the poller at `index` wake when the descriptor is readable. False:
 * errno says why not. The descriptor's close ends it. */
bool poller_adds(lua_State *L, int index, int fd);
kl_informer *check_informer(lua_State *L, int index, kl_error *err);

/* informer.c: pushes a label selector in a userdata whose __gc frees it. NULL:
 * it does not parse. Raises only if memory is short. */
const kl_selector *push_selector(lua_State *L, const char *text, kl_error *err);

/* metric.c: pushes what keeps the report of this lua_State, and returns that
 * report, made at the first call, or in a child of fork(); NULL: an error. */
kl_report *push_report(lua_State *L, kl_error *err);

/* reply.c: raw requests */

/* Reads method, target, body, ... of a request table; its strings are borrowed
 * from the table and from values left on the stack. */
void check_call(lua_State *L, int index, kl_call *call);
/* Pushes status, body and content type. */
void push_reply(lua_State *L, const kl_reply *reply);
/* Pushes a userdata whose __gc clears the reply in it; returns that reply. */
kl_reply *push_reply_guard(lua_State *L);
/* Pushes {status =, body =, headers =}; values of headers of the same name are
 * joined with commas. */
void push_reply_table(lua_State *L, const kl_reply *reply);
/* The reply in such a userdata; NULL: the value is another one. */
kl_reply *test_reply(lua_State *L, int index);
/* Pushes a userdata for a text, empty; its __gc frees the text. */
char **push_text_guard(lua_State *L);

/* transport.c: carries the requests of a client of one C module to another */

/* The transport at `index`, borrowed from its userdata; raises otherwise. */
kl_transport *check_transport(lua_State *L, int index);
/* Pushes an empty one; the caller stores a reference in the result. */
kl_transport **push_transport(lua_State *L);

/*
 * watchdog.c: tells the core's watchdog what the loop of a lua_State runs. Call
 * all of these on the thread that runs the lua_State, except watch_hurry. NULL
 * stands for a loop that is not watched.
 */
typedef struct loop_watch loop_watch;

/* Starts to watch; NULL if limit_ms is 0, or memory is short. Chunks whose name
 * begins with `own` are KubeLua's. The caller owns one reference. */
loop_watch *watch_start(int64_t limit_ms, const char *own);
/* Stops, and drops the reference of watch_start. */
void watch_stop(loop_watch *watch);
/* Lets the report say what blocks the loop; take that back, by
 * kl_report_set_watchdog, before watch_stop. Both may be NULL. */
void watch_show(loop_watch *watch, kl_report *report);
loop_watch *watch_ref(loop_watch *watch);
/* The coroutine L now runs `activity`, which must not change until watch_leave
 * or the next watch_enter. */
void watch_enter(loop_watch *watch, lua_State *L, const kl_activity *activity);
void watch_leave(loop_watch *watch);
/* See kl_watchdog_hurry. Safe inside a signal handler. */
void watch_hurry(loop_watch *watch, int signal);

/* The events of one registration, as activities of the watchdog. */
typedef struct watched_events {
    loop_watch *watch; /* one reference; NULL: not watched */
    kl_activity activity;
    char *names[KL_EVENT_ERROR + 1]; /* by type; NULL: not watched */
} watched_events;

void watched_begin(watched_events *events, lua_State *L, const kl_event *event);
/* Call before the event is dropped. True if its handler still runs. */
bool watched_end(watched_events *events);
void watched_deinit(watched_events *events);
/* f(registration, event, text): sets the name of the handler of that event. */
int watched_name(lua_State *L, watched_events *events);
/* Pushes the name of the handler that runs now, and its object. */
int watched_push(lua_State *L, const watched_events *events);

/* poller.c: the watch of the poller at `index`; borrowed. */
loop_watch *check_watch(lua_State *L, int index);
/* registration.c: the watched event that the registration at `index` handles
 * now; NULL if there is none, or if the value is no registration. */
const kl_activity *test_handling(lua_State *L, int index);

/*
 * An informer's userdata, the only owner of the core's handle. It lists its
 * registrations: whichever of them ends first must find the other, as the
 * collector finalizes them in any order. One thread uses it: no lock.
 */
typedef struct informer_box {
    kl_informer *informer; /* NULL while being made, and once stopped */
    kl_report *report;     /* a reference: the informer is in it; or NULL */
    struct registration_box *first;
} informer_box;

informer_box *check_informer_box(lua_State *L, int index);
/* registration.c: takes every registration out of the list of its informer. */
void detach_registrations(informer_box *box);

#pragma GCC visibility pop

#endif
