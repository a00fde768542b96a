/*
 * requester.h - what the files of requests share. A client's requester has two
 * threads: the sender takes requests out of the outbox, gets credentials (which
 * may read files, or run a plugin) and opens their streams; the loop does the
 * rest, and never blocks but for news. Where credentials never wait, there is
 * no sender: kl_client_send opens the stream itself, and the loop those of
 * later tries. Each thread less on the way of a request is a wake-up less.
 *
 * The way of a request: kl_client_send -> WAITING -> OPENING -> OPEN -> DONE
 * (without WAITING, where there is no sender), and from OPEN back to WAITING
 * (other credentials), or to RESTING and WAITING (a pause before the next try).
 *
 * Locks, lowest rank first:
 *
 * - flight (FLIGHT): the life of the token that ends the sender's waiting. It
 *   is held while the token is fired, which wakes that thread.
 * - mutex (REQUESTS): where each request is, and what came of it.
 * - QUEUE: of an event queue, taken with `mutex` held.
 * - STREAM and below: of a transport, which calls kl__request_tell with one
 *   held.
 * - news (NEWS): which requests the loop is to look at, and when.
 *
 * Streams are opened, read and closed with none of them held.
 */
#ifndef KL_API_REQUESTER_H
#define KL_API_REQUESTER_H

#include "api/client.h"
#include "base/event_queue.h"
#include "config/credentials.h"
#include "kubelua/request.h"

#include <stdatomic.h>

typedef struct kl__requester {
    kl_client *client;       /* borrowed: it owns the requester */
    kl_config *config;       /* borrowed; NULL: no credentials */
    bool has_sender;         /* fixed */
    kl__cancel_hook closing; /* in the client's token */
    kl__thread loop;
    kl__thread sender;

    /* Rank FLIGHT; guards the two below. */
    kl__mutex flight_mutex;
    kl__cancel flight; /* valid while `is_flying` */
    bool is_flying;    /* the sender waits for credentials */

    /* Rank REQUESTS; guards all down to the next comment, and what a request
     * says is guarded by it. */
    kl__mutex mutex;
    kl__cond outbox_cond; /* the outbox, or `is_ending` */
    kl__cond result_cond; /* a result, for threads in kl_request_wait */
    kl__list all;         /* every request that the loop has not let go */
    kl__list outbox;      /* in the order in which they go out */
    kl__list batch;       /* requests that the sender has taken */
    atomic_int held;      /* requests that the transport's thread is about to
                             attend to, or does; relaxed: the stream's mutex
                             orders it before, and this mutex afterwards */
    bool is_ending;       /* the client goes, and no user has a request */
    bool sender_ended;

    /* Rank NEWS; guards the rest. */
    kl__mutex news_mutex;
    kl__cond news_cond;
    bool is_asleep;   /* the loop is to be woken */
    kl__list news;    /* requests to look at, first come, first served */
    int64_t due_ms;   /* when to look for requests whose time has come, on the
                         real clock; INT64_MAX: none */
    bool look_at_all; /* the client is closed, or ends */
    bool look_at_outbox; /* where there is no sender */
} kl__requester;

typedef enum kl__phase {
    KL__PHASE_WAITING, /* in the outbox or the batch */
    KL__PHASE_OPENING, /* a thread opens its stream, without the mutex */
    KL__PHASE_OPEN,    /* it has a stream, which is the loop's */
    KL__PHASE_RESTING, /* until `rest_until_ms` */
    KL__PHASE_DONE     /* nothing more comes; the loop lets it go */
} kl__phase;

struct kl_request {
    /* The user's, the loop's, and the sender's while it works on it. */
    atomic_int refs; /* acquire-release: the last one frees */

