/*
 * load.h - what load.c (threads), exchange.c (one request and its answer) and
 * tally.c (counters of answers) share.
 */
#ifndef SPEC_NGINX_LOAD_H
#define SPEC_NGINX_LOAD_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LOAD_MAX_TARGETS = 8,
    LOAD_MAX_BODIES = 64, /* different bodies that are counted */
    LOAD_BODY_SIZE = 64,
    LOAD_LATE_MS = 5000,
    LOAD_TIMES = 400 /* buckets of the histogram of times */
};

typedef struct {
    struct sockaddr_in address;
    int connections;
    int rate; /* requests a second of all connections; 0: no bound */
    double seconds;
    int target_count;
    struct {
        const char *name, *path;
    } targets[LOAD_MAX_TARGETS];
} load_plan;

typedef struct {
    int socket;  /* -1 while there is none */
    int answers; /* how many answers came on this connection */
} load_connection;

typedef enum {
    LOAD_ANSWERED,
    LOAD_REFUSED,
    LOAD_BROKEN,
    LOAD_RACED,
    LOAD_LATE,
    LOAD_OUTCOMES
} load_outcome;

typedef struct {
    load_outcome outcome;
    int status;                /* of the answer */
    char body[LOAD_BODY_SIZE]; /* its first line, cut to this size */
} load_answer;

typedef struct {
    uint64_t outcomes[LOAD_OUTCOMES];
    uint64_t statuses[600];
    uint64_t times[LOAD_TIMES];
    int64_t longest_us;
    int body_count;
    struct {
        char text[LOAD_BODY_SIZE];
        uint64_t count;
    } bodies[LOAD_MAX_BODIES];
} load_tally;

/* exchange.c: GET of a path; connects if necessary. */
void load_exchange(load_connection *connection, const load_plan *plan,
                   const char *path, load_answer *answer);
void load_close(load_connection *connection);

/* tally.c */
void load_count(load_tally *tally, const load_answer *answer, int64_t us);
void load_add(load_tally *sum, const load_tally *part);
void load_print(const char *name, const load_tally *tally);

#endif
