/*
 * sim.h - a simulated kube-apiserver in memory. Clients reach it in this
 * process (kl_sim_transport) or on a port (kl_sim_listen). With it a program
 * runs without a cluster, and controllers are tested.
 *
 * What a user can rely on:
 *
 * - Protocol. It answers as a kube-apiserver does; docs/DIFFERENCES.md lists
 *   what differs. Clients need no special mode.
 * - Versions. One counter for all kinds: each change gets the next
 *   resourceVersion. A watch sends the changes of its kind in that order, each
 *   once.
 * - History. A watch can begin at any version of the last `compaction_ms`, and
 *   of the last `history` events of its kind; at an older one it gets 410.
 * - Time. With `clock_stands` nothing that needs time happens (bookmarks,
 *   expiry, ends of watches) until kl_sim_advance: tests need no sleep.
 * - Controllers. As in a cluster, owned objects are deleted with their owner
 *   and namespaces are emptied, before the client reads the answer to the
 *   request that caused it. No pod runs.
 * - Faults. They apply to requests of clients only, never to kl_sim_call and
 *   the other calls below.
 * - Threads. All calls are thread-safe.
 * - Fork. In the child of a fork() the cluster does not work: calls fail with
 *   KL_EFORKED, return nothing or do nothing. In the parent it goes on.
 * - Stop. The last kl_sim_unref ends every stream and closes the port.
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

/* A user with a bearer token. */
typedef struct kl_sim_user {
    const char *name;   /* the name of the User in a RoleBinding */
    const char *token;  /* not empty; no other user has it */
    const char *groups; /* separated by commas; NULL: none */
} kl_sim_user;

/*
 * Zeroed fields are the defaults: no request needs credentials, and every
 * request may do everything. The library copies all fields.
 *
 * `token` is the token of the administrator (group system:masters). If `token`,
 * `users` or `rbac` is set, a request on the port needs credentials (health
 * checks and /version do not): the administrator's token, the token of a user
 * or of a service account, or a client certificate. With `users` or `rbac` but
 * without `token`, the library makes a random administrator's token;
 * kl_sim_kubeconfig contains it. With `rbac`, a request on the port without
 * credentials has the user system:anonymous. A request in this process without
 * credentials is the administrator's, unless `token` is set.
 */
typedef struct kl_sim_options {
    int64_t bookmark_ms;    /* between bookmarks; 0: 60 s, as kube-apiserver */
    size_t history;         /* events kept of each kind; 0: 10,000 */
    bool no_streaming_list; /* 422 on sendInitialEvents, as before 1.27 */
    bool no_controllers;    /* nothing is deleted with its owner or namespace */
    const char *token;      /* the administrator's; NULL: see above */
    bool clock_stands;      /* time moves by kl_sim_advance only */
    int64_t now_ms;         /* Unix time at the start; 0: the machine's time */
    int64_t compaction_ms;  /* history is kept for this long, and removed
                               within twice this time; 0: 5 minutes, as
                               kube-apiserver */
    const kl_sim_user *users; /* may be NULL */
    size_t user_count;
    bool rbac; /* Roles and their bindings decide what a user may do */
} kl_sim_options;

/* Makes a cluster with the namespaces of a new cluster: default, kube-system,
 * kube-public and kube-node-lease. The caller owns one reference. NULL:
 * KL_EINVAL (a wrong user or token), KL_ENOMEM, KL_EIO. Thread-safe. */
KL_API kl_sim *kl_sim_new(const kl_sim_options *options, kl_error *err);
/* One reference more; returns `sim`. Thread-safe. */
KL_API kl_sim *kl_sim_ref(kl_sim *sim);
/* One reference less; the last one ends every stream and stops listening. Each
 * transport holds a reference. NULL is fine. Thread-safe. */
KL_API void kl_sim_unref(kl_sim *sim);

/* Moves the cluster's time forward: timestamps, bookmarks, ends of watches and
 * expiry follow this time. Timeouts of clients do not, because clients have
 * clocks of their own. KL_EINVAL: below 0, or over 100 years. Thread-safe. */
KL_API kl_code kl_sim_advance(kl_sim *sim, int64_t ms, kl_error *err);
/* The cluster's Unix time in milliseconds. Thread-safe. */
KL_API int64_t kl_sim_now(const kl_sim *sim);

