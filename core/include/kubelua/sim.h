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

/* Zeroed fields are the defaults. */
typedef struct kl_sim_options {
    int64_t bookmark_ms;    /* between bookmarks; 0: 60 s, the real one's */
    size_t history;         /* events kept of each kind; 0: 10,000 */
    bool no_streaming_list; /* 422 on sendInitialEvents, as before 1.27 */
    const char *token;      /* bearer token asked for; NULL: none */
} kl_sim_options;

/* A cluster with the namespaces default and kube-system. The caller owns one
 * reference. NULL: KL_ENOMEM, KL_EIO. Thread-safe. */
KL_API kl_sim *kl_sim_new(const kl_sim_options *options, kl_error *err);
/* One reference more; returns `sim`. Thread-safe. */
KL_API kl_sim *kl_sim_ref(kl_sim *sim);
/* One reference less; the last one ends every stream and stops listening.
 * Transports hold one of their own. NULL is fine. Thread-safe. */
KL_API void kl_sim_unref(kl_sim *sim);

/* Creates or replaces the objects of a text of YAML or JSON documents (lists
 * are unpacked, several documents are fine). CustomResourceDefinitions go in
 * first, then namespaces, whatever the order; a namespace that is missing is
 * made. Status, uid and creationTimestamp are taken as given; an object of
 * another uid is deleted and created. KL_EPARSE with line, KL_EINVAL naming the
 * object, KL_ENOMEM; what came before it stays. Thread-safe. */
KL_API kl_code kl_sim_load(kl_sim *sim, const char *text, size_t length,
                           kl_error *err);

/* A transport straight into it, for kl_client_options; one reference for the
 * caller: kl_transport_unref. NULL: KL_ENOMEM. Thread-safe. */
KL_API kl_transport *kl_sim_transport(kl_sim *sim, kl_error *err);
/* One reference less; the last one frees it. NULL is fine. Thread-safe. */
KL_API void kl_transport_unref(kl_transport *transport);

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

/* What was asked so far, oldest first, as a JSON array of {method, target,
 * status}; the last 1,000. The caller frees it with kl_free. Thread-safe. */
KL_API char *kl_sim_requests(kl_sim *sim, kl_error *err);
/* Forgets what was asked. Thread-safe. */
KL_API void kl_sim_requests_clear(kl_sim *sim);

#ifdef __cplusplus
}
#endif
#endif
