/*
 * fake_transport.h - a transport that answers by a script. Requests are matched
 * by method and target; the spec chooses the bytes of the answer and how it
 * ends. A stream that is held open can be fed while the code under test reads
 * it.
 */
#ifndef KL_SPEC_FAKE_TRANSPORT_H
#define KL_SPEC_FAKE_TRANSPORT_H

#include "http/transport.h"

#include <stddef.h>

typedef struct fake_transport fake_transport;

typedef enum fake_end {
    FAKE_CLOSE, /* the body ends cleanly */
    FAKE_BREAK, /* the connection breaks: KL_EUNAVAILABLE */
    FAKE_HOLD   /* the stream stays open: fake_transport_send, _finish */
} fake_end;

enum { FAKE_FOREVER = -1 };

/* One answer; zeroed fields are the defaults. Strings are copied. */
typedef struct fake_answer {
    const char *method; /* NULL: any */
    /* the start of the target; with '$' at its end: the whole target. NULL:
     * any */
    const char *target;
    int times;        /* how often it is used; 0: once */
    int status;       /* 0: 200 */
    const char *type; /* NULL: application/json */
    const char *body; /* NULL: "" */
    size_t length;    /* length of the body; 0: up to its NUL */
    size_t chunk;     /* most bytes of one read; 0: all there are */
    fake_end end;
    const char *warning;
    long retry_after_ms; /* 0: none */
    /* fails instead of a head, with the message "scripted" */
    kl_code failure;
    bool holds_head;     /* the head waits for fake_transport_release */
    bool unsent;         /* no connection yet; with `failure`, never one */
    bool is_restless;    /* always asks its reader to look again at once */
    const char *headers; /* more headers: "name:value\n..." */
} fake_answer;

/* A request that was made. */
typedef struct fake_request {
    const char *method;
    const char *base_url;
    const char *target;
    const char *headers; /* "Accept: a/b\n..." */
    const char *body;    /* "" if none */
    bool fresh_connection;
    bool is_closed; /* its stream has been closed */
    size_t taken;   /* how many bytes of the answer were read */
    size_t looks;   /* how often the reader asked when to look again */
} fake_request;

/* A kl_transport with one reference for the caller: kl_transport_unref.
 * Requests without a script get a 404 and no body. */
fake_transport *fake_transport_new(void);
kl_transport *fake_transport_of(fake_transport *fake);

/* Adds an answer to the script. A request takes the first answer that matches
 * and is not used up. Any thread. */
void fake_transport_answer(fake_transport *fake, const fake_answer *answer);

/* How many requests were made; and the one at `index`, from 0, borrowed. */
size_t fake_transport_count(fake_transport *fake);
fake_request fake_transport_request(fake_transport *fake, size_t index);

/* How many requests had a target that begins with `target`. */
size_t fake_transport_asked(fake_transport *fake, const char *target);

/* Waits until `count` requests were made; false after 60 s. */
bool fake_transport_await(fake_transport *fake, size_t count);

/* Waits until a reader of that request's stream waits; false after 60 s. */
bool fake_transport_await_reader(fake_transport *fake, size_t index);

/* Waits until that request's stream is closed; false after 60 s. */
bool fake_transport_await_closed(fake_transport *fake, size_t index);

/* The first lets the head of a held answer arrive; the next two add bytes to a
 * stream that is held open, and end it. */
void fake_transport_release(fake_transport *fake, size_t index);
void fake_transport_send(fake_transport *fake, size_t index, const char *text);
void fake_transport_finish(fake_transport *fake, size_t index, fake_end end);

#endif
