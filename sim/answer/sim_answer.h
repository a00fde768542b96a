/*
 * sim_answer.h - one request and what comes back: a status, then bytes that are
 * pulled. The transports, in-process and on a port, know nothing else.
 */
#ifndef KL_SIM_ANSWER_H
#define KL_SIM_ANSWER_H

#include "base/buf.h"
#include "base/cancel.h"
#include "sim/body/deflate.h"
#include "sim/schema/schema.h"
#include "sim/answer/sim_accept.h"
#include "sim/answer/sim_select.h"
#include "sim/answer/sim_warnings.h"
#include "sim/store/sim_core.h"

/* A watch in progress. Guarded by the cluster's mutex where it says so. */
typedef struct kl__sim_watch {
    kl__sim_resource *resource; /* a reference; NULL: no watch */
    kl__sim_view view;
    uint64_t cursor;    /* number of the next event to look at */
    int64_t after;      /* events up to this version are not for it */
    int64_t await;      /* a version that must be there first; 0: none */
    int64_t give_up_ms; /* for `await` */
    int64_t marker;     /* version of the initial events' end; 0: none due */
    bool bookmarks;
    int64_t bookmark_ms; /* when the next is due */
    uint64_t bookmarked; /* of the cluster's count, that it has seen */
    int64_t end_ms;      /* when it ends by itself */
    bool ended;
} kl__sim_watch;

/* What a list's items are in protobuf. */
typedef struct kl__sim_items {
    const kl__schema *schema; /* NULL: the list is JSON */
    int number;               /* of the field that each of them is */
    size_t length;            /* of all of them */
} kl__sim_items;

/* How much of answer->out is frames of protobuf already, and where in it each
 * event ends: see sim_frames.h. */
typedef struct kl__sim_frames {
    size_t made;
    size_t *ends;
    size_t count;
    size_t capacity;
} kl__sim_frames;

typedef struct kl__sim_answer {
    kl_sim *sim;        /* borrowed: what it came by keeps it */
    kl__sim_user user;  /* who asks; no name: the administrator */
    kl__sim_kind *kind; /* a reference, for views; NULL: none */
    kl__sim_ask ask;
    kl__sim_form form;
    const bool *closed; /* guarded by the cluster's mutex; may be NULL */
    bool may_control;   /* it comes from this machine */
    bool has_socket;    /* it goes out over HTTP */
    bool direct;        /* kl_sim_call: no fault, no token, no record */
    bool loading;       /* kl_sim_load: status and UID are taken as given */
    bool too_large;     /* the body was not even read */
    bool is_planned;    /* its faults were looked for */
    bool encoded;       /* the body has the form that is wanted */
    bool begun;         /* the request was carried out, but for waiting */
    uint64_t breaks;    /* the cluster's, when it began */
    uint64_t cuts;
    int64_t rules_seen;        /* the last fault that it was held against */
    struct kl__sim_plan *plan; /* its faults; NULL: none */
    int status;                /* 0: not known yet */
    const char *content_type;
    char *owned_type; /* what content_type points to, if it is not static */
    const char *vary; /* which headers decide what it is; NULL: none */
    bool is_public;   /* caches may keep it */
    int retry_after_seconds; /* < 0: none */
    kl__sim_warnings warnings;
    int64_t await; /* a version that must be there; 0: none */
    int64_t give_up_ms;
    kl__sim_ear ear;       /* of a reader that must not block; guarded by the
                              cluster's mutex */
    int64_t look_again_ms; /* when that is to come back even if it hears
                              nothing, on the machine's clock; < 0: never */
    kl__buf out;           /* bytes that are ready */
    size_t out_at;         /* of those, how many were read */
    /* Objects that are written as they are read: a list's, or a watch's
     * initial events. */
    kl__sim_state **states;
    size_t state_count;
    size_t state_capacity;
    size_t state_at;
    kl__sim_view view;
    kl__buf tail;      /* after the last of them */
    kl__deflate *gzip; /* NULL: the body is not compressed */
    kl__buf plain;     /* of a list: what is to be compressed next */
    kl__sim_items items;
    kl__buf item; /* the one under way, as JSON */
    kl__sim_frames frames;
    kl__sim_selection selection;
    kl__sim_watch watch;
} kl__sim_answer;

/* For how long a call may block. */
typedef struct kl__sim_wait {
    int64_t deadline_ms; /* < 0: for ever */
    kl__cancel *cancel;  /* may be NULL */
} kl__sim_wait;

/* Takes the request in; nothing is carried out yet. Owned by the caller;
 * KL_ENOMEM. */
kl__sim_answer *kl__sim_answer_new(kl_sim *sim, const kl__sim_request *request,
                                   kl_error *err);
void kl__sim_answer_free(kl__sim_answer *answer); /* NULL is fine */

/* sim_course.c: carries the request out and blocks until its status is there.
 * KL_ETIMEOUT (may be called again), KL_ECANCELED, KL_ECLOSED, KL_EUNAVAILABLE
 * (a fault), KL_ENOMEM. */
kl_code kl__sim_answer_begin(kl__sim_answer *answer, const kl__sim_wait *wait,
                             kl_error *err);

/* sim_course.c: the next bytes of the body, at least one; 0 at its end. Codes
 * as above. */
kl_code kl__sim_answer_read(kl__sim_answer *answer, char *buffer, size_t size,
                            size_t *length, const kl__sim_wait *wait,
                            kl_error *err);

/* --- For the files that make answers; the cluster's mutex is held. ---------
 */

/* sim_api.c: carries the request out: fills the answer. Only KL_ENOMEM fails.
 */
kl_code kl__sim_dispatch(kl__sim_answer *answer, kl_error *err);

/* Makes the rest wait until the cluster has reached a version. False: it has,
 * or the time for that is over. */
bool kl__sim_answer_await(kl__sim_answer *answer, int64_t version);

/* Sets status and type of a body that is appended to answer->out. */
void kl__sim_answer_json(kl__sim_answer *answer, int status);

/* Ends with one object. KL_ENOMEM. */
kl_code kl__sim_answer_object(kl__sim_answer *answer, int status,
                              const kl__sim_view *view,
                              const kl__sim_state *state, kl_error *err);

/* Keeps a reference of a state to be written. KL_ENOMEM. */
kl_code kl__sim_answer_keep(kl__sim_answer *answer, kl__sim_state *state,
                            kl_error *err);
/* Drops those that were kept. */
void kl__sim_answer_drop(kl__sim_answer *answer);
/* Forgets what an attempt that has to wait has made. */
void kl__sim_answer_reset(kl__sim_answer *answer);

#endif
