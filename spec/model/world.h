/*
 * world.h - one run of a history: the server, the client under test, and its
 * informers and handlers. All fibers of the run share it.
 */
#ifndef KL_SPEC_MODEL_WORLD_H
#define KL_SPEC_MODEL_WORLD_H

#include "base/thread.h"
#include "feed.h"
#include "history.h"
#include "kubelua/handler.h"

enum { HANDLERS_EVER = 48, INFORMERS_EVER = 32, MAILS = HISTORY_OPS_MAX };

typedef struct world world;

/* An informer handle of the user. */
typedef struct user_informer {
    kl_informer *handle; /* until it is closed */
    feed *feed;
    int64_t resync_ms;
    bool is_closing; /* no fiber begins a call on it any more */
    bool is_closed;
    bool is_closed_inside; /* by a callback */
    /* Fibers that are about to take a reference, and calls without one that may
     * not have begun yet: the handle must not be freed before they have. */
    int users;
    unsigned indexes; /* bits: those that were added */
} user_informer;

typedef enum handler_state {
    HANDLER_JOINING,
    HANDLER_LIVE,
    HANDLER_LEAVING, /* a fiber removes it: no other one uses it */
    HANDLER_ENDED    /* no callback may begin any more */
} handler_state;

/* A registration, and what its handler has seen. */
typedef struct handler {
    world *world;
    int number;
    handler_kind kind;
    user_informer *informer;
    feed *feed;
    kl_registration *registration; /* while it is live */
    handler_state state;
    int users;    /* calls on the registration in progress */
    bool is_late; /* the cache had synced when it was added */

    size_t backlog;    /* 0: the default */
    int64_t resync_ms; /* the period that applies; 0: none */
    int slow_ms;
    bool is_held; /* its callbacks wait */
    op armed;     /* OP_ARM: for the next callback */

    bool is_bare;         /* its add holds no reference, and has not begun yet
                             as far as the model knows */
    int inside;           /* callbacks that run */
    bool is_ended_inside; /* a callback ended it: one more may begin */
    bool is_dropped;      /* drop_context was called */
    bool is_removed;      /* a fiber has begun to remove it alone */

    /* What the handler was told. */
    kl_object **known;     /* by key; a reference each */
    int64_t *newest;       /* by key: the greatest version that was seen */
    int64_t *resynced;     /* by key: how often */
    bool *told_unreadable; /* by key: an error said that it cannot be read */
    int64_t *seen;         /* versions, in order, resyncs left out */
    size_t seen_count;
    size_t seen_capacity;
    /* events that its feed carried before this index are not due */
    size_t due_from;
    /* changes of the server's history that the cache held when the handler
     * joined: an object that left by one of them was never due */
    size_t unseen_from;
    int gone; /* key + 1 if the last event was a missed delete of it; else 0 */
    bool has_synced;
    size_t errors;
    size_t errors_before; /* when an outage began */
    kl_error last_error;
    int pulled;      /* events taken from its backlog, and not shown yet */
    size_t stretch;  /* events since its backlog was last empty */
    bool has_merged; /* events were merged in this stretch */
    int64_t joined_ms;
} handler;

/* A fiber of the user, with the operations that it is sent. */
typedef struct hand {
    world *world;
    kl__thread thread;
    const op *mails[MAILS];
    size_t sent;
    size_t done;
} hand;

struct world {
    const history *history;
    server *server;
    feeds feeds;
    kl_client *client;
    bool is_client_closed;
    user_informer *slots[HISTORY_INFORMERS]; /* NULL: none */
    user_informer informers[INFORMERS_EVER];
    size_t informer_count;
    handler *handlers[HISTORY_HANDLERS]; /* NULL: none */
    handler *all_handlers[HANDLERS_EVER];
    size_t handler_count;
    int indexes_alive; /* contexts of index functions */
    kl_event_queue *queue;

    /* Waits of the model itself wait for `changed`, which is signalled when any
     * field may have changed. The mutex has rank LOG, and is not held during
     * calls. */
    kl__mutex mutex;
    kl__cond changed;

    hand hands[HISTORY_HANDS];
    kl__thread loop;
    bool loop_is_paused;
    bool loop_is_over;
    bool loop_is_pulling; /* no registration may be removed */
    bool is_over;         /* hands get no more operations */
    int acts_per_mille;   /* how often a callback makes a call */

    int keys;  /* how many keys there may be */
    int value; /* of the last write */
    bool has_restored;
    bool has_compacted;
    bool is_blind; /* a restore that the protocol cannot show */
    bool has_crowd;
};

/* Wakes all waits of the model; call it after a field has changed. */
void world_changed(world *self);
/* Waits until the condition, of the model's own fields, is true. */
#define WORLD_WAIT(self, condition)                              \
    do {                                                         \
        kl__mutex_lock(&(self)->mutex);                          \
        while (!(condition)) {                                   \
            kl__cond_wait(&(self)->changed, &(self)->mutex, -1); \
        }                                                        \
        kl__mutex_unlock(&(self)->mutex);                        \
    } while (0)

/* Runs a history (`arg`), from its first operation until nothing is left. An
 * entry for schedule_run. */
void world_run(void *arg);

/* Operations of the user; `inside`: within a callback, on a handler's
 * thread. */
void users_open(world *self, const op *what);
void users_close(world *self, user_informer *informer, bool inside);
void users_add_index(world *self, const op *what);
void users_query(world *self, user_informer *informer, int what, int value);
/* Queries the list and all indexes. */
void users_query_all(world *self, user_informer *informer);
void users_wait(world *self, const op *what);
void users_wake(world *self, const op *what);
void users_close_client(world *self);
/* Takes a reference to the handle, so that it may be closed during a call on
 * it; leave drops the reference. False: it is being closed. */
bool users_enter(world *self, user_informer *informer);
void users_leave(world *self, user_informer *informer);

/* Now and then makes a call of those that a callback may make. `own`: the
 * informer that the callback belongs to; `inside`: within a handler's thread or
 * an index function, where no call may wait for a callback. True: it made
 * one. */
bool callbacks_act(world *self, user_informer *own, bool inside);

/* Adds a handler; on any fiber. `what` is an OP_ADD_HANDLER. */
void handlers_add(world *self, const op *what);
void handlers_remove(world *self, int slot, bool inside);
/* Ends the handlers of an informer that is closed: before its close, and after
 * it. */
void handlers_begin_close(world *self, const user_informer *informer);
void handlers_end_close(world *self, const user_informer *informer,
                        bool inside);
void handlers_hold(world *self, int slot, bool is_held);
void handlers_arm(world *self, const op *what);
/* Carries out a handler's armed action, within its callback. */
void handlers_act(handler *self);
/* The thread that drains the queue; `world` is a world *. */
void *loop_run(void *world);
/* Called at the beginning and at the end of each callback. `is_removed_fine`:
 * the handler may have been removed before. */
void handlers_enter(handler *self, bool is_removed_fine);
void handlers_exit(handler *self);

#endif
