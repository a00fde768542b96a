/*
 * oracle.h - the rules: what must be true of each event, of each answer, and of
 * everything at the end. A broken rule fails the run with a message that begins
 * with the rule's name.
 */
#ifndef KL_SPEC_MODEL_ORACLE_H
#define KL_SPEC_MODEL_ORACLE_H

#include "world.h"

/* An event as a handler got it. `resync`: -1: not known. */
typedef struct told {
    kl_event_type type;
    bool initial;
    bool unknown;
    int resync;
    kl_object *old;
    kl_object *object;
    const kl_error *error;
} told;

/* Checks an event that a handler gets, and remembers it; fails the run if it
 * breaks a rule. */
void witness_see(handler *self, const told *event);
/* Checks what must be true after the handler has returned from the event. */
void witness_seen(handler *self, const told *event);
/* Checks that a handler that merges nothing got every event that was due, in
 * order. Returns NULL, or a text that says what is missing. */
const char *witness_missing(const handler *self, char *text, size_t size);
/* True if the handler knows exactly the objects that the server has in its
 * scope. */
bool witness_is_current(const handler *self);
/* Drops the objects that the handler knows. */
void witness_clear(handler *self);
/* The version of an object as a number. */
int64_t witness_version(const kl_object *object);

/* Which objects of the scope an answer must contain. */
typedef enum answer_kind {
    ANSWER_ALL,
    ANSWER_NODE,      /* spec.node is `value` */
    ANSWER_APP,       /* spec.app is `value` */
    ANSWER_VALUE,     /* spec.value modulo 3 is `value` */
    ANSWER_NAMESPACE, /* the namespace is n<value> */
} answer_kind;

/* A read of a cache: what was known of the cache when the read began. */
typedef struct reading {
    feed *feed;
    bool is_checked; /* the answer can be compared with the history */
    bool was_synced;
    size_t floor;
} reading;

void cache_begin(reading *self, world *in, user_informer *informer);
/* Checks that the answer is the state that the server had at one moment, no
 * earlier than that of answers before. */
void cache_check(const reading *self, world *in, answer_kind kind, int value,
                 const kl_object_list *list);
void cache_check_one(const reading *self, world *in, int key,
                     const kl_object *object);
/* Checks that the objects that a handler knows are the state that the server
 * had at one moment. */
void cache_check_handler(const handler *self);
/* Notes that the cache holds the change of that version. */
void cache_reflects(feed *of, const server *from, int64_t version);

/* Ends all faults and delays of the server. */
void finish_make_well(world *self);
/* Changes something in each scope. */
void finish_write_everywhere(world *self);
enum { FINISH_LOOK_MS = 500 }; /* time between two checks */

/* True if all caches and handlers have the same objects as the server; else
 * `why` says what is missing. */
bool finish_is_settled(world *self, char *why, size_t size);
/* True if the server ends each watch within a second: then a status may have an
 * error at any time. */
bool finish_is_restless(const world *self);
/* Releases held handlers and the paused loop. */
void finish_let_go(world *self);
/* finish_let_go, then waits until everything is in sync; fails after a time
 * limit. */
void finish_await_settled(world *self);
/* Ends all faults, and checks that everything gets in sync in time and then
 * stays quiet. */
void finish_settle(world *self);
/* A long outage: every request fails, and every informer and handler must
 * report it. */
void finish_storm(world *self, const op *what);
/* Checks that nothing is left after everything was stopped. */
void finish_nothing_left(world *self);

#endif
