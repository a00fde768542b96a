/*
 * peer.h - the other end of a connection when a call is cancelled: a server
 * that is healthy, slow, frozen or breaks off; or an address at which there is
 * no server at all.
 */
#ifndef KL_SPEC_PEER_H
#define KL_SPEC_PEER_H

#include "hostile_server.h"

typedef enum peer_kind {
    PEER_HEALTHY,   /* answers at once */
    PEER_SLOW,      /* sends a few bytes every 2 ms */
    PEER_FROZEN,    /* reads the request and never answers */
    PEER_HALFWAY,   /* freezes in the middle of the body */
    PEER_CLOSED,    /* sends a FIN in the middle of the body */
    PEER_BLACKHOLE, /* accepts no connection: SYNs are dropped */
    PEER_NAMELESS,  /* the name server does not answer */
    PEER_NO_TLS,    /* accepts the connection, but never handshakes */
    PEER_KINDS
} peer_kind;

typedef struct peer {
    peer_kind kind;
    char url[64];
    hostile_server *server; /* of kinds that are servers */
    int listener;           /* of the other kinds; else -1 */
    /* connections that fill the listener's queue; or -1 */
    int fillers[8];
} peer;

/* The kind in words: "a frozen server". */
const char *peer_describe(peer_kind kind);

/*
 * Makes a peer; asserts that it was made. A server answers discovery of nodes
 * at once, and lists, watches and other requests as its kind says; with `all`,
 * discovery too.
 */
peer *peer_new(peer_kind kind, bool all);
void peer_free(peer *peer);

/* The host name of PEER_NAMELESS. A spec that replaces getaddrinfo makes it
 * hang for this name. */
#define PEER_NAME "hangs.invalid"

#endif
