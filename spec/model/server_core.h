/*
 * server_core.h - what the files of the model's server share: what is stored,
 * what is asked, and a stream on its way.
 */
#ifndef KL_SPEC_MODEL_SERVER_CORE_H
#define KL_SPEC_MODEL_SERVER_CORE_H

#include "server.h"

#include "base/buf.h"
#include "base/list.h"
#include "base/thread.h"
#include "http/transport.h"

enum { FAULTS_MAX = 16, TEXT_MAX = 160, EVER = -1 };

/* Everything that one key has been through hangs together, latest first. */
typedef struct thing {
    char *key;
    server_kind kind;
    size_t latest; /* in the history, plus one; 0: all of it is undone */
} thing;

typedef struct things {
    thing **at; /* by key */
    size_t count;
    size_t capacity;
} things;

/* A transport: of one client. */
typedef struct connection {
    kl_transport base;
    server *server;
    bool is_closed;
} connection;

typedef struct stream stream;

struct server {
    /* Guards all of it, and every stream; the rank is STREAM. The oracle looks
     * without it: fibers do not run at once. */
    kl__mutex mutex;
    kl__cond changed;

    server_options options;
    bool is_settled; /* nothing is drawn */
    int wordless;    /* refusals since then that had no Status */
    server_fault armed[FAULTS_MAX];
    size_t armed_count;

    server_change *history;
    size_t *earlier; /* the same key's change before, plus one; 0: none */
    size_t count;
    size_t capacity;
    things things[SERVER_KINDS];
    int64_t first_version;
    int64_t version;
    int64_t compacted; /* a client with a lower version must list */
    int uids;

    kl__list streams; /* those that are open */
    size_t open;
    size_t requests;
    size_t links;
};

/* What a target asks for. */
typedef struct asked {
    server_target target;
    bool is_known; /* there is such a path */
    server_kind kind;
    char name_space[TEXT_MAX]; /* "": all */
    int app;                   /* of a selector app=app-N; < 0: all */
    int64_t version;           /* -1: none or "" */
    bool is_exact;
    int limit;
    char token[TEXT_MAX];
    bool wants_initial;
    bool wants_bookmarks;
    int timeout_s;
} asked;

/* What comes behind a stream's bytes. */
typedef enum stream_end {
    GOES_ON, /* a watch: more, sooner or later */
    ENDS,    /* the clean end */
    BREAKS,  /* a reset */
    FREEZES  /* nothing */
} stream_end;

struct stream {
    kl__stream base;
    kl__list node; /* in the server's list */
    server *server;
    connection *connection; /* a reference */
    asked asked;

    int64_t head_at; /* not before */
    bool has_head;
    bool is_refused; /* instead of a head: connection refused */
    int status;
    int retry_after_s;
    const char *type;

    kl__buf body; /* all of it, also what was taken */
    size_t taken;
    int64_t more_at; /* nothing is read before */
    stream_end end;
    /* A fault that waits at that place of the body. */
    bool is_doomed;
    server_fault doom;
    size_t doom_at;
    bool is_spoiled; /* what a fault has put in is on its way */

    /* A watch. */
    bool is_watching;
    size_t next;   /* change of the history */
    int64_t told;  /* versions up to this one are of no interest */
    bool owes_end; /* the bookmark that ends the initial events */
    int64_t bookmark_at;
    int64_t ends_at; /* EVER: no end */

    _Atomic int64_t last_byte_ms; /* relaxed: read by a watchdog */
};

/* server.c: what is there. */
const server_change *server_latest(const server *self, const thing *which);
/* Its last change that stands, at that version or before; NULL: none. */
const server_change *server_change_at(const server *self, const thing *which,
                                      int64_t version);
/* The change before one of the history. NULL: none that stands. */
const server_change *server_change_before(const server *self, size_t index);
/* What a list or bookmark of that version says that it is. */
int64_t server_shown_version(const server *self, int64_t version);
/* A version that a cache may lag behind at, no lower than `least`. */
int64_t server_draw_lag(const server *self, int64_t least);

/* server_ask.c. */
void server_ask(asked *out, const char *target);
bool server_selects(const asked *what, const server_change *object);

/* server_text.c: documents. */
void server_put_object(kl__buf *out, const server_change *object, bool typed);
void server_put_event(kl__buf *out, const char *type,
                      const server_change *object);
void server_put_bookmark(kl__buf *out, server_kind kind, int64_t version,
                         bool ends_initial);
void server_put_error(kl__buf *out, int code, const char *message);
void server_put_status(kl__buf *out, int code, const char *message,
                       const char *token, int retry_after_s);
void server_put_discovery(kl__buf *out, bool is_core);
void server_put_number(kl__buf *out, int64_t number);
void server_put_token(kl__buf *out, int64_t version, const char *key);
const char *server_kind_name(server_kind kind);

/* server_answer.c: makes the head and the body. */
void server_answer(stream *self);
/* Answers with a Status. */
void server_refuse(stream *self, int status, const char *message);

/* server_watch.c. */
void server_watch_begin(stream *self);
/* Appends what is due, if anything is; the next time at which to look again,
 * or EVER. With the mutex held. */
int64_t server_watch_pump(stream *self);

/* server_fault.c: what meets a request that has just come; what a stream is
 * doomed to happens, as it was read up to there; all streams break. */
void server_meet_faults(stream *self);
void server_fulfil(stream *self);
void server_break_all(server *self);

/* In server_stream.c. Wakes all readers that wait for bytes; the mutex is
 * held. */
void server_wake_locked(server *self);

#endif
