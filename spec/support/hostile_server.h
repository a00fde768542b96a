/*
 * hostile_server.h - an HTTP server on 127.0.0.1 that misbehaves as a script
 * says: it answers byte by byte, breaks off, freezes, or waits until the spec
 * opens a gate.
 *
 *     hostile_server *server = hostile_new(NULL);
 *     hostile_on(server, "GET /version", STEPS(
 *         HOSTILE_TEXT("HTTP/1.1 200 OK\r
 * Content-Le"), HOSTILE_RESET));
 *     ... open a transport on hostile_url(server) ...
 *     hostile_free(server);
 *
 * Every function is thread-safe and aborts the spec if a system call fails. A
 * wait gives up after ten seconds and returns false.
 */
#ifndef KL_SPEC_HOSTILE_SERVER_H
#define KL_SPEC_HOSTILE_SERVER_H

#include "certificate.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum hostile_kind {
    HOSTILE_KIND_SEND, /* sends `bytes`, at most `piece` in one segment */
    /* sends a whole answer: `status`, `fields`, and `bytes` as body */
    HOSTILE_KIND_ANSWER,
    HOSTILE_KIND_CHUNK, /* sends `bytes` as one chunk of a chunked body */
    HOSTILE_KIND_FLOOD, /* sends `bytes` repeatedly, `total` bytes in all */
    /* waits until the input after the request contains `bytes` */
    HOSTILE_KIND_AWAIT,
    /* waits for hostile_open_gate of the name in `bytes` */
    HOSTILE_KIND_GATE,
    HOSTILE_KIND_FREEZE, /* does nothing until the peer closes */
    HOSTILE_KIND_STALL,  /* does nothing for `total` milliseconds */
    /* closes with a FIN (over TLS without a close_notify) */
    HOSTILE_KIND_CLOSE,
    HOSTILE_KIND_RESET /* closes with an RST */
} hostile_kind;

/* One step of a script. Functions that take steps copy them, with what they
 * point to. */
typedef struct hostile_step {
    hostile_kind kind;
    const char *bytes;
    size_t length; /* of bytes; 0: up to the NUL */
    size_t piece;  /* 0: all in one piece */
    size_t total;
    int status;
    /* headers, each with CR LF; NULL: those of JSON; a literal, not copied */
    const char *fields;
} hostile_step;

#define HOSTILE_TEXT(text)                         \
    {                                              \
        .kind = HOSTILE_KIND_SEND, .bytes = (text) \
    }
#define HOSTILE_BYTES(start, count)                                    \
    {                                                                  \
        .kind = HOSTILE_KIND_SEND, .bytes = (start), .length = (count) \
    }
#define HOSTILE_PIECES(text, size)                                  \
    {                                                               \
        .kind = HOSTILE_KIND_SEND, .bytes = (text), .piece = (size) \
    }
#define HOSTILE_ANSWER(code, text)                                     \
    {                                                                  \
        .kind = HOSTILE_KIND_ANSWER, .status = (code), .bytes = (text) \
    }
#define HOSTILE_ANSWER_WITH(code, head_fields, text)                    \
    {                                                                   \
        .kind = HOSTILE_KIND_ANSWER, .status = (code), .bytes = (text), \
        .fields = (head_fields)                                         \
    }
/* The head of a chunked JSON body; one chunk; the end of the body. */
#define HOSTILE_STREAM                                                   \
    HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" \
                 "Transfer-Encoding: chunked\r\n\r\n")
#define HOSTILE_CHUNK(text)                         \
    {                                               \
        .kind = HOSTILE_KIND_CHUNK, .bytes = (text) \
    }
#define HOSTILE_STREAM_END HOSTILE_TEXT("0\r\n\r\n")
#define HOSTILE_FLOOD(text, count)                                    \
    {                                                                 \
        .kind = HOSTILE_KIND_FLOOD, .bytes = (text), .total = (count) \
    }
