/*
 * requester.h - the requester of a client and its requests, for the files
 * request*.c. The loop (request_loop.h), which all clients that share a thread
 * have in common, moves requests on: it gives a requester a turn when there is
 * news or a time has come, and never waits in it. A turn takes the requests out
 * of the outbox, gets credentials (which may read files) and opens their
 * streams, a few at once, with answers in between. If credentials have to be
 * waited for (a plugin runs), a thread of this client does that, the sender; it
 * ends when the outbox is empty. If they never have to be, kl_client_send opens
 * the stream of the first try itself: that saves a wake-up for each request.
 *
 * The phases of a request: kl_client_send -> WAITING -> OPENING -> OPEN -> DONE
 * (without WAITING, if kl_client_send opens the stream), and from OPEN back to
 * WAITING (new credentials), or to RESTING and WAITING (a pause before the next
 * try).
 *
 * Locks, lowest rank first:
 *
 * - flight (FLIGHT): guards the token that ends the sender's wait. It is held
 *   while the token is fired, which wakes the sender.
 * - mutex (REQUESTS): guards the phase and result of each request.
 * - QUEUE: of an event queue, taken with `mutex` held.
 * - STREAM and below: of a transport, which calls kl__request_tell with one of
 *   them held.
 * - news (NEWS): guards the list of requests that the loop has to handle, and
 *   when.
 * - the loop's (REQUEST_LOOP): which requesters have a turn.
 *
 * Streams are opened, read and closed with none of these held.
 */
#ifndef KL_API_REQUESTER_H
#define KL_API_REQUESTER_H

#include "api/client.h"
#include "api/request_loop.h"
#include "base/event_queue.h"
#include "config/credentials.h"
#include "kubelua/request.h"

#include <stdatomic.h>

typedef struct kl__requester {
    kl_client *client;       /* borrowed: it owns the requester */
    kl_config *config;       /* borrowed; NULL: no credentials */
    bool may_wait;           /* credentials may have to be waited for */
    kl__cancel_hook closing; /* in the client's token: when the client is
                                closed, the loop looks at all requests */
    kl__loop_member member;
    /* The loop's thread uses these. */
    bool may_end;      /* look_at_all was set, so it may be the end */
    bool has_sender;   /* `sender` is to be joined */
    kl__thread sender; /* runs, or has emptied the outbox */

    /* Rank FLIGHT; guards the two below. */
    kl__mutex flight_mutex;
    kl__cancel flight; /* valid while `is_flying` */
    bool is_flying;    /* the sender waits for credentials */

    /* Rank REQUESTS; guards all down to news_mutex, and the fields of requests
     * that say so. */
    kl__mutex mutex;
    kl__cond result_cond; /* a request is complete: for kl_request_wait */
    kl__list all;         /* every request that has a reference of the loop */
    kl__list outbox;      /* requests to send, in their order */
    kl__list batch;       /* requests that a turn or the sender has taken */
    bool sender_runs;     /* it takes what comes into the outbox, too */
    atomic_int held;      /* requests that the transport's thread attends to, or
                             will at once. Relaxed: it is raised with the
                             stream's mutex held, lowered and read with `mutex`
                             held */
    bool is_ending; /* the client is being freed, and no user has a request */

    /* Rank NEWS; guards the rest. */
    kl__mutex news_mutex;
    bool is_resting;  /* the loop has to be told of news */
    kl__list news;    /* requests with news, first in, first out */
    int64_t due_ms;   /* when to look for requests whose time has come, on the
                         real clock; INT64_MAX: none */
    bool look_at_all; /* the client is closed or being freed */
    bool look_at_outbox; /* it or the batch has requests, and no sender runs */
    bool sent_last;      /* the last chore was to look at the outbox */
} kl__requester;

typedef enum kl__phase {
    KL__PHASE_WAITING, /* in the outbox or the batch */
    KL__PHASE_OPENING, /* a thread opens its stream, without the mutex */
    KL__PHASE_OPEN,    /* it has a stream, which the loop uses */
    KL__PHASE_RESTING, /* until `rest_until_ms` */
    KL__PHASE_DONE     /* complete; the loop drops it */
} kl__phase;

struct kl_request {
    /* One of the user, one of the loop, one of the sender while it works on it.
     */
    atomic_int refs; /* acquire-release: the last one frees */

