/*
 * sim_core.h - the simulated cluster as its files share it: what is stored,
 * what was asked, and which faults are on.
 */
#ifndef KL_SIM_CORE_H
#define KL_SIM_CORE_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "kubelua/sim.h"
#include "sim/request/sim_user.h"
#include "sim/store/sim_clock.h"
#include "sim/store/sim_store.h"

#include <stdatomic.h>

enum {
    KL__SIM_MAX_BODY = 3 * 1024 * 1024, /* as kube-apiserver */
    KL__SIM_MAX_REQUESTS = 1000,        /* that are remembered, */
    KL__SIM_MAX_KEPT = 64 * 1024,       /* each with a body up to that */
    KL__SIM_WAIT_MS = 3000 /* for a version that is not there yet */
};

/* A request that was answered. */
typedef struct kl__sim_asked {
    char *method; /* NULL: an empty place */
    char *target;
    char *user_agent;
    int64_t run;        /* of its sender; 0: none */
    char *content_type; /* of the body */
    kl_doc *body;       /* NULL: none, no JSON, or too large to be kept */
    int64_t at_ms;      /* Unix time of the cluster */
    int status;
} kl__sim_asked;

struct kl__sim_account;
struct kl__sim_listener;

/* Something that is to be done with the port, and when: see sim_keeper.h. */
typedef struct kl__sim_order {
    bool is_due;  /* it is carried out at `at_ms` */
    bool is_soon; /* which is of the machine's clock, not of the cluster's */
    bool is_end;  /* it is to end what it was for */
    int how;
    int64_t at_ms;
    int64_t lasts_ms; /* < 0: until it is told to end */
} kl__sim_order;

/* The latest order of each sort counts. */
typedef struct kl__sim_port {
    bool has_tls; /* it listens, with TLS */
    bool stop;    /* the thread ends, and no other begins */
    bool runs;    /* there is a thread */
    kl__sim_order refuse;
    kl__sim_order certify;
    kl__thread thread;
} kl__sim_port;

struct kl_sim {
    atomic_int refs; /* acquire-release: the last one frees */
    kl__forks made_in;
    /* Options; immutable. */
    int64_t bookmark_ms;
    size_t history;
    bool no_streaming_list;
    bool no_controllers;
    char *token; /* NULL: none */
    kl__sim_clock clock;
    char *admin_token; /* made up where users are asked for; NULL: none */
    bool has_rbac;
    struct kl__sim_account *accounts; /* who has a token of their own */
    size_t account_count;
    /* Rank SIM; guards all that follows but the listener. */
    kl__mutex mutex;
    kl__sim_bell wake;  /* a fault changed */
    kl__sim_bell grown; /* the version grew, or a fault changed */
    bool has_secret;
    unsigned char secret[32]; /* signs the tokens of service accounts */
    int64_t compact_every_ms;
    int64_t compact_at_ms; /* the next time, on its clock */
    int64_t compact_to;    /* the version of the time before */
    int64_t expire_at_ms;  /* no Event ends before that; 0: there is none */
    int64_t version;       /* of the last change; one counter for everything */
    uint64_t bookmarks;    /* how often every watch was to send one */
    kl__list resources;    /* kl__sim_resource, as discovery shows them */
    kl__map by_name;       /* the same by kind->qualified */
    bool definitions_due;  /* the controller of definitions has to look */
    bool definitions_all;  /* at all of them, not at what is new only */
    bool definitions_ending; /* one waits for the end of its objects */
    int64_t definitions_at;  /* the version up to which it has looked */
    bool loading;            /* owners that are not there are not missed */
    kl__list chores;       /* kl__sim_chore: what controllers have left to do */
    kl__map owned;         /* kl__sim_owned by the owner's UID */
    unsigned next_address; /* of Services, and their ports on nodes */
    unsigned next_port;
    bool refused;
    bool frozen;
    /* How often everything open was broken, and how often every watch: an open
     * one remembers the count. Changed under the mutex; relaxed: a request that
     * begins meanwhile is before the break or after it. */
    _Atomic uint64_t breaks;
    _Atomic uint64_t cuts;
    kl__list rules;    /* of sim_rule.h: the faults that were ordered */
    int64_t last_rule; /* its id; 0: there never was one */
    kl__sim_port port;
    kl__list snapshots;                        /* of sim_snapshot.c */
    kl__sim_asked asked[KL__SIM_MAX_REQUESTS]; /* a ring */
    size_t asked_count;
    size_t asked_next;
    /* Rank LIFECYCLE; guards listener, held while it starts and stops. */
    kl__mutex listening;
    struct kl__sim_listener *listener; /* NULL: none */
};

/* The resource of a group and plural, or NULL; borrowed. */
kl__sim_resource *kl__sim_find(kl_sim *sim, const char *group,
                               const char *plural);
/* The resource that serves a kind under an apiVersion ("apps/v1"), or NULL. */
kl__sim_resource *kl__sim_find_kind(kl_sim *sim, const char *api_version,
                                    const char *kind);

/* Serves a new kind; KL_ENOMEM. The cluster takes a reference of its own. */
kl_code kl__sim_serve(kl_sim *sim, kl__sim_kind *kind, kl_error *err);
/* Serves it no longer: its watches end. */
void kl__sim_unserve(kl_sim *sim, kl__sim_resource *resource);

/* Wakes everyone who waits for anything. */
void kl__sim_wake_all(kl_sim *sim);

#endif
