/*
 * server.h - an API server in memory that answers with bytes: what it stores,
 * how it answers, and everything that can go wrong on the way. It is a
 * kl_transport, so the core runs on it from list_watch up. For use only within
 * a run of schedule.h.
 */
#ifndef KL_SPEC_MODEL_SERVER_H
#define KL_SPEC_MODEL_SERVER_H

#include "kubelua/client.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct server server;

/* "pods" (namespaced, keys "ns/name") and "nodes" (cluster, keys "name"). */
typedef enum server_kind {
    SERVER_PODS,
    SERVER_NODES,
    SERVER_KINDS
} server_kind;

/* What the server does with a watch that asks for sendInitialEvents. */
typedef enum server_streaming {
    SERVER_STREAMS, /* initial events, then the end bookmark */
    SERVER_FORBIDS, /* 422, as with the feature gate off */
    /* the parameter is unknown: ADDED events, no end bookmark */
    SERVER_IGNORES,
    SERVER_STREAM_ENDS /* ends the watch cleanly before the bookmark */
} server_streaming;

/* What the server does with a watch from a version that it has not reached, as
 * after a restore from a backup. */
typedef enum server_future {
    SERVER_FUTURE_GONE,  /* ERROR 410 */
    SERVER_FUTURE_TELLS, /* sends changes from now on: lower versions */
    /* silence until the version is reached, like kube-apiserver; changes until
     * then are never sent */
    SERVER_FUTURE_WAITS
} server_future;

typedef struct server_options {
    server_streaming streaming;
    server_future future;
    bool no_bookmarks;
    /* lists: metadata after items, as for custom resources */
    bool rv_after_items;
    bool cached_lists;   /* a list may be answered from a cache that lags,
                            where the request allows it */
    int bookmark_ms;     /* between two bookmarks; 0: 60 s */
    int watch_ms;        /* ends each watch after so long, whatever it asks
                            for; 0: as asked */
    size_t chunk_max;    /* bytes that a read gets at most, drawn for each;
                            0: 4096; 1: byte by byte */
    int delay_max_ms;    /* longest delay of a head and between chunks */
    int fault_per_mille; /* requests in 1,000 that meet a fault */
    /* versions of lists and bookmarks come from another counter than those of
     * objects, and are higher than all of them, as an aggregated API server may
     * do; a watch may begin at either */
    bool lists_apart;
    /* after server_settle, so many refusals still come from a proxy, without a
     * Status */
    int wordless;
    bool lends; /* clients that connect have a transport thread, which carries
                 * out turns of readers (kl__stream_turn) */
} server_options;

/* What lists_apart adds to versions; and a version without it. */
enum { SERVER_APART = 1000000000 };
int64_t server_real_version(int64_t version);

server *server_new(const server_options *options);
/* Frees the server; call it after the client and its informers are gone. */
void server_free(server *self);
/* A transport to the server, for kl_client_options; one reference for the
 * caller. */
kl_transport *server_transport(server *self);

/* The fields of an object that a write sets: `value` becomes .spec.value (a
 * number), `node` .spec.nodeName, `app` the label "app"; indexes use them.
 * Names are ASCII; an annotation has other characters. Each write is one step,
 * and wakes the watches. */
typedef struct server_spec {
    int value;
    int node;           /* nodeName "node-<n>"; < 0: none */
    int app;            /* label app=app-<n>; < 0: none */
    bool is_unreadable; /* its text has a member SERVER_TORN that is no JSON */
} server_spec;

#define SERVER_TORN "torn"

/* Each returns the new version; 0: the key exists already (create), or does not
 * exist (update, delete). */
int64_t server_create(server *self, server_kind kind, const char *key,
                      const server_spec *spec);
int64_t server_update(server *self, server_kind kind, const char *key,
                      const server_spec *spec);
int64_t server_delete(server *self, server_kind kind, const char *key);

/* Compacts: forgets the history but for the last `keep` changes. Older versions
 * and continue tokens are answered with 410. */
void server_compact(server *self, size_t keep);
/* Restores a backup: the last `changes` changes are undone, the version is the
 * one before them, and every stream breaks. The undone changes stay in the
 * history for the oracle, marked as undone. */
void server_restore(server *self, size_t changes);
/* An upgrade: the server has other options from now on; open streams stay
 * open. */
void server_change_options(server *self, const server_options *options);

/* Kinds of faults. A fault waits for the next request that fits; with
 * `on_open`, it meets all open streams that fit. */
typedef enum server_fault_type {
    SERVER_FAULT_BREAK,       /* the stream is reset after `bytes` more */
    SERVER_FAULT_END,         /* the stream ends then, as if it were complete */
    SERVER_FAULT_FREEZE,      /* nothing comes any more after `bytes` more */
    SERVER_FAULT_REFUSE,      /* request: connection refused */
    SERVER_FAULT_DELAY,       /* request: the head comes `ms` later */
    SERVER_FAULT_STATUS,      /* request: HTTP `status`, with Retry-After of
                                 `retry_after_s` if that is not 0 */
    SERVER_FAULT_ERROR_EVENT, /* watch: ERROR with a Status of `status`, then
                                 the end */
    SERVER_FAULT_RUBBISH,     /* stream: bytes that are no event */
    SERVER_FAULT_TYPES
} server_fault_type;

typedef enum server_target {
    SERVER_ANY,
    SERVER_LIST,
    SERVER_WATCH, /* streaming lists too */
    SERVER_DISCOVERY
} server_target;

typedef struct server_fault {
    server_fault_type type;
    server_target target;
    bool on_open; /* of BREAK, END, FREEZE, RUBBISH, ERROR_EVENT: open streams,
                     not the next request */
    /* after so many more bytes of the body, also within a token */
    size_t bytes;
    int ms;
    int status; /* 401, 403, 404, 410, 429, 500, 503, 504 */
    int retry_after_s;
    int times; /* how many requests meet it; 0: one */
} server_fault;

void server_arm(server *self, const server_fault *fault);
/* Ends all faults: armed faults are dropped, none are drawn, and streams that
 * are frozen, wait for a fault, or carry a fault's bytes break now. The reader
 * may still hold bytes that it read before: wait until it is idle. */
void server_settle(server *self);

/* The rest is for the oracle. */

typedef enum server_change_type {
    SERVER_ADDED,
    SERVER_MODIFIED,
    SERVER_DELETED
} server_change_type;

/* One change; keys and uids live as long as the server. */
typedef struct server_change {
    server_change_type type;
    server_kind kind;
    bool is_undone;  /* by a restore */
    int64_t version; /* after a restore, given out again */
    int64_t at_ms;
    const char *key;
    const char *uid;
    server_spec spec; /* of a deleted object: its last one */
} server_change;

/* All changes, oldest first. Borrowed until the next write. */
const server_change *server_history(const server *self, size_t *count);

/* The text that a client keeps of the object, from "metadata" on: it has no
 * managedFields. The caller frees it (kl__free). */
char *server_kept_text(const server_change *object);

/* The object now: the last change of a key; NULL: it does not exist. */
const server_change *server_find(const server *self, server_kind kind,
                                 const char *key);
/* How many objects of a kind there are; and a visit to each, in order of
 * keys. */
size_t server_count(const server *self, server_kind kind);
void server_each(const server *self, server_kind kind,
                 void (*visit)(const server_change *object, void *context),
                 void *context);
int64_t server_version(const server *self);
/* Requests so far, and streams that are open. */
size_t server_requests(const server *self);
size_t server_streams(const server *self);

#endif
