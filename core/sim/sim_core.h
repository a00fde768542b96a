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
#include "sim/sim_store.h"

#include <stdatomic.h>

enum {
    KL__SIM_MAX_BODY = 3 * 1024 * 1024, /* as kube-apiserver */
    KL__SIM_MAX_REQUESTS = 1000,        /* that are remembered */
    KL__SIM_WAIT_MS = 3000 /* for a version that is not there yet */
};

/* An answer that kl_sim_fail has in store. */
typedef struct kl__sim_failure {
    kl__list node;
    char *verb; /* NULL: any */
    int count;
    int status;
    int retry_after_seconds; /* <= 0: none */
    char *body;              /* NULL: the Status that fits */
} kl__sim_failure;

typedef struct kl__sim_asked {
    char *method;
    char *target;
    int status;
} kl__sim_asked;

struct kl__sim_listener;

struct kl_sim {
    atomic_int refs; /* acquire-release: the last one frees */
    /* Options; immutable. */
    int64_t bookmark_ms;
    size_t history;
    bool no_streaming_list;
    char *token; /* NULL: none */
    /* Rank SIM; guards all that follows but the listener. */
    kl__mutex mutex;
    kl__cond wake;      /* the version grew, or a fault changed */
    int64_t version;    /* of the last change; one counter for everything */
    kl__list resources; /* kl__sim_resource, as discovery shows them */
    kl__map by_name;    /* the same by kind->qualified */
    bool refused;
    bool frozen;
    uint64_t breaks; /* how often everything open was broken, and how often */
    uint64_t cuts;   /* every watch: an open one remembers the count */
    kl__list failures;
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
/* Serves a changed kind instead; KL_ENOMEM changes nothing. */
kl_code kl__sim_reserve(kl_sim *sim, kl__sim_resource *resource,
                        kl__sim_kind *kind, kl_error *err);

/* Wakes everyone who waits for anything. */
void kl__sim_wake_all(kl_sim *sim);

#endif
