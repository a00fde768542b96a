/*
 * hostile_connection.h - shared by the two halves of the hostile server:
 * hostile_server.c (the spec's side) and hostile_connection.c.
 */
#ifndef KL_SPEC_HOSTILE_CONNECTION_H
#define KL_SPEC_HOSTILE_CONNECTION_H

#include "hostile_server.h"

#include <pthread.h>

#include <gnutls/gnutls.h>

typedef struct hostile_rule {
    char *match; /* NULL: for a connection before its first request */
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

/* An array of pointers that grows; the items that they point to never move. */
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
    bool http2;
    gnutls_certificate_credentials_t credentials;
    pthread_t thread;
    /* NULL: `match` is a text that the request must contain */
    const char *(*sort)(const char *request);

    /* Guards the members below. */
    pthread_mutex_t mutex;
    pthread_cond_t cond; /* signalled at every change */
    hostile_row rules, records, gates, connections;
    size_t ended;
    size_t sent;
    bool stopping;
};

typedef struct hostile_connection {
    hostile_server *server;
    pthread_t thread;
    int fd;
    /* an eventfd that tells the thread to look at the server's state */
    int wakeup;

    /* Guarded by the server's mutex. */
    bool stalled; /* the peer does not read, so nothing can be sent */

    /* Used by the connection's thread only. */
    gnutls_session_t session;
    char client[64];
    /* bytes that came and are not part of a recorded request yet; NUL
     * terminated */
    char *in;
    size_t in_length;
    bool peer_gone;
    bool over;
} hostile_connection;

/* The entry of the connection's thread. */
void *hostile_serve(void *arg);

/* True if a request matches `match`. */
bool hostile_fits(const hostile_server *server, const char *request,
                  const char *match);
void *hostile_row_add(hostile_row *row, void *item); /* returns the item */
hostile_gate *hostile_gate_locked(hostile_server *server, const char *name);
/* Wakes every waiting thread. */
void hostile_notify_locked(hostile_server *server);
void *hostile_must(void *block); /* returns the block; aborts on NULL */

#endif
