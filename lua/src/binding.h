/*
 * binding.h - what the files of the binding share. Each of them binds one
 * concept in three beats: check the arguments, call the core, push a result.
 *
 * Rules of the house, for every file here: no lua_State is kept (but while it
 * runs, watchdog.c); nothing that
 * must be freed is owned only by a C local across a lua_* call that can throw
 * (the userdata comes first and is filled afterwards); no lock is held across a
 * lua_* call; a metamethod __gc neither throws nor calls Lua. A lua_* call that
 * makes something may run a finalizer of the script, which may stop or close
 * anything: what check_client, check_informer and the like return is fetched
 * after the last of them, just before it is used.
 *
 * A client, an informer and a registration are one userdata each. Their methods
 * stand in one table, which Lua completes (core.methods), and what Lua keeps of
 * one of them is in a table of its own, the state (core.state).
 */
#ifndef KUBELUA_BINDING_H
#define KUBELUA_BINDING_H

#include "compat.h"

#include "kubelua/kubelua.h"

#include <stdbool.h>

/* Names of the metatables in the registry. */
#define TYPE_OBJECT "kubelua.object"
#define TYPE_VIEW "kubelua.view"
#define TYPE_NUMBER "kubelua.number"
#define TYPE_CLIENT "kubelua.client"
#define TYPE_INFORMER "kubelua.informer"
#define TYPE_REGISTRATION "kubelua.registration"
#define TYPE_POLLER "kubelua.poller"
#define TYPE_QUEUE "kubelua.queue"
#define TYPE_REQUEST "kubelua.request"
#define TYPE_PROCESS "kubelua.process"
#define TYPE_ACTIVITY "kubelua.activity"
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
void bind_reply(lua_State *L);
void bind_transport(lua_State *L);
void bind_watchdog(lua_State *L);
void bind_log(lua_State *L);
void bind_manifest(lua_State *L);
void bind_match(lua_State *L);
void bind_host(lua_State *L);
void bind_stream(lua_State *L);
void bind_text(lua_State *L);
void bind_answer(lua_State *L);

/* push.c: results */

/* Pushes nil, the message and the code's name; returns 3. */
int push_error(lua_State *L, const kl_error *err);
/* Sets a field of the table on top of the stack. */
void set_count(lua_State *L, const char *name, uint64_t value);
/* Pushes a text that a close of its owner frees: LuaJIT collects before it
 * copies, and a finalizer may close. */
void push_borrowed(lua_State *L, const char *text);
/* Makes a metatable of that name and leaves nothing. The methods are in a table
 * of their own (its __index, unless they hold one), and getmetatable sees the
 * name only: no script gets hold of a __gc. */
void push_type(lua_State *L, const char *name, const luaL_Reg *methods);
/* Pushes a zeroed userdata of that type, and gives it an empty state. */
void *push_with_state(lua_State *L, size_t size, const char *type);
/* Pushes the state of the userdata at `index`, which has one. */
void push_state(lua_State *L, int index);

/* misuse.c: errors that a script made */

/* Adds core.misuse, core.methods and core.state. */
void bind_misuse(lua_State *L);
/* Raises an error at the line of the script: the innermost function on the
 * stack that is none of KubeLua's own. Returns nothing; the int is for
 * "return misuse(...)". */
int misuse(lua_State *L, const char *format, ...);

/* check.c: arguments */

/* Pushes a field of the options table at `index`, an absolute one; its
 * metatable is not asked. */
void push_option(lua_State *L, int index, const char *name);
/* The string field of the options table at `index`; NULL if absent. Raises if
 * it is anything else, or has a NUL byte. Borrowed: the table keeps it. */
const char *option_string(lua_State *L, int index, const char *name);
/* Raises unless a string is there; `call` and `what` are for the message. */
void check_string(lua_State *L, int index, const char *call, const char *what);
/* The string at `index`, which has no NUL byte; raises otherwise. */
const char *check_text(lua_State *L, int index);
bool option_bool(lua_State *L, int index, const char *name);
/* Seconds as milliseconds; `absent` if the field is not there. Raises on a
 * negative or absurd number. */
int64_t option_ms(lua_State *L, int index, const char *name, int64_t absent);
/* An integer from 0; 0 if absent. Raises on anything else. */
int option_integer(lua_State *L, int index, const char *name);
/* Raises unless every string key of the table is in `names` (NULL-ended); the
 * error names the nearest one. */
void check_options(lua_State *L, int index, const char *what,
                   const char *const *names);
/* Raises unless NULL, or what can be the name of a namespace. */
void check_namespace(lua_State *L, const char *call, const char *name);
/* Seconds at `index` as milliseconds; nil or none gives `absent`. */
int64_t check_ms(lua_State *L, int index, int64_t absent);

/* The userdata at `index` if it is of that type, else NULL. */
void *test_type(lua_State *L, int index, const char *name);

/* view.c: objects */

/* Pushes a read-only object; takes one reference more. */
void push_object(lua_State *L, kl_object *object);
/* The same for one that the cache has let go of, an old state or a deleted one:
 * the script alone will keep it alive, and the collector is told. */
