/*
 * server_core.h - shared by the files of the model's server: stored changes, a
 * parsed request, a stream.
 */
#ifndef KL_SPEC_MODEL_SERVER_CORE_H
#define KL_SPEC_MODEL_SERVER_CORE_H

#include "server.h"

#include "base/buf.h"
#include "base/list.h"
#include "base/thread.h"
#include "http/transport.h"

enum { FAULTS_MAX = 16, TEXT_MAX = 160, EVER = -1 };

/* All changes of one key form a chain, latest first. */
typedef struct thing {
    char *key;
    server_kind kind;
    /* index of its last change in the history, plus one; 0: every change is
     * undone */
    size_t latest;
} thing;

typedef struct things {
    thing **at; /* sorted by key */
    size_t count;
    size_t capacity;
} things;

/* The transport of one client. */
typedef struct connection {
    kl_transport base;
    server *server;
    bool is_closed;
    bool lends;   /* `thread` carries out turns that readers lend */
    bool is_over; /* `thread` has to end */
    kl__thread thread;
} connection;

typedef struct stream stream;

struct server {
    /* Guards the whole server and every stream; its rank is STREAM. The oracle
     * reads without it, as only one fiber runs at a time. */
    kl__mutex mutex;
    kl__cond changed;

    server_options options;
    bool is_settled; /* no faults are drawn */
    int wordless;    /* refusals without a Status since it was settled */
    server_fault armed[FAULTS_MAX];
    size_t armed_count;

    server_change *history;
    /* for each change: index of the same key's change before it, plus one; 0:
     * none */
    size_t *earlier;
    size_t count;
    size_t capacity;
    things things[SERVER_KINDS];
    int64_t first_version;
    int64_t version;
    int64_t compacted; /* a client with a lower version must list */
    int uids;

    kl__list streams; /* the open streams */
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

/* What follows a stream's bytes. */
typedef enum stream_end {
    GOES_ON, /* a watch: more bytes, sooner or later */
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

    int64_t head_at; /* the head comes no earlier */
    bool has_head;
    bool took_head;  /* the reader has it */
    bool is_refused; /* instead of a head: connection refused */
    int status;
    int retry_after_s;
    const char *type;

    kl__buf body; /* all bytes, also those that were read */
    size_t taken;
    int64_t more_at; /* the next byte is read no earlier */
    stream_end end;
    /* A fault that happens at byte doom_at of the body. */
    bool is_doomed;
    server_fault doom;
    size_t doom_at;
    bool is_spoiled; /* the body contains a fault's bytes */

    /* Members of a watch. */
    bool is_watching;
    size_t next;   /* index of the next change in the history */
    int64_t told;  /* changes up to this version are not sent */
    bool owes_end; /* the bookmark that ends the initial events */
    int64_t bookmark_at;
    int64_t ends_at; /* EVER: no end */

    /* Members of a reader that rests: see server_lend.c. */
    const kl__stream_turn *lent;
    bool is_taken;
    bool is_awaited;
    bool is_returned;

    /* Members of a reader that has a hook. */
    kl__stream_hook hook;
    bool is_told;     /* the hook was called, and it has not looked since */
    int64_t again_at; /* when it has to look again; EVER: it will be told */

    _Atomic int64_t last_byte_ms; /* relaxed: read by a watchdog */
};

/* In server.c. The last change of a key that is not undone; NULL: none. */
const server_change *server_latest(const server *self, const thing *which);
/* The same, at that version or before. */
const server_change *server_change_at(const server *self, const thing *which,
                                      int64_t version);
/* The last change of the same key before the one at `index`, undone ones left
 * out; NULL: none. */
const server_change *server_change_before(const server *self, size_t index);
/* The version that a list or bookmark shows: see lists_apart. */
int64_t server_shown_version(const server *self, int64_t version);
/* Draws the version of a cache that lags behind, no lower than `least`. */
int64_t server_draw_lag(const server *self, int64_t least);

/* server_answer.c: what a request asks for. */
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

/* In server_answer.c. Makes the head and the body of an answer. */
void server_answer(stream *self);
/* Answers with a Status. */
void server_refuse(stream *self, int status, const char *message);

/* server_watch.c. */
void server_watch_begin(stream *self);
/* Appends the events that are due. Returns the time at which to look again, or
 * EVER. The caller holds the mutex. */
int64_t server_watch_pump(stream *self);

/* In server_fault.c. Gives a new request its fault; carries out the fault of a
 * stream that was read up to its place; breaks all streams. */
void server_meet_faults(stream *self);
void server_fulfil(stream *self);
void server_break_all(server *self);

/* In server_stream.c. True if there is the head; if there are bytes, or the
 * end. Else `at` is set to the time at which to look again, or EVER. How many
 * bytes may be read now. */
bool server_has_head(stream *self, int64_t *at);
bool server_has_bytes(stream *self, int64_t *at);
size_t server_readable(const stream *self);
/* What ends a wait. Waits until `is_ready` is true; the caller holds the
 * mutex. */
typedef struct patience {
    int64_t deadline_ms;
    kl__cancel *cancel;
} patience;
kl_code server_await_locked(stream *self, bool (*is_ready)(stream *, int64_t *),
                            const patience *until, kl_error *err);
/* The earlier of two times, which may be EVER. */
int64_t server_earlier(int64_t a, int64_t b);
/* The hook of a cancel token; `arg` is the server. */
void server_wake(void *arg);

/* In server_lend.c. See kl__stream_ops; and the transport thread of a
 * connection that lends. On one that does not, a reader with a hook looks again
 * at the time at which there is more, as over a simulator. */
bool server_set_hook(kl__stream *base, const kl__stream_hook *hook);
/* A reader has looked for nothing; there is more at that time, or EVER. */
void server_note_look(stream *self, int64_t at);
bool server_lend(kl__stream *base, const kl__stream_turn *turn);
void server_retract(kl__stream *base);
void server_lend_start(connection *self);
void server_lend_stop(connection *self);

/* In server_stream.c. Wakes all readers that wait for bytes; the caller holds
 * the mutex. */
void server_wake_locked(server *self);

#endif
