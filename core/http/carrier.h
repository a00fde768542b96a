/*
 * carrier.h - one thread for several loops that each watch sockets: those of
 * the transports that share it (curl_loop.h). A loop has a turn when one of its
 * sockets has news, when another thread has woken it, or when its time has
 * come. Loops take turns, so none holds up the others for longer than a turn.
 */
#ifndef KL_HTTP_CARRIER_H
#define KL_HTTP_CARRIER_H

#include "base/list.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct kl__carrier kl__carrier;

/* What a turn returns, besides a time. */
enum {
    KL__CARRIED_AGAIN = 0,
    KL__CARRIED_OVER = -1 /* that was the last turn */
};

/* A loop. Zeroed, but for `run` and `arg`; owned by its user. */
typedef struct kl__carried {
    /* One turn, on the carrier's thread. Returns one of the above, or a time of
     * the real clock: it rests until then, until it is woken, or until a socket
     * changes. It has then read all that its sockets had: a change is told
     * once. */
    int64_t (*run)(void *arg);
    void *arg;

    kl__carrier *carrier; /* NULL: it is not carried */
    /* Guarded by the carrier's mutex. */
    kl__list ready_node; /* in the list of those that have something to do */
    int64_t ready_ms;    /* since when, on the real clock, or earlier */
    bool is_over;        /* the carrier does not use it any more */
    /* Of the carrier's thread. */
    int64_t waited_ms; /* while others had the thread: all long waits for a
                          turn together */
    kl__list member_node;
    int64_t due_ms; /* its next turn, on the real clock; INT64_MAX: none */
} kl__carried;

/* Has the loop carried by the thread of this process, which the first one
 * starts; its first turn comes at once. KL_EIO: no thread, no descriptor;
 * KL_ENOMEM. Thread-safe, as the next two. */
kl_code kl__carrier_join(kl__carried *carried, kl_error *err);

/* For a loop whose last turn is to come: waits for that. With the last loop,
 * the thread ends. Not on that thread. */
void kl__carrier_leave(kl__carried *carried);

/* Gives the loop a turn soon, unless it is over. */
void kl__carrier_wake(kl__carried *carried);

/* In a turn: the loop has opened a socket, and is about to close it. Both do
 * nothing if the loop is not carried. False: `errno` says why the socket cannot
 * be watched. */
bool kl__carrier_watch(kl__carried *carried, int socket);
void kl__carrier_forget(kl__carried *carried, int socket);

#endif
