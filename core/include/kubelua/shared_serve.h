/*
 * shared_serve.h - elects the owner of a shared map (kubelua/shared.h), the one
 * process that writes it, and keeps the endpoints of Services in it.
 *
 * Each process calls kl_shared_serve, which starts a thread. The thread waits
 * for a file lock on the map. The kernel gives the lock to one process, and
 * takes it back when that process dies, however it dies. The process with the
 * lock is the owner: it watches Services and EndpointSlices. A new owner lists
 * them again before it publishes; until then readers see what the former owner
 * published. An API server that is down, a list that fails half-way and an
 * owner that hangs change nothing for readers, except that kl_shared_age_ms
 * grows.
 *
 * The table "services" has these keys for each Service "namespace/name":
 *   "namespace/name:http"  the port of that name
 *   "namespace/name:80"    the port of that number (of two protocols: TCP)
 *   "namespace/name"       the only port, or a Service without ports
 * An endpoint has the port number that its EndpointSlice says (targetPort, not
 * port). A list has endpoints of one address family: the first one in the
 * Service's ipFamilies that has a ready endpoint, else the family that serves
 * best.
 *
 * Tenants write Services and EndpointSlices, and must not be able to lead a
 * proxy anywhere. So addresses that are loopback, link-local, unspecified,
 * multicast or broadcast, also inside of an IPv6 address, are left out, with a
 * warning. Host names are served with the option external_names only: then a
 * Service of type ExternalName has one endpoint, its name. A name that is an
 * address in any writing, or "localhost", is never served. What a name resolves
 * to is the caller's to check.
 *
 * Weights come from the annotation kubelua.dev/weights of a Service,
 * "NAME=WEIGHT,...", where NAME is an address, a pod, a node or a zone, and may
 * end in "*" (the first NAME that matches an endpoint counts); else from
 * kubelua.dev/weight of the EndpointSlice. WEIGHT is 0 to 1000; the default 1.
 */
#ifndef KUBELUA_SHARED_SERVE_H
#define KUBELUA_SHARED_SERVE_H

#include "kubelua/client.h"
#include "kubelua/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeroed fields are the defaults. The library copies all of it. */
typedef struct kl_serve_options {
    const char *const *namespaces; /* of the Services; NULL: all namespaces */
    size_t namespace_count;
    bool no_services; /* the map holds only what kl_shared_put puts there */
    /* 0: a Service that loses its last usable (ready or serving) endpoint is
     * empty at once, as with kube-proxy. Else its last endpoints stay for so
     * many milliseconds, with the flag KL_ENDPOINT_KEPT, until it has a usable
     * one again or is deleted; an address is dropped as soon as an
     * EndpointSlice of another Service has it, unless for the same pod. A new
     * owner clears what the former one has kept. */
    int keep_ms;
    /* The shortest time between two publishes; a change after a longer pause is
     * published at once. 0: 2 ms. The time is also at least four times as long
     * as the last publish took, up to 25 ms. */
    int publish_ms;
    /* A label selector: only Services that match have routes. It does not limit
     * which EndpointSlices are watched. NULL: all Services. */
    const char *labels;
    /* Serves DNS names: of ExternalName Services, and of EndpointSlices with
     * the addressType FQDN. Their endpoints have the flag KL_ENDPOINT_DNS. */
    bool external_names;
} kl_serve_options;

/*
 * Starts a thread that tries to get the lock about every 8 ms. Once it has the
 * lock, this process is the owner, until kl_shared_leave, the end of the
 * process, or kl_client_close (with no_services that changes nothing). Takes a
 * reference to the client, which makes no connection before this process is
 * the owner; it may be NULL with no_services. If the map was opened again
 * later for a new generation of workers (its epoch is higher), this process
 * never gets the lock, as its configuration is old. KL_EINVAL (no client, a
 * selector that does not parse, or it serves already), KL_ENOMEM, KL_EIO (no
 * thread), KL_EFORKED. For one map, one thread at a time may call this
 * function and those below.
 */
KL_API kl_code kl_shared_serve(kl_shared *map, kl_client *client,
                               const kl_serve_options *options, kl_error *err);

/* Stops what kl_shared_serve started: gives up the lock, so that another
 * process takes over, then ends the watches. Takes at most 50 ms, with many
 * namespaces about 1 ms for each, plus a publish that is under way. Does
 * nothing if this process does not serve, and in a child of fork(). Reads
 * (shared.h) may run beside it, other calls of this header and of
 * shared_write.h may not. */
KL_API void kl_shared_leave(kl_shared *map);

/* The role of a process for a map. */
typedef enum kl_serve_role {
    KL_ROLE_NONE,    /* it does not serve, or its client was closed */
    KL_ROLE_WAITING, /* another process is the owner, or none is yet */
    KL_ROLE_OWNER    /* it may put, remove and publish */
} kl_serve_role;

/* The role of this process at this moment. An owner stays the owner until
 * kl_shared_leave, or kl_client_close without no_services. */
KL_API kl_serve_role kl_shared_role(const kl_shared *map);

/* True if a process is the owner now, be it this one: also one that stands
 * still, and not one that has died. A system call. Thread-safe. */
KL_API bool kl_shared_has_owner(const kl_shared *map);

/*
 * Makes the owner's thread publish all puts and removals before this call, at
 * the pace of publish_ms: for callers that must not block, such as an event
 * loop. (kl_shared_publish publishes on the caller's thread. It writes the
 * whole map: about 5 ms with 10,000 Services of one port, and longer while the
 * owner's thread publishes too.) Does nothing if this process is not the owner.
 *
 * Locks: kl_shared_put and kl_shared_remove append a change to a list. A mutex
 * guards that list, and is held while one change is appended or the whole list
 * is taken, not during a publish. So neither call waits for a publish, on any
 * thread. A publish takes all changes that are in the list when it begins, of
 * callers and of the owner's thread.
 */
KL_API void kl_shared_publish_soon(kl_shared *map);

#define KL_SHARED_NO_WATCH INT64_MAX

/*
 * For an owner that also watches other kinds than Services, such as
 * informers whose objects it puts: tells that the server was last heard
 * `age_ms` milliseconds ago, on the one of them that has been silent for
 * longest; below 0: on one of them never. kl_shared_age_ms is then the greater
 * one of this age and that of Services, and grows while the caller tells
 * nothing new. KL_SHARED_NO_WATCH: it has no such watches, as at the start.
 * Any thread may call it. Does nothing if this process does not serve the map.
 */
KL_API void kl_shared_tell_age(kl_shared *map, int64_t age_ms);

#ifdef __cplusplus
}
#endif
#endif
