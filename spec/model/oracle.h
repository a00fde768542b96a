/*
 * oracle.h - what has to be true: of each event, of each answer, and of all at
 * the end. A broken rule fails the run with a message that begins with its
 * name.
 */
#ifndef KL_SPEC_MODEL_ORACLE_H
#define KL_SPEC_MODEL_ORACLE_H

#include "world.h"

/* An event as it was told to a handler. `resync`: -1 is not known. */
typedef struct told {
    kl_event_type type;
    bool initial;
    bool unknown;
    int resync;
    kl_object *old;
    kl_object *object;
    const kl_error *error;
} told;

/* Believes what a handler is told, or fails. */
void witness_see(handler *self, const told *event);
/* After it has returned from it. */
void witness_seen(handler *self, const told *event);
/* All that was due came, in order; for handlers that merge nothing. NULL, or
 * what is missing. */
const char *witness_missing(const handler *self, char *text, size_t size);
/* True if the handler knows exactly what the server has. */
bool witness_is_current(const handler *self);
/* Drops what it holds. */
void witness_clear(handler *self);
/* The version of an object as a number. */
int64_t witness_version(const kl_object *object);

/* What an answer is about: objects of the scope that have this. */
typedef enum answer_kind {
    ANSWER_ALL,
    ANSWER_NODE,      /* spec.node is `value` */
    ANSWER_APP,       /* spec.app is `value` */
    ANSWER_VALUE,     /* spec.value modulo 3 is `value` */
    ANSWER_NAMESPACE, /* n<value> */
} answer_kind;

/* A read that begins: what is known of the cache until then. */
typedef struct reading {
    feed *feed;
    bool is_checked; /* there is something to compare with */
    bool was_synced;
    size_t floor;
} reading;

void cache_begin(reading *self, world *in, user_informer *informer);
/* The answer is what the server had at some moment, no earlier than what was
 * read before: seen wholly or not at all. */
void cache_check(const reading *self, world *in, answer_kind kind, int value,
                 const kl_object_list *list);
void cache_check_one(const reading *self, world *in, int key,
                     const kl_object *object);
/* That a handler knows what the server had at some moment. */
void cache_check_handler(const handler *self);
/* The cache reflects the change that came with that version. */
void cache_reflects(feed *of, const server *from, int64_t version);

/* Nothing goes wrong any more, and answers come quickly. */
void finish_make_well(world *self);
/* Changes something in each scope. */
void finish_write_everywhere(world *self);
enum { FINISH_LOOK_MS = 500 }; /* between two looks at how it is */

/* True if all caches and handlers have what the server has; else `why` says
 * what is missing. */
bool finish_is_settled(world *self, char *why, size_t size);
/* A server that ends each watch at once is in trouble for good. */
bool finish_is_restless(const world *self);
/* Nothing of the user's is in the way any more. */
void finish_let_go(world *self);
/* Waits until all is in sync, with no fiber of the user in the way; fails after
 * a limit. */
void finish_await_settled(world *self);
/* Lets everything settle, and checks that it does, how, and that it is quiet
 * then. */
void finish_settle(world *self);
/* A long outage: every request fails, and every user must be told. */
void finish_storm(world *self, const op *what);
/* Everything is stopped: nothing may be left. */
void finish_nothing_left(world *self);

#endif
