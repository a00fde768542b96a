/*
 * sim.h - a simulated API server: same protocol, in memory, in-process or on a
 * loopback port. For trying a script and for testing controllers.
 */
#ifndef KUBELUA_SIM_H
#define KUBELUA_SIM_H

#include "kubelua/client.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_sim kl_sim;

/* Somebody with a bearer token of their own. */
typedef struct kl_sim_user {
    const char *name;   /* as User in a binding */
    const char *token;  /* not empty */
    const char *groups; /* separated by commas; NULL: none of their own */
} kl_sim_user;

/* Zeroed fields are the defaults: nobody is asked who they are, and everybody
 * may do everything. The token's owner is in system:masters, as is who comes
 * in-process without one where it is not set; with users or rbac there is
 * always such a token, kl_sim_kubeconfig has it, service accounts are let in by
 * theirs, and with rbac those without any are system:anonymous. All is
 * copied. */
typedef struct kl_sim_options {
    int64_t bookmark_ms;      /* between bookmarks; 0: 60 s, the real one's */
    size_t history;           /* events kept of each kind; 0: 10,000 */
    bool no_streaming_list;   /* 422 on sendInitialEvents, as before 1.27 */
    bool no_controllers;      /* an API server alone: what is owned stays */
    const char *token;        /* bearer token asked for; NULL: none */
    bool clock_stands;        /* time moves by kl_sim_advance only */
    int64_t now_ms;           /* Unix time to begin with; 0: the machine's */
    int64_t compaction_ms;    /* after which history is forgotten (within twice
                                 that); 0: 5 minutes, the real one's */
    const kl_sim_user *users; /* others who are let in; may be NULL */
    size_t user_count;
    bool rbac; /* what a user may do is what Roles and their bindings say */
} kl_sim_options;

/* A cluster with the namespaces default and kube-system. The caller owns one
 * reference. NULL: KL_ENOMEM, KL_EIO. Thread-safe. */
KL_API kl_sim *kl_sim_new(const kl_sim_options *options, kl_error *err);
/* One reference more; returns `sim`. Thread-safe. */
KL_API kl_sim *kl_sim_ref(kl_sim *sim);
/* One reference less; the last one ends every stream and stops listening.
 * Transports hold one of their own. NULL is fine. Thread-safe. */
KL_API void kl_sim_unref(kl_sim *sim);

/* Moves the cluster's time on by so much: timestamps, bookmarks, the ends of
 * watches and all that it does after a while follow. (Timeouts of clients are
 * matters of their own clocks.) KL_EINVAL for less than 0. Thread-safe. */
KL_API kl_code kl_sim_advance(kl_sim *sim, int64_t ms, kl_error *err);
/* The cluster's Unix time in milliseconds. Thread-safe. */
KL_API int64_t kl_sim_now(const kl_sim *sim);

/* The version of the last change. Thread-safe. */
KL_API int64_t kl_sim_version(kl_sim *sim);
/* Has every open watch that takes bookmarks send one of that version now,
 * behind all that it has to tell: what has read it has all. Thread-safe. */
KL_API void kl_sim_bookmark(kl_sim *sim);

/* Creates or replaces the objects of a text of YAML or JSON documents (lists
 * are unpacked, several documents are fine). CustomResourceDefinitions go in
 * first, then namespaces, whatever the order; a namespace that is missing is
 * made. Status, uid and creationTimestamp are taken as given; an object of
 * another uid is deleted and created. What an API server would warn of, above
 * all fields that it does not know and leaves out, is logged (KL_LOG_WARN).
 * KL_EPARSE with line, KL_EINVAL naming the object, KL_ENOMEM; what came before
 * it stays. Thread-safe. */
KL_API kl_code kl_sim_load(kl_sim *sim, const char *text, size_t length,
                           kl_error *err);

/* What is replayed of an object. */
typedef enum kl_sim_change {
    KL_SIM_INITIAL, /* it was there at first: its version may be any; before
                       anybody watches, with kl_sim_compact after the last */
    KL_SIM_PUT,     /* it came, or changed */
    KL_SIM_DELETED  /* it went, in the version that it has */
} kl_sim_change;

/* Puts an object as another server had it, or takes it away: UID, times, status
 * and resourceVersion are those of its JSON text. The version of a change that
 * is not newer than the cluster's becomes the next one. Watches see it. An
 * object that is not there cannot be deleted, which is fine. KL_EPARSE,
 * KL_EINVAL (no such kind is served, ...), KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_sim_replay(kl_sim *sim, kl_sim_change change,
                             const char *json, size_t length, kl_error *err);

/* A transport straight into it, for kl_client_options; one reference for the
 * caller: kl_transport_unref. NULL: KL_ENOMEM. Thread-safe. */
KL_API kl_transport *kl_sim_transport(kl_sim *sim, kl_error *err);
/* The same with a bearer token for each request that brings none: for a client
 * that is one of the users. NULL: KL_ENOMEM. Thread-safe. */
KL_API kl_transport *kl_sim_transport_as(kl_sim *sim, const char *token,
                                         kl_error *err);

/* One request as a client would send it, beside faults and tokens, and not in
 * kl_sim_requests; a watch is KL_EINVAL here. KL_ETIMEOUT, KL_ENOMEM. The reply
 * is the caller's: kl_reply_clear. Thread-safe. */
