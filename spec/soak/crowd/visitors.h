/*
 * visitors.h - a crowd of clients for the simulated API server, most of them
 * bad ones: what they do in a lap, out of a process of their own.
 */
#ifndef KL_SOAK_VISITORS_H
#define KL_SOAK_VISITORS_H

#include <stdbool.h>

/* An object that has to be there, and a kind with much to list. */
#define VISITORS_WATCHED "watched"
#define VISITORS_MUCH "secrets"

typedef struct visitors_lap {
    int port;
    int connections;
    int changes;     /* of the object that is watched */
    int leak;        /* one in so many stays connected for ever; 0: none */
    long events;     /* that watchers were told of: the answer */
    long answers;    /* that slow senders and callers had: so, too */
    char fault[200]; /* "" if nothing went wrong */
} visitors_lap;

/* Does laps that it is told of through a socket, until that is closed. */
_Noreturn void visitors_serve(int told);
/* Has a lap done; false: that process is gone. */
bool visitors_do(int told, visitors_lap *lap);

#endif
