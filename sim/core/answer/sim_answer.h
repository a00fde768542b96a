/*
 * sim_answer.h - kl__sim_answer: one request and its answer: a status, then
 * bytes that the reader asks for piece by piece. The two transports
 * (in-process, HTTP) only make and free answers; sim_course.h has the steps
 * from request to answer.
 */
#ifndef KL_SIM_ANSWER_H
#define KL_SIM_ANSWER_H

#include "base/buf.h"
#include "base/cancel.h"
#include "sim/core/body/deflate.h"
#include "sim/core/answer/sim_accept.h"
#include "sim/core/answer/sim_select.h"
#include "sim/core/answer/sim_warnings.h"
#include "sim/core/store/sim_core.h"

/* A watch in progress. The thread that reads the answer changes it, with the
 * cluster's mutex held. */
typedef struct kl__sim_watch {
    kl__sim_resource *resource; /* a reference; NULL: not a watch */
    kl__sim_view view;
    uint64_t cursor;    /* number of the next event to read */
    int64_t after;      /* events up to this version are skipped */
    int64_t await;      /* a version to wait for first; 0: none */
    int64_t give_up_ms; /* when to stop waiting for `await` */
    /* version of the bookmark that ends the initial events; 0: it was sent, or
     * is not wanted */
    int64_t marker;
    bool bookmarks;
    int64_t bookmark_ms; /* when the next bookmark is due */
    uint64_t bookmarked; /* kl_sim.bookmarks at the last forced bookmark */
    int64_t end_ms;      /* when the server ends the watch */
    bool ended;
} kl__sim_watch;

typedef struct kl__sim_answer {
    kl_sim *sim;       /* borrowed: the transport keeps a reference */
    kl__sim_user user; /* the user; without a name: the administrator */
    /* a reference to the kind in the path's group (objects of one kind can be
     * in two groups: Events); NULL: not known, or no kind */
    kl__sim_kind *kind;
    kl__sim_ask ask;
    kl__sim_form form;
    const bool *closed; /* guarded by the cluster's mutex; NULL: never closed */
    bool may_control;   /* the client is on this machine */
    bool has_socket;    /* the answer goes over HTTP */
    bool direct;        /* kl_sim_call: no faults, credentials or record */
    bool loading;       /* kl_sim_load: status and UID are kept as given */
    bool too_large;     /* the body was refused unread */
    bool is_planned;    /* the rules of faults were searched for it */
    bool encoded;       /* the body is in the wanted form */
    /* the request has been carried out, and may wait for a version */
    bool begun;
    uint64_t breaks; /* kl_sim.breaks when this was made */
    uint64_t cuts;
    /* id of the newest fault that was checked for this answer */
    int64_t rules_seen;
    struct kl__sim_plan *plan; /* its faults; NULL: none */
    int status;                /* 0: not known yet */
    const char *content_type;
    char *owned_type; /* the memory of content_type, if that is not static */
    const char *vary; /* the Vary header; NULL: none */
    bool is_public;   /* Cache-Control: public */
    int retry_after_seconds; /* < 0: none */
    kl__sim_warnings warnings;
    int64_t await; /* a version to wait for; 0: none */
    int64_t give_up_ms;
    /* wakes a reader that must not block; guarded by the cluster's mutex */
    kl__sim_ear ear;
    /* when such a reader reads again even if it is not woken, on the machine's
     * clock; < 0: never */
    int64_t look_again_ms;
    kl__buf out;   /* bytes ready to be read */
    size_t out_at; /* how many of these were read */
    /* Objects of a list, or of a watch's initial events. Each is written as
     * JSON only when the reader gets to it. */
    kl__sim_state **states;
    size_t state_count;
    size_t state_capacity;
    size_t state_at;
    kl__sim_view view;
    kl__buf tail;      /* bytes that follow the last state */
    kl__deflate *gzip; /* NULL: the body is not compressed */
    kl__buf plain;     /* of a list: bytes to be compressed next */
    kl__sim_selection selection;
    kl__sim_watch watch;
} kl__sim_answer;

/* How long a call may block. */
typedef struct kl__sim_wait {
    int64_t deadline_ms; /* < 0: for ever */
    kl__cancel *cancel;  /* may be NULL */
} kl__sim_wait;

/* Makes an answer to a request, which is copied and not carried out yet. Owned
 * by the caller. NULL: KL_ENOMEM. */
kl__sim_answer *kl__sim_answer_new(kl_sim *sim, const kl__sim_request *request,
                                   kl_error *err);
void kl__sim_answer_free(kl__sim_answer *answer); /* NULL is fine */

/* --- For files that make answers. The cluster's mutex is held. ------------ */

/* Makes the answer wait until the cluster has reached a version. False: the
 * answer has waited long enough. */
bool kl__sim_answer_await(kl__sim_answer *answer, int64_t version);

/* Sets the status, and the type JSON. The caller then appends the body to
 * answer->out. */
static inline void kl__sim_answer_json(kl__sim_answer *answer, int status)
{
    answer->status = status;
    answer->content_type = "application/json";
}

/* Answers with one object. KL_ENOMEM. */
kl_code kl__sim_answer_object(kl__sim_answer *answer, int status,
                              const kl__sim_view *view,
                              const kl__sim_state *state, kl_error *err);

/* Keeps a reference to a state that is to be written. KL_ENOMEM. */
kl_code kl__sim_answer_keep(kl__sim_answer *answer, kl__sim_state *state,
                            kl_error *err);
/* Drops the states that were kept. */
void kl__sim_answer_drop(kl__sim_answer *answer);
/* Drops what was made so far, before the request is carried out (again). */
void kl__sim_answer_reset(kl__sim_answer *answer);

#endif