#define HOSTILE_AWAIT(text)                         \
    {                                               \
        .kind = HOSTILE_KIND_AWAIT, .bytes = (text) \
    }
#define HOSTILE_GATE(name)                         \
    {                                              \
        .kind = HOSTILE_KIND_GATE, .bytes = (name) \
    }
#define HOSTILE_FREEZE              \
    {                               \
        .kind = HOSTILE_KIND_FREEZE \
    }
#define HOSTILE_STALL(ms)                         \
    {                                             \
        .kind = HOSTILE_KIND_STALL, .total = (ms) \
    }
#define HOSTILE_CLOSE              \
    {                              \
        .kind = HOSTILE_KIND_CLOSE \
    }
#define HOSTILE_RESET              \
    {                              \
        .kind = HOSTILE_KIND_RESET \
    }

/* The last two arguments of the functions below. */
#define STEPS(...)                       \
    (const hostile_step[]){__VA_ARGS__}, \
        sizeof((const hostile_step[]){__VA_ARGS__}) / sizeof(hostile_step)

typedef struct hostile_server hostile_server;

/* Zeroed: plain HTTP on a free port. */
typedef struct hostile_options {
    int port;
    const certificate *identity; /* serve TLS with this certificate; copied */
    /* ask for a client certificate; any or none is accepted */
    const char *client_ca;
    /* over TLS, choose HTTP/2 (ALPN); a script of hostile_on_accept then sends
     * the frames, and ends with HOSTILE_FREEZE */
    bool http2;
    /* in bytes; 0: so small that a peer that does not read is noticed soon, and
     * that large bodies take time */
    int send_buffer;
} hostile_options;

/* Starts a server; it listens when this returns. */
hostile_server *hostile_new(const hostile_options *options);
/* Breaks all connections and joins their threads; NULL is fine. */
void hostile_free(hostile_server *server);
/* The URL, "http://127.0.0.1:PORT"; borrowed. */
const char *hostile_url(const hostile_server *server);
int hostile_port(const hostile_server *server);

/*
 * Sets what happens when a request (head and body) contains `match`; "" matches
 * all. The first script that matches and is not used up runs; then the
 * connection reads its next request. Other requests get a 404.
 */
void hostile_on(hostile_server *server, const char *match,
                const hostile_step *steps, size_t count); /* once */
void hostile_always(hostile_server *server, const char *match,
                    const hostile_step *steps, size_t count);
/* Call this before any request: `match` is compared with the name that `sort`
 * gives a request, not with its text. */
void hostile_sort(hostile_server *server,
                  const char *(*sort)(const char *request));
/* Sets what the next connection gets before its first request. */
void hostile_on_accept(hostile_server *server, const hostile_step *steps,
                       size_t count);

/* Opens a gate: scripts that wait at it go on, and later ones do not wait. */
void hostile_open_gate(hostile_server *server, const char *name);
bool hostile_await_requests(hostile_server *server, const char *match,
                            size_t count);
/* Waits until `count` connections have ended, on either side. */
bool hostile_await_ended(hostile_server *server, size_t count);
/* Waits until `count` scripts have reached the gate (they may have passed it
 * since). */
bool hostile_await_gate(hostile_server *server, const char *name, size_t count);
/* Waits until the server had bytes to send and a peer read nothing for 200
 * ms. */
bool hostile_await_stall(hostile_server *server);

/* Counts so far. */
size_t hostile_sent_bytes(hostile_server *server);
size_t hostile_connections(hostile_server *server);
size_t hostile_requests(hostile_server *server, const char *match);
/* The request of that number, head and body; and the common name of its client
 * certificate ("" if none). Borrowed; NULL: there was no such request. */
const char *hostile_request(hostile_server *server, size_t number);
/* The same, counting only requests that match. */
const char *hostile_request_of(hostile_server *server, const char *match,
                               size_t number);
const char *hostile_client(hostile_server *server, size_t number);

#endif