void push_last_object(lua_State *L, kl_object *object);
/* Pushes an object that is none yet; returns where the reference goes. */
kl_object **push_empty_object(lua_State *L);
/* The value of the object or view at `index`, opened; NULL if it is neither.
 * Borrowed while the userdata lives. */
const kl_value *to_value(lua_State *L, int index);

/* list.c: many of them */

/* Pushes an array of them; the list still belongs to the caller, who keeps it
 * in a userdata: see list_guard. */
void push_object_list(lua_State *L, const kl_object_list *list);
/* Pushes a userdata that clears the list it holds when it is collected, and
 * returns that list. */
kl_object_list *push_list_guard(lua_State *L);

/* convert.c: JSON to tables and back */

/* Pushes a deep copy of a value: tables, kubelua.null, exact numbers. */
void push_copy(lua_State *L, const kl_value *value);
/* Pushes a scalar; returns false (and pushes nothing) for array and object. */
bool push_scalar(lua_State *L, const kl_value *value);
/* Pushes the JSON text of the value at `index` (table, object, view, scalar),
 * and returns it. Raises on what JSON cannot hold. */
const char *push_json(lua_State *L, int index, size_t *length);
/* Pushes a userdata that frees the writer in it, a new one. */
kl_writer **push_writer_guard(lua_State *L);
/* Pushes a userdata that unrefs the document which it will hold. */
kl_doc **push_doc_guard(lua_State *L);

/* client.c, poller.c, informer.c */
kl_client *check_client(lua_State *L, int index);
kl_event_queue *check_queue(lua_State *L, int index);
kl_informer *check_informer(lua_State *L, int index, kl_error *err);

/* informer.c: pushes a label selector, as a userdata that frees it; NULL: it
 * does not parse. Raises only for want of memory. */
const kl_selector *push_selector(lua_State *L, const char *text, kl_error *err);

/* reply.c: one raw request */

/* Reads method, target, body, ... of a request table; its strings are borrowed
 * from the table and from values left on the stack. */
void check_call(lua_State *L, int index, kl_call *call);
/* Pushes status, body and content type. */
void push_reply(lua_State *L, const kl_reply *reply);
/* Pushes a userdata that clears the reply it holds when collected. */
kl_reply *push_reply_guard(lua_State *L);
/* Pushes a userdata that frees the text which it will hold. */
char **push_text_guard(lua_State *L);

/* transport.c: how a client of one module travels through another */

/* Raises unless a transport is there; borrowed from the userdata. */
kl_transport *check_transport(lua_State *L, int index);
/* Pushes an empty one; returns where the reference goes. */
kl_transport **push_transport(lua_State *L);

/*
 * watchdog.c: what a lua_State's loop runs, for the watchdog. All for the
 * thread that runs the lua_State; NULL stands for a loop that is not watched.
 */
typedef struct loop_watch loop_watch;

/* Starts to watch; NULL if limit_ms is 0, or memory is short. `own`: what the
 * names of KubeLua's own chunks begin with. One reference. */
loop_watch *watch_start(int64_t limit_ms, const char *own);
/* Ends it, and the reference of watch_start. */
void watch_stop(loop_watch *watch);
loop_watch *watch_ref(loop_watch *watch);
void watch_unref(loop_watch *watch);
/* The coroutine L runs that activity, which stays as it is until watch_leave,
 * or until another is entered. */
void watch_enter(loop_watch *watch, lua_State *L, const kl_activity *activity);
void watch_leave(loop_watch *watch);
/* See kl_watchdog_hurry. Safe inside a signal handler. */
void watch_hurry(loop_watch *watch, int signal);

/* The events of a registration as activities. */
typedef struct watched_events {
    loop_watch *watch; /* a reference; NULL: none */
    kl_activity activity;
    char *names[KL_EVENT_ERROR + 1]; /* by type; NULL: it is no activity */
} watched_events;

void watched_begin(watched_events *events, lua_State *L, const kl_event *event);
/* The event is about to be dropped. True if its handler still runs. */
bool watched_end(watched_events *events);
void watched_deinit(watched_events *events);
/* f(registration, event, text): what an event's handler is called. */
int watched_name(lua_State *L, watched_events *events);
/* Pushes what the event under way is called. */
int watched_push(lua_State *L, const watched_events *events);

/* poller.c: the watch of the poller at `index`; borrowed. */
loop_watch *check_watch(lua_State *L, int index);
/* registration.c: the event that the registration at `index` handles; NULL if
 * it is none, or handles none. */
const kl_activity *test_handling(lua_State *L, int index);

/*
 * An informer's userdata: the one owner of the core's handle. Its registrations
 * are in a list, so that the end of either finds the other: a finalizer may end
 * them in any order. One thread: no lock.
 */
typedef struct informer_box {
    kl_informer *informer; /* NULL while being made, and once stopped */
    struct registration_box *first;
} informer_box;

informer_box *check_informer_box(lua_State *L, int index);
/* registration.c: leaves every registration of the list without an informer. */
void detach_registrations(informer_box *box);

#endif
