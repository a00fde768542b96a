/*
 * hostile_server.h - a server on 127.0.0.1 that does what no real one does on
 * demand: it answers byte by byte as a script says, and waits to be told.
 *
 *     hostile_server *server = hostile_new(NULL);
 *     hostile_on(server, "GET /version", STEPS(
 *         HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Le"), HOSTILE_RESET));
 *     ... open a transport on hostile_url(server) ...
 *     hostile_free(server);
 *
 * Every function is thread-safe and aborts the spec when the system fails it.
 * A wait gives up after ten seconds: false.
 */
#ifndef KL_SPEC_HOSTILE_SERVER_H
#define KL_SPEC_HOSTILE_SERVER_H

#include "certificate.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum hostile_kind {
    HOSTILE_KIND_SEND,   /* `bytes`, at most `piece` in one segment */
    HOSTILE_KIND_ANSWER, /* a whole answer: `status`, `fields`, and `bytes` as
                            body */
    HOSTILE_KIND_CHUNK,  /* `bytes` as one chunk of a chunked body */
    HOSTILE_KIND_FLOOD,  /* `bytes` again and again, `total` bytes in all */
    HOSTILE_KIND_AWAIT,  /* until what came in since the request contains it */
    HOSTILE_KIND_GATE,   /* until hostile_open_gate of the name in `bytes` */
    HOSTILE_KIND_FREEZE, /* nothing, until the peer goes */
    HOSTILE_KIND_STALL,  /* nothing for `total` milliseconds */
    HOSTILE_KIND_CLOSE,  /* FIN (over TLS without a close_notify) */
    HOSTILE_KIND_RESET   /* RST */
} hostile_kind;

/* The functions that take steps copy them, with what they point to. */
typedef struct hostile_step {
    hostile_kind kind;
    const char *bytes;
    size_t length; /* 0: up to the NUL */
    size_t piece;  /* 0: all at once */
    size_t total;
    int status;
    const char *fields; /* of the head, each with its CR LF; NULL: JSON's; a
                           literal, not copied */
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
/* The head of a chunked JSON body; its chunks; and its end. */
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

/* A script as the two last arguments of the functions below. */
#define STEPS(...)                       \
    (const hostile_step[]){__VA_ARGS__}, \
        sizeof((const hostile_step[]){__VA_ARGS__}) / sizeof(hostile_step)

typedef struct hostile_server hostile_server;

/* Zeroed: plain HTTP on a free port. */
typedef struct hostile_options {
    int port;
    const certificate *identity; /* speak TLS with this one; copied */
    const char *client_ca;       /* ask for a certificate; take any or none */
    int send_buffer; /* bytes; 0: so few that a peer that does not read is
                        noticed soon, and that large bodies take their time */
} hostile_options;

/* Listens from here on. */
hostile_server *hostile_new(const hostile_options *options);
/* Breaks every connection and joins its threads; NULL is fine. */
void hostile_free(hostile_server *server);
/* "http://127.0.0.1:PORT", borrowed. */
const char *hostile_url(const hostile_server *server);
int hostile_port(const hostile_server *server);

/*
 * What is done when a request (head and body) contains `match`; "" is in every
 * one. The first that fits, of those given and not used up, runs; then the
 * connection takes its next request. A request that fits none gets a 404.
 */
void hostile_on(hostile_server *server, const char *match,
                const hostile_step *steps, size_t count); /* once */
void hostile_always(hostile_server *server, const char *match,
                    const hostile_step *steps, size_t count);
/* Before any request: a request of which `sort` says that it is of a kind fits
 * that name, instead of the texts in it; here and in all that follows. */
void hostile_sort(hostile_server *server,
                  const char *(*sort)(const char *request));
/* What the next connection gets before it has asked anything. */
void hostile_on_accept(hostile_server *server, const hostile_step *steps,
                       size_t count);

/* Lets those pass who wait at the gate, and whoever comes later. */
void hostile_open_gate(hostile_server *server, const char *name);
/* Resets every connection; new ones are welcome. */
void hostile_cut(hostile_server *server);

bool hostile_await_requests(hostile_server *server, const char *match,
                            size_t count);
bool hostile_await_connections(hostile_server *server, size_t count);
/* Until that many connections are over, whoever ended them. */
bool hostile_await_ended(hostile_server *server, size_t count);
/* Until that many have come to the gate (they may have passed it since). */
bool hostile_await_gate(hostile_server *server, const char *name, size_t count);
/* Until a peer has let us send nothing for 200 ms. */
bool hostile_await_stall(hostile_server *server);

/* Counts so far. */
size_t hostile_sent_bytes(hostile_server *server);
size_t hostile_connections(hostile_server *server);
size_t hostile_requests(hostile_server *server, const char *match);
/* The request of that number, head and body, and the common name of the client
 * certificate that came with it ("" if none); borrowed; NULL: no such. */
const char *hostile_request(hostile_server *server, size_t number);
/* The same, counting only those that fit. */
const char *hostile_request_of(hostile_server *server, const char *match,
                               size_t number);
const char *hostile_client(hostile_server *server, size_t number);

#endif
