/*
 * hostile_connection.h - what the two halves of the hostile server share.
 */
#ifndef KL_SPEC_HOSTILE_CONNECTION_H
#define KL_SPEC_HOSTILE_CONNECTION_H

#include "hostile_server.h"

#include <pthread.h>

#include <gnutls/gnutls.h>

typedef struct hostile_rule {
    char *match; /* NULL: of a connection, before any request */
    hostile_step *steps;
    size_t count;
    bool once;
    bool used;
} hostile_rule;

typedef struct hostile_record {
    char *text;
    char *client;
} hostile_record;

typedef struct hostile_gate {
    char *name;
    size_t arrived;
    bool open;
} hostile_gate;

/* A list of pointers that grows; its elements never move. */
typedef struct hostile_row {
    void **items;
    size_t count;
} hostile_row;

struct hostile_server {
    int listener;
    int port;
    char url[64];
    bool secure;
    bool asks_client;
    gnutls_certificate_credentials_t credentials;
    pthread_t thread;
    const char *(*sort)(const char *request); /* NULL: a match is a text */

    /* Guards all below. */
    pthread_mutex_t mutex;
    pthread_cond_t cond; /* any of it changed */
    hostile_row rules, records, gates, connections;
    size_t ended;
    size_t sent;
    bool stopping;
};

typedef struct hostile_connection {
    hostile_server *server;
    pthread_t thread;
    int fd;
    int wakeup; /* an eventfd: look at the server's state again */

    /* Of the server's mutex. */
    bool cut;     /* reset it */
    bool stalled; /* the peer lets nothing be sent */

    /* Its thread's. */
    gnutls_session_t session;
    char client[64];
    char *in; /* what came in and was not asked for yet; NUL terminated */
    size_t in_length;
    bool peer_gone;
    bool over;
} hostile_connection;

/* The connection's thread. */
void *hostile_serve(void *arg);

/* Whether a request fits `match`. */
bool hostile_fits(const hostile_server *server, const char *request,
                  const char *match);
void *hostile_row_add(hostile_row *row, void *item); /* returns the item */
hostile_gate *hostile_gate_locked(hostile_server *server, const char *name);
/* Has every waiter look again. */
void hostile_notify_locked(hostile_server *server);
void *hostile_must(void *block); /* aborts on NULL */

#endif