KL_API kl_code kl_sim_call(kl_sim *sim, const kl_call *call, kl_reply *reply,
                           kl_error *err);

typedef struct kl_sim_listen_options {
    const char *address; /* NULL: "127.0.0.1" */
    int port;            /* 0: a free one */
    bool tls;            /* with a certificate made for this run */
} kl_sim_listen_options;

/* Serves HTTP/1.1 on a port until the last reference is gone. KL_EIO (port in
 * use), KL_EINVAL, KL_ETLS. Thread-safe. */
KL_API kl_code kl_sim_listen(kl_sim *sim, const kl_sim_listen_options *options,
                             kl_error *err);
/* "https://127.0.0.1:6443", borrowed until it stops listening; NULL if it does
 * not listen. Thread-safe. */
KL_API const char *kl_sim_url(const kl_sim *sim);
/* A kubeconfig that leads to it, with its CA inside; the caller frees it with
 * kl_free. NULL: KL_EINVAL if it does not listen, KL_ENOMEM. */
KL_API char *kl_sim_kubeconfig(const kl_sim *sim, kl_error *err);
/* One that leads to it as somebody else: with their token, or, where that is
 * NULL, with a client certificate made for them, for which the port must be one
 * with TLS. The caller frees it with kl_free. NULL: KL_EINVAL, KL_ETLS,
 * KL_ENOMEM. Thread-safe. */
KL_API char *kl_sim_kubeconfig_of(const kl_sim *sim, const kl_sim_user *user,
                                  kl_error *err);
/* Stops listening and breaks its connections; kl_sim_listen may follow, also on
 * the same port. Thread-safe. */
KL_API void kl_sim_unlisten(kl_sim *sim);

/* Breaks every open watch now, in the middle of nothing; new ones are welcome.
 * Thread-safe. */
KL_API void kl_sim_cut(kl_sim *sim);
/* With `on`, refuses every connection as if nothing listened, and breaks the
 * open ones; without, accepts again (where the log says that it cannot, for
 * want of descriptors or threads: call it again). Thread-safe. */
KL_API void kl_sim_refuse(kl_sim *sim, bool on);
/* With `on`, sends no byte on any open stream, and keeps it open.
 * Thread-safe. */
KL_API void kl_sim_freeze(kl_sim *sim, bool on);
/* Forgets the history up to now, as etcd compaction does: watches from an older
 * version, and continue tokens, get 410. Thread-safe. */
KL_API void kl_sim_compact(kl_sim *sim);
/* An answer that the next `count` requests of a verb get. */
typedef struct kl_sim_failure {
    const char *verb;        /* "list", "watch", "get", ...; NULL: any */
    int count;               /* at least 1 */
    int status;              /* 200 to 599 */
    int retry_after_seconds; /* 0: no Retry-After */
    const char *body;        /* NULL: the Status that fits */
} kl_sim_failure;

/* Answers requests with a failure instead of what they ask for; several queue
 * up. KL_EINVAL, KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_sim_fail(kl_sim *sim, const kl_sim_failure *failure,
                           kl_error *err);

/*
 * Orders a fault: a JSON object of "action" ("fail", "expire", "cut", "freeze",
 * "delay", "event", "bookmarks", "wire", "refuse", "certificate"), of which
 * requests it is for, and of how it goes; docs/FAULTS.md has the table. It is
 * for requests to come and, where that makes sense, for streams that are open;
 * several may hit one request. `id` (may be NULL) gets its number. KL_EPARSE,
 * KL_EINVAL saying which fields there are, KL_ENOMEM. Thread-safe.
 */
KL_API kl_code kl_sim_fault(kl_sim *sim, const char *rule, size_t length,
                            int64_t *id, kl_error *err);
/* The faults in force as a JSON array: as they were ordered, with "id" and
 * "hits" (requests that each was for). The caller frees it with kl_free. NULL:
 * KL_ENOMEM. Thread-safe. */
KL_API char *kl_sim_faults(kl_sim *sim, kl_error *err);
/* Ends a fault, or all of them (0), also where it holds a stream right now.
 * False: there is no such fault (any more). Thread-safe. */
KL_API bool kl_sim_heal(kl_sim *sim, int64_t id);

/* Keeps what the cluster holds now, and serves, for kl_sim_restore; `version`
 * gets the version that it is of. Kept until the cluster ends. KL_ENOMEM.
 * Thread-safe. */
KL_API kl_code kl_sim_snapshot(kl_sim *sim, int64_t *version, kl_error *err);
/* Sets the cluster back to a snapshot, or to any version that is still in the
 * history (kinds are served as now then), as by an etcd restored from a backup:
 * objects and version are as they were, later versions will be given once more,
 * there is no history, and every connection breaks. KL_EINVAL (no such
 * version), KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_sim_restore(kl_sim *sim, int64_t version, kl_error *err);

/* What was asked so far, oldest first, as a JSON array of {method, target,
 * status, path, query, verb, group, version, resource, subresource, namespace,
 * name, user_agent, run (a number, of Kubelua-Run, in-process only), at (Unix
 * time), content_type, body}, without what there is
 * not; a body of JSON up to 64 KB. The last 1,000. The caller frees it with
 * kl_free; NULL: KL_ENOMEM. Thread-safe. */
KL_API char *kl_sim_requests(kl_sim *sim, kl_error *err);
/* Forgets what was asked. Thread-safe. */
KL_API void kl_sim_requests_clear(kl_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
