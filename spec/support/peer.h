/*
 * peer.h - who may be at the other end when a call is cancelled: a server that
 * is well, slow, frozen, or gone in the middle; and those that never get so far
 * as to be one.
 */
#ifndef KL_SPEC_PEER_H
#define KL_SPEC_PEER_H

#include "hostile_server.h"

typedef enum peer_kind {
    PEER_HEALTHY,   /* answers at once */
    PEER_SLOW,      /* a few bytes every 2 ms */
    PEER_FROZEN,    /* takes the request in, and says nothing */
    PEER_HALFWAY,   /* freezes in the middle of the body */
    PEER_CLOSED,    /* sends a FIN in the middle of the body */
    PEER_BLACKHOLE, /* takes no connection: its SYNs are dropped */
    PEER_NAMELESS,  /* the name server does not answer */
    PEER_NO_TLS,    /* takes the connection, and never shakes hands */
    PEER_KINDS
} peer_kind;

typedef struct peer {
    peer_kind kind;
    char url[64];
    hostile_server *server; /* of those that are one */
    int listener;           /* of those that are none; -1 */
    int fillers[8];         /* connections that fill its queue; -1 */
} peer;

/* What it is, in words: "a frozen server". */
const char *peer_describe(peer_kind kind);

/*
 * A peer; asserts that there is one. As a server it answers discovery of nodes
 * (at once, but for PEER_FROZEN_ALL requests: see `all`), then as its kind says
 * lists, watches and whatever else. `all`: discovery too.
 */
peer *peer_new(peer_kind kind, bool all);
void peer_free(peer *peer);

/* The host name that PEER_NAMELESS has; who links getaddrinfo of its own has
 * that hang. */
#define PEER_NAME "hangs.invalid"

#endif
