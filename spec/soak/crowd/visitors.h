/*
 * visitors.h - a crowd of clients for the simulated API server, most of them
 * ill-behaved, in a process of their own; and what they do in a lap.
 */
#ifndef KL_SOAK_VISITORS_H
#define KL_SOAK_VISITORS_H

#include <stdbool.h>

/* An object that must exist, and a kind of which there is much to list. */
#define VISITORS_WATCHED "watched"
#define VISITORS_MUCH "secrets"

typedef struct visitors_lap {
    int port;
    int connections;
    int changes; /* changes of the object that is watched */
    /* one connection in so many stays open for ever; 0: none */
    int leak;
    long events;     /* result: events that watchers got */
    long answers;    /* result: answers that slow senders and callers got */
    char fault[200]; /* "" if nothing went wrong */
} visitors_lap;

/* Runs the laps that arrive through a socket, until the socket is closed. */
_Noreturn void visitors_serve(int told);
/* Has a lap run; false: the process of the visitors has ended. */
bool visitors_do(int told, visitors_lap *lap);

#endif