    /* Set by kl_client_send, then constant. */
    kl__forks made_in;
    kl__requester *requester; /* the client owns it, and frees it last */
    kl_client *client; /* a reference, until the user frees the request */
    char *texts;       /* the texts of the call, in one block */
    kl__request call;  /* points to them */
    kl__header *headers;
    int64_t began_ms;
    int64_t deadline_ms; /* on the real clock */
    bool is_write;
    bool no_retry;
    bool streams;

    /* The requester's mutex guards these. */
    kl__list node; /* in `all` */
    kl__list outbox_node;
    kl__phase phase;
    kl_event_queue *queue; /* a reference; NULL: none, or the user freed it */
    kl__ready ready;
    bool is_canceled;
    bool was_passed_by; /* the loop had news of it while it was OPENING */
    bool is_attended;   /* a thread handles it, without the mutex */
    bool is_overlooked; /* another thread had news of it then */
    bool is_refused;    /* `reply` is a 401: new credentials are looked for
                           before it is sent again */
    bool has_result; /* `reply` or `failure` is set, for the user; then the loop
                        reads it without the mutex */
    bool is_answered; /* the result is `reply` */
    bool was_taken;   /* the user has the reply */
    bool has_ended;   /* no more bytes will come; `failure` says why */
    kl_reply reply;
    kl_error failure;
    kl__buf bytes; /* unread bytes of a stream, from `bytes_used` on */
    size_t bytes_used;
    int64_t rest_until_ms;
    int64_t due_ms; /* when the loop has to handle it at the latest */

    /* Only the thread that attends to the request uses these: the loop, or the
     * transport's thread at the end of the answer. The thread that opens
     * `stream` sets it with the mutex held, as the request becomes OPEN. */
    kl__stream *stream;
    uint64_t generation; /* of the credentials that it was sent with */
    bool was_refreshed;  /* new credentials were tried after a 401: once only */
    bool has_head;
    bool is_held_up; /* the loop reads no more before the user has read */
    kl__response response;
    kl__buf body;
    unsigned pauses; /* pauses so far */
    uint64_t random; /* state of the generator for the jitter of pauses; 0: not
                        seeded yet */

    /* Guarded by the news mutex. */
    kl__list news_node;
};

/* requester.c */

/* The client's requester, made at the first call; the client frees it. NULL:
 * KL_ENOMEM, KL_EIO (no thread). Borrowed. Thread-safe. */
kl__requester *kl__requester_of(kl_client *client, kl_error *err);

/* Adds a request to the loop's news and wakes the loop. With or without the
 * mutex held; the request is in `all`. */
void kl__request_tell(kl_request *request);
/* Makes the loop handle the request at `ms` at the latest. */
void kl__request_due_locked(kl_request *request, int64_t ms);
/* Puts a request at the end of the outbox. */
void kl__request_post_locked(kl_request *request);

void kl__request_unref(kl_request *request);

/* Makes the loop look at all requests, and if it has to end. With or without
 * the mutex held. */
void kl__requester_look(kl__requester *requester);
/* Makes the loop send what is in the outbox and the batch. With or without the
 * mutex held. */
void kl__requester_look_at_outbox(kl__requester *requester);

/* request_sending.c */

/* Opens the stream of a request that is OPENING, or completes it with the
 * failure. Only if credentials never have to be waited for. */
void kl__request_open(kl_request *request);
/* Ends the wait for credentials, if no request needs them any more. */
void kl__request_end_flight(kl__requester *requester);
/* A chore of a turn: sends some requests, or starts the sender. */
void kl__requester_send(kl__requester *requester);
/* Joins the sender, after the last turn. */
void kl__requester_end_sending(kl__requester *requester);

/* request_course.c: handles a request, on the loop, or on the transport's
 * thread when its stream has ended. The caller holds a reference. */
void kl__request_attend(kl_request *request);
/* Completes a request with its reply (failure: NULL) or a failure. Its try must
 * have ended. */
void kl__request_complete_locked(kl_request *request, const kl_error *failure);

/* request_copy.c: checks a call and makes a request of it, with one reference
 * (NULL: KL_EINVAL, KL_ENOMEM); and frees a request. */
kl_request *kl__request_new(const kl_call *call, kl_error *err);
void kl__request_destroy(kl_request *request);

/* reply.c: fills a reply with the head of an answer. KL_ENOMEM: the reply is
 * empty. */
kl_code kl__reply_fill(kl_reply *reply, const kl__response *response,
                       const char *header_lines, kl_error *err);

#endif