/* The resourceVersion of the cluster's last change. Thread-safe. */
KL_API int64_t kl_sim_version(kl_sim *sim);
/* Makes every open watch that has asked for bookmarks send a bookmark with the
 * cluster's version, after all its events: a client that has read the bookmark
 * has read all events. Thread-safe. */
KL_API void kl_sim_bookmark(kl_sim *sim);

/* Creates or replaces the objects of a text of YAML or JSON documents (lists
 * are unpacked). CustomResourceDefinitions go first, then namespaces, whatever
 * the order in the text; missing namespaces are created. Status, uid and
 * creationTimestamp of the text are kept; if an object of the same name has
 * another uid, that object is deleted first. The server's warnings are logged
 * (KL_LOG_WARN), for example of unknown fields, which are left out. KL_EPARSE
 * with the line, KL_EINVAL naming the object, KL_ENOMEM; objects before the
 * error stay. Thread-safe. */
KL_API kl_code kl_sim_load(kl_sim *sim, const char *text, size_t length,
                           kl_error *err);

/* A change to replay. */
typedef enum kl_sim_change {
    KL_SIM_INITIAL, /* an object of the first list; versions in any order.
                       To be replayed before a watch begins; after the last
                       one, call kl_sim_compact */
    KL_SIM_PUT,     /* it was created or changed */
    KL_SIM_DELETED  /* it was deleted, at the version in its text */
} kl_sim_change;

/* Puts or deletes an object as another server did: UID, times, status and
 * resourceVersion are those of its JSON text. A version that is not newer than
 * the cluster's is replaced by the cluster's next version. Watches see the
 * change. Deleting a missing object does nothing. KL_EPARSE, KL_EINVAL (its
 * kind is not served, ...), KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_sim_replay(kl_sim *sim, kl_sim_change change,
                             const char *json, size_t length, kl_error *err);

/* A transport into the simulator, for kl_client_options; one reference for the
 * caller: kl_transport_unref. NULL: KL_ENOMEM. Thread-safe. */
KL_API kl_transport *kl_sim_transport(kl_sim *sim, kl_error *err);
/* The same for a client that is one of the users: adds the bearer token to each
 * request that has none. NULL: KL_ENOMEM. Thread-safe. */
KL_API kl_transport *kl_sim_transport_as(kl_sim *sim, const char *token,
                                         kl_error *err);

/* Carries one request out as the administrator: no fault applies to it, and
 * kl_sim_requests does not list it. KL_EINVAL: a watch, ...; KL_ETIMEOUT,
 * KL_ENOMEM. The caller owns the reply: kl_reply_clear. Thread-safe. */
KL_API kl_code kl_sim_call(kl_sim *sim, const kl_call *call, kl_reply *reply,
                           kl_error *err);

typedef struct kl_sim_listen_options {
    const char *address; /* NULL: "127.0.0.1" */
    int port;            /* 0: a free port */
    bool tls;            /* with a certificate made for this run */
} kl_sim_listen_options;

/* Serves HTTP/1.1 on a port until kl_sim_unlisten or the last kl_sim_unref.
 * Requests whose Host is no name of this server (its address, localhost, the
 * machine's name), or whose Origin is another site, get 403. KL_EIO (port in
 * use); KL_EINVAL, also if other machines reach the address, and the cluster
 * has no token, users or RBAC; KL_ETLS. Thread-safe. */
KL_API kl_code kl_sim_listen(kl_sim *sim, const kl_sim_listen_options *options,
                             kl_error *err);
/* "https://127.0.0.1:6443", borrowed until the cluster stops listening; NULL if
 * it does not listen. Thread-safe. */
KL_API const char *kl_sim_url(const kl_sim *sim);
/* The bearer token that control requests (paths below /kubelua) over the port
 * need; borrowed until the last kl_sim_unref; NULL if the cluster does not
 * listen. Thread-safe. */
KL_API const char *kl_sim_control_token(const kl_sim *sim);
/* A kubeconfig for the port, with its CA and the administrator's token; the
 * caller frees it with kl_free. NULL: KL_EINVAL (the cluster does not listen),
 * KL_ENOMEM. Thread-safe. */
KL_API char *kl_sim_kubeconfig(const kl_sim *sim, kl_error *err);
/* A kubeconfig for another user: with the user's token; if that is NULL, with a
 * client certificate made for the user, which needs a port with TLS. The caller
 * frees it with kl_free. NULL: KL_EINVAL, KL_ETLS, KL_ENOMEM. Thread-safe. */
