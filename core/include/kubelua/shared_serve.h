/*
 * shared_serve.h - how the processes that share a map (kubelua/shared.h) find
 * the one that writes it, its owner, and what that one keeps in it: the
 * endpoints of Services.
 *
 * Each process calls kl_shared_serve, which starts a thread. The thread waits
 * for a file lock on the map. The kernel gives the lock to one process, and
 * takes it back when that process dies, however it dies. The owner watches
 * Services and EndpointSlices; another takes over, lists them again, and only
 * then publishes: meanwhile, readers have what the owner before published. A
 * server that is away, a list that fails half-way and an owner that stands
 * still change nothing for readers; kl_shared_age_ms tells.
 *
 * The table "services" has for each Service, as "namespace/name" before it:
 *   ":http"  the port of that name
 *   ":80"    the port of that number (of two protocols: TCP)
 *   ""       the only port, or a Service without ports
 * An endpoint has the port number that its EndpointSlice says (targetPort, not
 * port). A list has endpoints of one address family: the first one in the
 * Service's ipFamilies that has a ready endpoint. A Service of type
 * ExternalName has one endpoint, its host name.
 *
 * Weights: the annotation kubelua.dev/weights of a Service, "NAME=WEIGHT,...",
 * where NAME is an address, a pod, a node or a zone, and may end in "*" (the
 * first that fits an endpoint counts); or kubelua.dev/weight of an
 * EndpointSlice. WEIGHT is 0 to 1000; without any, 1.
 */
#ifndef KUBELUA_SHARED_SERVE_H
#define KUBELUA_SHARED_SERVE_H

#include "kubelua/client.h"
#include "kubelua/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed fields are the defaults. All is copied. */
typedef struct kl_serve_options {
    const char *const *namespaces; /* whose Services; NULL: all of them */
    size_t namespace_count;
    bool no_services; /* the map holds what its users put, and nothing else */
    /* A Service that had endpoints and has no usable one any more (not ready,
     * not serving either) keeps in the map those that it had last, until it has
     * one again or is deleted: an update that empties a list is more often an
     * accident than a wish. True: such a list is empty at once. */
    bool clear_empty;
    /* At most one publish in so many milliseconds; the first change after a
     * while is published at once. 0: 2. The pause is also at least four times
     * what the last publish took. */
    int publish_ms;
} kl_serve_options;

/*
 * Begins to serve: waits for the lock on a thread of the library, about every 8
 * ms, owns the map from then on, until kl_shared_leave, the end of the process,
 * or kl_client_close. Takes a reference to the client, which makes no
 * connection before this process is the owner; it may be NULL with no_services.
 * A process whose map was opened again since, before a later fork, never gets
 * the lock: its configuration is the older one. KL_EINVAL (no client, it serves
 * already), KL_ENOMEM, KL_EIO (no thread), KL_EFORKED. One thread at a time may
 * call this and what follows for a map.
 */
KL_API kl_code kl_shared_serve(kl_shared *map, kl_client *client,
                               const kl_serve_options *options, kl_error *err);

/* Ends that: gives up the lock, so that another process takes over, then the
 * watches; this process does not take it again. At most 50 ms plus a publish
 * that is under way. Fine if it does not serve, and in a child of fork(). */
KL_API void kl_shared_leave(kl_shared *map);

/* What a process is to a map. */
typedef enum kl_serve_role {
    KL_ROLE_NONE,    /* it does not serve, or its client was closed */
    KL_ROLE_WAITING, /* another process is the owner, or none is yet */
    KL_ROLE_OWNER    /* it may put, remove and publish */
} kl_serve_role;

/* What this process is now; another may follow at any moment, but for that an
 * owner stays one until it leaves or its client is closed. */
KL_API kl_serve_role kl_shared_role(const kl_shared *map);

/*
 * Has the owner's thread publish what was put and removed before this call,
 * within the pace of publish_ms: for callers that must not wait, as an event
 * loop. (kl_shared_publish does it on the caller's thread, which takes as long
 * as it takes to write the whole map, about 5 ms with 10,000 Services of one
 * port, and longer while the owner's thread does the same.) Nothing happens in
 * a process that is not the owner.
 *
 * Locks: kl_shared_put and kl_shared_remove append a change to a list. A mutex
 * guards that list, and is held while one change is appended or the whole list
 * is taken, not during a publish. So both calls never wait for a publish, on
 * any thread. A publish takes all changes that are in the list when it begins,
 * of scripts and of the owner's thread.
 */
KL_API void kl_shared_publish_soon(kl_shared *map);

#ifdef __cplusplus
}
#endif
#endif
