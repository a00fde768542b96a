/*
 * requests.h - the world of request_turns_spec: what the spec knows of each
 * request, the wire that stands in for a transport (request_wire.c), and the
 * credentials (request_logins.c). One strand runs at a time, and another one
 * runs only at a hand-over point, so plain fields need no mutex.
 */
#ifndef KL_SPEC_MODEL_REQUESTS_H
#define KL_SPEC_MODEL_REQUESTS_H

#include "config/load.h"
#include "http/transport.h"
#include "kubelua/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLIENTS = 4,
    LOGINS = 4,
    ASKED = 160,      /* requests of a history, at most */
    DEATH_MS = 50,    /* a plugin that is cancelled takes that long to end */
    PIPE_MS = 300,    /* a file that is a pipe takes that long to read */
    PLUGIN_MS = 3000, /* the limit of a plugin */
    TOKENS = 1000     /* that a history has at most */
};

typedef enum login_kind {
    LOGIN_NONE,  /* no config */
    LOGIN_TOKEN, /* in the config */
    LOGIN_FILE,
    LOGIN_PIPE, /* a token file that has to be waited for */
    LOGIN_PLUGIN
} login_kind;

/* A config, and the file or plugin that it names. */
typedef struct known_login {
    kl_config *config; /* a reference of the world; NULL: none */
    login_kind kind;
    int users; /* clients */
    int token; /* the number in the token that it gave last; 0: none */
    int64_t refresh_at_ms;
    int runs;             /* of the plugin */
    bool is_busy;         /* a plugin runs, or a pipe is read */
    int64_t ends_ms;      /* when it will end by itself */
    int64_t free_ms;      /* when that ended last; -1: never */
    int64_t failed_ms;    /* when a run failed last */
    bool is_file_changed; /* the file has another token */
} known_login;

/* One client; users have references to it. */
typedef struct known_client {
    kl_client *client; /* for users that have a reference */
    kl__cancel *closed;
    known_login *login;
    int64_t closed_ms; /* -1: it is open */
} known_client;

/* A request as the world knows it. */
typedef struct asked {
    int number;
    known_client *door;
    bool is_write, no_retry, streams;
    int64_t deadline_ms;
    int64_t cancel_ms;   /* when it was cancelled or freed in flight; -1: not */
    kl_request *request; /* NULL: not sent yet, or freed */
    bool is_sending;     /* kl_client_send has not returned */

    /* Set by the wire: the tries so far, and the last one. */
    int tries;
    bool is_open;
    int64_t ready_ms, late_ms; /* it may be sent from and until then, unless
                                  credentials have to be waited for */
    int pauses, refusals;
    int outlived;      /* runs of a plugin that failed while it waited */
    int refused_token; /* the try before was answered with 401; else -1 */
    bool may_repeat, must_repeat;
    int64_t pause_ms; /* the longest pause before the next try */
    int status;       /* 0: no head came */
    bool was_sent, is_whole, is_broken;
    int64_t over_ms; /* when the end of the answer came */
    int64_t come_ms; /* when bytes came last */
    size_t come;     /* bytes of the body that came */
} asked;

typedef struct world {
    int fails_per_mille; /* threads that do not start */
    int door_count, login_count, asked_count;
    known_client doors[CLIENTS];
    known_login logins[LOGINS];
    asked asked[ASKED];
    int token_count;
    bool is_refused[TOKENS]; /* the server has answered 401 to this token */
    int valid_from;          /* it takes no older token */
    int64_t refuses_until_ms;
} world;

extern world w;

/* What has to happen in a long run, or the model does not reach it. X(constant,
 * what it is). */
#define SEEN(X)                                                     \
    X(SEEN_ANSWER, "whole answers")                                 \
    X(SEEN_REFUSAL, "statuses of answers that broke off")           \
    X(SEEN_AFTER_401, "requests sent again after a 401")            \
    X(SEEN_SECOND_401, "second 401")                                \
    X(SEEN_AFTER_PAUSE, "requests sent again after a pause")        \
    X(SEEN_CANCELED, "requests that were cancelled")                \
    X(SEEN_CLOSED, "requests of a client that was closed")          \
    X(SEEN_TIMEOUT, "requests whose time was over")                 \
    X(SEEN_UNAVAILABLE, "broken connections")                       \
    X(SEEN_UNKNOWN, "writes with an unknown outcome")               \
    X(SEEN_NO_THREAD, "threads that did not start")                 \
    X(SEEN_RUN, "runs of plugins")                                  \
    X(SEEN_RUN_CANCELED, "runs that were cancelled")                \
    X(SEEN_RUN_HUNG, "runs that hung until their limit")            \
    X(SEEN_RUN_FAILED, "requests that failed with a run")           \
    X(SEEN_EXPIRED, "runs after a credential had expired")          \
    X(SEEN_PIPE, "pipes that were read")                            \
    X(SEEN_LENT_END, "answers that ended on the wire's thread")     \
    X(SEEN_FULL, "streams that waited for their reader")            \
    X(SEEN_STREAM, "streams that were read to the end")             \
    X(SEEN_STREAM_BROKE, "streams that broke while they were read") \
    X(SEEN_LAST_IN_FREE, "clients that were freed with a request")

typedef enum seen_kind {
#define SEEN_CONSTANT(constant, what) constant,
    SEEN(SEEN_CONSTANT) SEEN_KINDS
#undef SEEN_CONSTANT
} seen_kind;

/* request_results.c: counts it; and prints all counts. False: one is 0. */
void saw(seen_kind kind);
bool print_seen(void);

/* request_wire.c: a transport for a client, which gets its only reference. */
kl_transport *wire_new(void);
/* The byte that the body of a request's answer is made of. */
char wire_letter(const asked *self);

/* request_results.c. They fail the run if the result is wrong. */
void asked_check_answer(const asked *self, const kl_reply *reply);
void asked_check_failure(const asked *self, const kl_error *err);
void asked_check_body(const asked *self, const char *body, size_t length);
/* When the request has to be complete at the latest. */
int64_t asked_limit_ms(const asked *self);
/* True if it has a result, or its user has freed it. */
bool asked_is_over(const asked *self);

/* request_logins.c */
void login_init(known_login *self, login_kind kind);
void login_deinit(known_login *self);

#endif
