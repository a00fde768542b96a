/*
 * request_loop.h - the thread on which requesters (requester.h) have their
 * turns: one for each client, or one for all clients of the process that share
 * a thread. A requester has a turn when another thread has woken it, and when
 * its time has come. Requesters take turns, first come first served, so none
 * holds up the others for longer than a turn.
 *
 * It is not the crew of informers (informer/task.h): there a function of the
 * user may wait for a request, and if no thread can be started, the turn that
 * ends the request would wait for that function.
 */
#ifndef KL_API_REQUEST_LOOP_H
#define KL_API_REQUEST_LOOP_H

#include "base/list.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct kl__request_loop kl__request_loop;

/* What a turn returns, besides a time. */
enum {
    KL__LOOP_AGAIN = 0, /* let the others have a turn, then run again */
    KL__LOOP_OVER = -1  /* that was the last turn */
};

/* A member of a loop. Zeroed, but for `run` and `arg`; owned by its user. */
typedef struct kl__loop_member {
    /* One turn, on the loop's thread, without a mutex. It never waits for
     * another thread for long, and runs no function of the user but the log's.
     * Returns one of the above, or a time of the real clock: the member rests
     * until then (INT64_MAX: without a limit), or until it is woken. */
    int64_t (*run)(void *arg);
    void *arg;

    kl__request_loop *loop;
    /* Guarded by the loop's mutex. */
    kl__list node; /* in the list of those that are ready, or of those that rest
                      until a time */
    int64_t due_ms;
    bool is_ready;
    bool is_over; /* the loop does not use it any more */
} kl__loop_member;

/* Adds the member to the loop that all clients share, or (not `is_shared`) to a
 * new loop, which no other member joins. The first member of a loop starts the
 * thread; each member has its first turn at once. KL_EIO: no thread; KL_ENOMEM.
 * `err` is not NULL. Thread-safe, as the rest. */
kl_code kl__request_loop_join(kl__loop_member *member, bool is_shared,
                              kl_error *err);

/* For a member whose last turn is to come: waits for that. With the last member
 * the thread ends. Not on that thread. */
void kl__request_loop_leave(kl__loop_member *member);

/* Gives the member a turn soon, after its present one if it has one now, unless
 * it is over. May be called with any mutex held whose rank is below
 * REQUEST_LOOP. */
void kl__request_loop_wake(kl__loop_member *member);

#endif
