/*
 * server.h - an API server at the level of bytes, in memory: what it holds, how
 * it answers, and everything that can go wrong on the way. A kl_transport, so
 * that all of the core from the list_watch on runs above it. Within a run of
 * schedule.h only.
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

/* What it does with a watch that asks for sendInitialEvents. */
typedef enum server_streaming {
    SERVER_STREAMS,    /* initial events, then the end bookmark */
    SERVER_FORBIDS,    /* 422, as with the feature gate off */
    SERVER_IGNORES,    /* does not know it: ADDED events, and no end bookmark */
    SERVER_STREAM_ENDS /* ends it cleanly before the bookmark */
} server_streaming;

/* What it does with a watch from a version that it has not reached, as after a
 * restore from a backup. */
typedef enum server_future {
    SERVER_FUTURE_GONE,  /* ERROR 410 */
    SERVER_FUTURE_TELLS, /* tells what happens from now on: lower versions */
    SERVER_FUTURE_WAITS  /* silence until it is reached, as kube-apiserver: what
                            happens until then is never told */
} server_future;

typedef struct server_options {
    server_streaming streaming;
    server_future future;
    bool no_bookmarks;
    bool rv_after_items; /* lists: metadata behind items, as CRs */
    bool cached_lists;   /* a list may be answered from a cache that lags,
                            where the request allows it */
    int bookmark_ms;     /* between two bookmarks; 0: 60 s */
    int watch_ms;        /* ends each watch after so long, whatever it asks
                            for; 0: as asked */
    size_t chunk_max;    /* bytes that a read gets at most, drawn for each;
                            0: 4096; 1: byte by byte */
    int delay_max_ms;    /* for a head and between chunks, drawn; 0: none */
    int fault_per_mille; /* requests that meet a fault, drawn from all */
    bool lists_apart;    /* lists and bookmarks have versions of another counter
                            than objects, above all of theirs, as an aggregated
                            API server may; either is taken to watch from */
    int wordless;        /* so many refusals come from something in between,
                            without a Status, after it was settled */
} server_options;

/* What a server whose lists are apart adds to their versions; and the version
 * without it. */
enum { SERVER_APART = 1000000000 };
int64_t server_real_version(int64_t version);

server *server_new(const server_options *options);
/* After the client and its informers. */
void server_free(server *self);
/* A reference for the caller, for kl_client_options. */
kl_transport *server_transport(server *self);

/* Writes. Each is one step, and wakes the watches. `value` and `node` are read
 * back at .spec.value (a number) and .spec.nodeName (indexes!), the label "app"
 * is `app`. Names in ASCII; a text of the object has other characters. */
typedef struct server_spec {
    int value;
    int node; /* nodeName "node-<n>"; < 0: none */
    int app;  /* label app=app-<n>; < 0: none */
} server_spec;

/* The new version, or 0: it exists already, or does not. */
int64_t server_create(server *self, server_kind kind, const char *key,
                      const server_spec *spec);
int64_t server_update(server *self, server_kind kind, const char *key,
                      const server_spec *spec);
int64_t server_delete(server *self, server_kind kind, const char *key);

/* Forgets the history up to now, or all but the last `keep` changes: older
 * versions and continue tokens are gone. */
void server_compact(server *self, size_t keep);
/* A restored backup: the last `changes` changes are undone, and the version is
 * what it was before them; every stream breaks. They stay in the history that
 * the oracle is told, marked as undone. */
void server_restore(server *self, size_t changes);
/* An upgrade: how it answers from now on; streams go on as they are. */
void server_change_options(server *self, const server_options *options);

/* What goes wrong. Those of a request are armed, and meet the next request that
 * fits; those of a stream meet every open one that fits. */
typedef enum server_fault_type {
    SERVER_FAULT_BREAK,       /* stream or request: off after `bytes` more */
    SERVER_FAULT_END,         /* the same, but it ends as if it were the end */
    SERVER_FAULT_FREEZE,      /* nothing comes any more after `bytes` */
    SERVER_FAULT_REFUSE,      /* request: connection refused */
    SERVER_FAULT_DELAY,       /* request: the head after `ms` */
    SERVER_FAULT_STATUS,      /* request: HTTP `status`, with Retry-After of
                                 `retry_after_s` if that is not 0 */
    SERVER_FAULT_ERROR_EVENT, /* watch: ERROR with a Status of `status`, then
                                 the end */
    SERVER_FAULT_RUBBISH,     /* stream: bytes that are no JSON */
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
    size_t bytes; /* after so many more bytes of the body; any boundary */
    int ms;
    int status; /* 401, 403, 404, 410, 429, 500, 503, 504 */
    int retry_after_s;
    int times; /* so many requests; 0: one */
} server_fault;

void server_arm(server *self, const server_fault *fault);
/* From now on nothing goes wrong: armed faults are dropped, none are drawn,
 * streams that are frozen, doomed or spoiled break now. What was read of them
 * may still be in the reader's hands: wait until it is idle. */
void server_settle(server *self);

/* For the oracle. */

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
    int64_t version; /* after a restore they come again */
    int64_t at_ms;
    const char *key;
    const char *uid;
    server_spec spec; /* of a deleted one: its last */
} server_change;

/* All that ever happened, oldest first. Borrowed; until the next write. */
const server_change *server_history(const server *self, size_t *count);

/* What is there now: the last change of a key, or NULL: it does not exist. */
const server_change *server_find(const server *self, server_kind kind,
                                 const char *key);
/* How many objects of a kind there are; visits each in order of keys. */
size_t server_count(const server *self, server_kind kind);
void server_each(const server *self, server_kind kind,
                 void (*visit)(const server_change *object, void *context),
                 void *context);
int64_t server_version(const server *self);
/* Requests so far, and streams that are open. */
size_t server_requests(const server *self);
size_t server_streams(const server *self);

#endif