    /* Fixed by kl_client_send. */
    kl__forks made_in;
    kl__requester *requester; /* the client keeps it, and ends it last */
    kl_client *client;        /* a reference, with the user's */
    char *texts;              /* what the call said, in one block */
    kl__request call;         /* points to them */
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
    kl_event_queue *queue; /* a reference; NULL: none, or the user let go */
    kl__ready ready;
    bool is_canceled;
    bool was_passed_by; /* the loop came by while it was OPENING */
    bool is_attended;   /* a thread looks at it, without the mutex */
    bool is_overlooked; /* and another one came by meanwhile */
    bool is_refused;    /* by a 401, which is in `reply`; for the sender */
    bool has_result;  /* `reply` or `failure` are set, for the user; once it is
                         set, the loop looks at it without the mutex */
    bool is_answered; /* it is the reply */
    bool was_taken;   /* the user has the reply */
    bool has_ended;   /* of a stream: no more bytes; `failure` says why */
    kl_reply reply;
    kl_error failure;
    kl__buf bytes; /* of a stream, unread from `bytes_used` on */
    size_t bytes_used;
    int64_t rest_until_ms;
    int64_t due_ms; /* when the loop has to look at it, at the latest */

    /* The thread's that attends to it: the loop, or the transport's at the end
     * of the answer. `stream` is set by the thread that opens it, with the
     * mutex, as it becomes OPEN. */
    kl__stream *stream;
    uint64_t generation; /* of the credentials that it went out with */
    bool was_refreshed;  /* after a 401: once */
    bool has_head;
    bool is_held_up; /* its user has to read, before its stream is */
    kl__response response;
    kl__buf body;
    unsigned pauses; /* how often the request was put off */
    uint64_t random; /* state of the generator for the jitter of pauses; 0:
                        there was none yet */

    /* The news mutex guards it. */
    kl__list news_node;
};

/* requester.c */

/* The client's requester, which its first call makes. NULL: KL_ENOMEM, KL_EIO.
 */
kl__requester *kl__requester_new(kl_client *client, kl_config *config,
                                 kl_error *err);
/* Ends its threads; no user may have a request any more. NULL is fine. */
void kl__requester_free(kl__requester *requester);

/* Has the loop look at a request, whatever it waits for. With the mutex held or
 * not; the request is in `all`. */
void kl__request_tell(kl_request *request);
/* Has the loop look at it at `ms`, at the latest. As above. */
void kl__request_due_locked(kl_request *request, int64_t ms);
/* Puts it at the end of the outbox. */
void kl__request_post_locked(kl_request *request);

void kl__request_unref(kl_request *request);

/* request_sender.c: the thread; and what it does, once, where there is none:
 * empties the outbox. */
void *kl__request_sender(void *arg);
void kl__request_send_all(kl__requester *requester);
/* Opens the stream of a request that is OPENING, or completes it with the
 * failure; where there is no sender. */
void kl__request_open(kl_request *request);
/* Ends the flight of credentials, if no request is there that needs them. */
void kl__request_end_flight(kl__requester *requester);

/* Has the loop look whether all is over. With the mutex held or not. */
void kl__requester_look(kl__requester *requester);

/* request_course.c: looks at a request, on the loop, or on the thread of the
 * transport where its stream has ended. The caller holds a reference. */
void kl__request_attend(kl_request *request);

/* request_copy.c: checks a call and makes a request of it, with one reference.
 * NULL: KL_EINVAL, KL_ENOMEM. Frees it. */
kl_request *kl__request_new(const kl_call *call, kl_error *err);
void kl__request_destroy(kl_request *request);

/* request_outcome.c */

/* Completes it: with the reply that is there (failure: NULL), or a failure.
 * What it was doing must have ended. */
void kl__request_complete_locked(kl_request *request, const kl_error *failure);
/* Tells the user that there is something new. */
void kl__request_announce_locked(kl_request *request);
/* What a failure is to the caller: a write that was sent is "unknown". */
void kl__request_judge(const kl_request *request, bool was_sent,
                       kl_error *failure);
/* How many ms the request waits before it is tried again; < 0: it is not tried
 * again. `failure` is the stream's; NULL if the server answered. */
int64_t kl__request_pause_ms(kl_request *request, bool was_sent,
                             const kl_error *failure);

/* reply.c: fills a reply with the head of an answer. KL_ENOMEM: it is empty. */
kl_code kl__reply_fill(kl_reply *reply, const kl__response *response,
                       const char *header_lines, kl_error *err);

#endif