KL_API char *kl_sim_kubeconfig_of(const kl_sim *sim, const kl_sim_user *user,
                                  kl_error *err);
/* Stops listening and breaks all connections of the port. The caller may call
 * kl_sim_listen again, also for the same port. Thread-safe. */
KL_API void kl_sim_unlisten(kl_sim *sim);

/* Breaks the connection of every open watch, so that its stream has no proper
 * end. New watches work. Thread-safe. */
KL_API void kl_sim_cut(kl_sim *sim);
/* With `on`: breaks all connections and refuses new ones, as if nothing
 * listened. Without: accepts connections again; if there are no descriptors or
 * threads for that, this is logged, and the caller can try again.
 * Thread-safe. */
KL_API void kl_sim_refuse(kl_sim *sim, bool on);
/* With `on`: sends no byte on any stream, but keeps the streams open. Without:
 * sends again. Thread-safe. */
KL_API void kl_sim_freeze(kl_sim *sim, bool on);
/* Forgets the history up to now, as etcd compaction does: a watch that begins
 * at an older version, and a continue token of an older version, get 410.
 * Thread-safe. */
KL_API void kl_sim_compact(kl_sim *sim);
/* An answer for the next `count` requests of a verb. */
typedef struct kl_sim_failure {
    const char *verb;        /* "list", "watch", "get", ...; NULL: any */
    int count;               /* at least 1 */
    int status;              /* 200 to 599 */
    int retry_after_seconds; /* 0: no Retry-After */
    const char *body;        /* NULL: a Status with that code */
} kl_sim_failure;

/* Makes requests fail; several failures are used in the order in which they
 * were added. KL_EINVAL, KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_sim_fail(kl_sim *sim, const kl_sim_failure *failure,
                           kl_error *err);

/*
 * Adds a fault: a JSON object with "action" ("fail", "expire", "cut", "freeze",
 * "delay", "event", "bookmarks", "wire", "refuse", "certificate", "tls"), a
 * filter of requests, and details; docs/FAULTS.md has the table. It applies to
 * later requests and, where that makes sense, to open streams; several faults
 * may apply to one request. *id is set to its number (`id` may be NULL).
 * KL_EPARSE, KL_EINVAL naming the fields, KL_ENOMEM. Thread-safe.
 */
KL_API kl_code kl_sim_fault(kl_sim *sim, const char *rule, size_t length,
                            int64_t *id, kl_error *err);
/* The faults in force as a JSON array: as they were added, with "id" and "hits"
 * (requests that matched). The caller frees it with kl_free. NULL: KL_ENOMEM.
 * Thread-safe. */
KL_API char *kl_sim_faults(kl_sim *sim, kl_error *err);
/* Ends the fault with that number, or all faults (0); a stream that the fault
 * held back goes on. False: there is no such fault. Thread-safe. */
KL_API bool kl_sim_heal(kl_sim *sim, int64_t id);

/* Saves the cluster's objects and kinds for kl_sim_restore; *version is set to
 * the cluster's version. The snapshot lives as long as the cluster. KL_ENOMEM.
 * Thread-safe. */
KL_API kl_code kl_sim_snapshot(kl_sim *sim, int64_t *version, kl_error *err);
/* Sets the cluster back to a snapshot, or to a version that is still in the
 * history (with the current kinds), like an etcd that was restored from a
 * backup: objects and version are as they were, the versions after it are used
 * again for other changes, the history is empty, and every connection breaks.
 * KL_EINVAL (no such version), KL_ENOMEM. Thread-safe. */
KL_API kl_code kl_sim_restore(kl_sim *sim, int64_t version, kl_error *err);

/* The last 1,000 requests of clients, oldest first, as a JSON array of {method,
 * target, status, path, query, verb, group, version, resource, subresource,
 * namespace, name, user_agent, run (the number in the header Kubelua-Run, in
 * this process only), at (Unix time), content_type, body (JSON, up to 64 KB)};
 * empty fields are left out. The caller frees it with kl_free. NULL: KL_ENOMEM.
 * Thread-safe. */
KL_API char *kl_sim_requests(kl_sim *sim, kl_error *err);
/* Forgets these requests. Thread-safe. */
KL_API void kl_sim_requests_clear(kl_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
