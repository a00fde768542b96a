/*
 * wire.h - a client's connection to nginx, plain or by TLS, and one request on
 * it.
 */
#ifndef CHAOS_WIRE_H
#define CHAOS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include <gnutls/gnutls.h>

typedef enum {
    WIRE_ANSWERED,
    WIRE_REFUSED, /* no connection, or no handshake */
    WIRE_BROKEN,  /* an answer was cut short */
    WIRE_RACED,   /* no answer on a connection that has carried answers */
    WIRE_LATE,    /* no answer in 5 s */
    WIRE_OUTCOMES
} wire_outcome;

typedef struct {
    int socket; /* -1: there is none */
    gnutls_session_t tls;
    int answers;
    unsigned certificate; /* the number at the end of its name */
    bool is_expired;      /* the certificate, at the handshake */
} wire;

typedef struct {
    const char *host, *path;
} wire_request;

typedef struct {
    wire_outcome outcome;
    int status;
    unsigned identity; /* the first number in the body; UINT_MAX: none */
} wire_answer;

/* Once, before any thread. */
bool wire_init(void);
/* Connects to 127.0.0.1; with `sni`, by TLS. False: refused, and *why says how.
 */
bool wire_open(wire *self, int port, const char *sni, const char **why);
void wire_close(wire *self);
/* One request. The connection is closed if it cannot carry another one. */
wire_answer wire_ask(wire *self, const wire_request *request);

#endif
