/*
 * fake_transport.h - a transport that answers by script: what is asked is
 * matched by method and target, the answers' bytes and ends are the spec's, and
 * a stream that is held open can be fed while somebody reads it.
 */
#ifndef KL_SPEC_FAKE_TRANSPORT_H
#define KL_SPEC_FAKE_TRANSPORT_H

#include "http/transport.h"

#include <stddef.h>

typedef struct fake_transport fake_transport;

typedef enum fake_end {
    FAKE_CLOSE, /* the body ends cleanly */
    FAKE_BREAK, /* it breaks off: KL_EUNAVAILABLE */
    FAKE_HOLD   /* it stays open: fake_transport_send, _finish */
} fake_end;

enum { FAKE_FOREVER = -1 };

/* One answer; zeroed fields are the defaults. Strings are copied. */
typedef struct fake_answer {
    const char *method; /* NULL: any */
    const char *target; /* what the target begins with; a '$' at its end: it is
                           the whole target. NULL: any */
    int times;          /* how often; 0: once */
    int status;         /* 0: 200 */
    const char *type;   /* NULL: application/json */
    const char *body;   /* NULL: "" */
    size_t length;      /* of the body; 0: to its NUL */
    size_t chunk;       /* bytes that a read gets at most; 0: all there are */
    fake_end end;
    const char *warning;
    long retry_after_ms; /* 0: none */
    kl_code failure;     /* instead of a head, with the message "scripted" */
    bool holds_head;     /* the head comes with fake_transport_release */
    bool unsent;         /* it has no connection yet: with `failure`, never */
    bool is_restless;    /* it asks to be looked at again at once, always */
    const char *headers; /* more of them: "name:value\n..." */
} fake_answer;

/* What was asked. */
typedef struct fake_request {
    const char *method;
    const char *base_url;
    const char *target;
    const char *headers; /* "Accept: a/b\n..." */
    const char *body;    /* "" if none */
    bool fresh_connection;
    bool is_closed; /* its stream was */
    size_t taken;   /* bytes of the answer that were read */
    size_t looks;   /* how often its reader asked when to look again */
} fake_request;

/* One reference for the caller, as a kl_transport: kl_transport_unref. What is
 * not scripted is answered with 404 and no body. */
fake_transport *fake_transport_new(void);
kl_transport *fake_transport_of(fake_transport *fake);

/* Adds an answer to the script: the first that matches and is not used up is
 * taken. Any thread. */
void fake_transport_answer(fake_transport *fake, const fake_answer *answer);

/* How many requests there were; the one at `index`, from 0, borrowed. */
size_t fake_transport_count(fake_transport *fake);
fake_request fake_transport_request(fake_transport *fake, size_t index);

/* How many requests began with that target. */
size_t fake_transport_asked(fake_transport *fake, const char *target);

/* Blocks until there were `count` requests; false: not within 60 s. */
bool fake_transport_await(fake_transport *fake, size_t count);

/* Blocks until that request's stream has a reader that waits; false: not
 * within 60 s. */
bool fake_transport_await_reader(fake_transport *fake, size_t index);

/* Blocks until that request's stream is closed; false: not within 60 s. */
bool fake_transport_await_closed(fake_transport *fake, size_t index);

/* Gives its head to a request that was held; more bytes, or its end, to one
 * whose stream is held open. */
void fake_transport_release(fake_transport *fake, size_t index);
void fake_transport_send(fake_transport *fake, size_t index, const char *text);
void fake_transport_finish(fake_transport *fake, size_t index, fake_end end);

#endif
