/*
 * sim_core.h - struct kl_sim, the simulated cluster as its files share it: what
 * is stored, which requests came, and which faults are in force.
 */
#ifndef KL_SIM_CORE_H
#define KL_SIM_CORE_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "kubelua/sim.h"
#include "sim/core/request/sim_user.h"
#include "sim/core/store/sim_clock.h"
#include "sim/core/store/sim_hooks.h"
#include "sim/core/store/sim_store.h"

#include <stdatomic.h>

enum {
    KL__SIM_MAX_BODY = 3 * 1024 * 1024, /* the limit of kube-apiserver */
    KL__SIM_MAX_REQUESTS = 1000,  /* for kl_sim_requests: how many are kept, */
    KL__SIM_MAX_KEPT = 64 * 1024, /* and the largest body kept, in bytes */
    KL__SIM_WAIT_MS = 3000 /* how long a request waits for a version to come */
};

/* A request that has arrived, kept for kl_sim_requests. */
typedef struct kl__sim_asked {
    char *method; /* NULL: this place in the ring is empty */
    char *target;
    char *user_agent;
    int64_t run;        /* number of its sender; 0: none */
    char *content_type; /* of the body */
    kl_doc *body;       /* NULL: none, not JSON, or too large */
    int64_t at_ms;      /* Unix time by the cluster's clock */
    int status;         /* 0: a fault ended the request without an answer */
} kl__sim_asked;

struct kl__sim_account;
struct kl__sim_listener;

/* A change of the port that is to happen later: see sim_keeper.h. */
typedef struct kl__sim_order {
    bool is_due;      /* false: there is no order to carry out */
    bool is_soon;     /* at_ms is of the machine's clock, not the cluster's */
    bool is_end;      /* ends what an earlier order began */
    int how;          /* kl__sim_how, of a change of the certificate */
    int64_t at_ms;    /* when to carry it out */
    int64_t lasts_ms; /* how long it lasts; < 0: until another order ends it */
} kl__sim_order;

/* The orders for the port: at most one of each sort, as a new order replaces
 * the one before. */
typedef struct kl__sim_port {
    bool has_tls; /* the port serves TLS */
    bool stop;    /* tells the keeper's thread to end; it never starts again */
    bool runs;    /* the keeper's thread exists */
    kl__sim_order refuse;
    kl__sim_order certify;
    kl__thread thread;
} kl__sim_port;

struct kl_sim {
    atomic_int refs; /* acquire-release: the last unref frees */
    kl__forks made_in;
    const kl__sim_hooks *hooks; /* static */
    /* Options, immutable. */
    int64_t bookmark_ms;
    size_t history;
    bool no_streaming_list;
    bool no_controllers;
    char *token; /* NULL: none */
    kl__sim_clock clock;
    char *admin_token; /* made if the cluster has users or RBAC; else NULL */
    /* of control requests over the port; set before the first connection */
    char control_token[33];
    bool has_rbac;
    struct kl__sim_account *accounts; /* users with tokens of their own */
    size_t account_count;
    /* Rank SIM. Guards all that follows, except `listener`. */
    kl__mutex mutex;
    kl__sim_bell wake;  /* rung when a fault changes */
    kl__sim_bell grown; /* rung when the version grows, or a fault changes */
    int64_t compact_every_ms;
    int64_t compact_at_ms; /* the next compaction, by the cluster's clock */
    int64_t compact_to;    /* the version at the previous compaction */
    int64_t expire_at_ms;  /* no Event expires earlier; 0: there are none */
    /* the version of the last change; one counter for all resources */
    int64_t version;
    uint64_t bookmarks;   /* how many bookmarks every watch should have sent */
    kl__list resources;   /* kl__sim_resource, in the order of discovery */
    kl__map by_name;      /* the same resources by kind->qualified */
    bool definitions_due; /* the controller of definitions has to run */
    bool definitions_all; /* it must check all definitions, not only new ones */
    bool definitions_ending; /* a definition waits until its objects are gone */
    int64_t definitions_at;  /* the version up to which it has run */
    /* a request of kl_sim_load runs: an object may name an owner that is loaded
     * later, so it is not deleted yet */
    bool loading;
    kl__list chores;       /* kl__sim_chore: the work left for controllers */
    kl__map owned;         /* kl__sim_owned by the owner's UID */
    unsigned next_address; /* of the next Service's cluster IP and node ports */
    unsigned next_port;
    bool refused; /* connections are refused, and open ones were broken */
    bool frozen;  /* kl_sim_freeze: no answer gets a byte */
    /* How often all connections were broken (`breaks`), and all watches
     * (`cuts`). An open stream compares them with the counts at its start.
     * Written under the mutex. Relaxed: a request that begins at the same time
     * may count as before or after the break. */
    _Atomic uint64_t breaks;
    _Atomic uint64_t cuts;
    kl__list rules;    /* kl__sim_rule: the faults in force */
    int64_t last_rule; /* the last rule's id; 0: there was none */
    kl__sim_port port;
    /* kl__sim_snapshot: see sim_snapshot.c */
    kl__list snapshots;
    kl__sim_asked asked[KL__SIM_MAX_REQUESTS]; /* a ring of requests */
    size_t asked_count;
    size_t asked_next;
    /* Rank LIFECYCLE. Guards `listener`; held while it starts and stops. */
    kl__mutex listening;
    struct kl__sim_listener *listener; /* NULL: it does not listen */
};

/* The resource of a group and plural; NULL: not served. Borrowed. */
kl__sim_resource *kl__sim_find(kl_sim *sim, const char *group,
                               const char *plural);
/* The resource that serves a kind of an apiVersion ("apps/v1"); NULL: none. */
kl__sim_resource *kl__sim_find_kind(kl_sim *sim, const char *api_version,
                                    const char *kind);

/* Serves a new kind; KL_ENOMEM. The cluster takes a reference of its own. */
kl_code kl__sim_serve(kl_sim *sim, kl__sim_kind *kind, kl_error *err);
/* Stops serving the resource: its watches end. */
void kl__sim_unserve(kl_sim *sim, kl__sim_resource *resource);

/* Wakes every waiting thread and stream. */
void kl__sim_wake_all(kl_sim *sim);

/* Old events of the history are forgotten regularly, as kube-apiserver
 * compacts etcd (docs/KUBERNETES.md#compaction); a watch of a forgotten version
 * gets 410. The cluster's mutex is held. */
void kl__sim_compact_init(kl_sim *sim, int64_t every_ms);
/* Compacts if the time has come. Called before each request: only a request can
 * see the difference, so that is early enough. */
void kl__sim_compact_in_time(kl_sim *sim);

#endif
