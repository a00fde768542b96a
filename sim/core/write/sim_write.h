/*
 * sim_write.h - the verbs CREATE, UPDATE, PATCH and DELETE, and changes that
 * the cluster makes itself. The cluster's mutex is held. A function that
 * refuses a request answers it and returns KL_OK. Errors: KL_ENOMEM; in a load
 * also KL_EINVAL, for an invalid namespace.
 */
#ifndef KL_SIM_WRITE_H
#define KL_SIM_WRITE_H

#include "sim/core/answer/sim_answer.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/store/sim_compose.h"

/* The verbs; `served` is the version of the request. */
kl_code kl__sim_create(kl__sim_answer *answer, kl__sim_resource *resource,
                       const kl__sim_version *served, kl_error *err);
kl_code kl__sim_update(kl__sim_answer *answer, kl__sim_resource *resource,
                       const kl__sim_version *served, kl_error *err);
kl_code kl__sim_patch(kl__sim_answer *answer, kl__sim_resource *resource,
                      const kl__sim_version *served, kl_error *err);
kl_code kl__sim_delete(kl__sim_answer *answer, kl__sim_resource *resource,
                       kl_error *err);
kl_code kl__sim_delete_all(kl__sim_answer *answer, kl__sim_resource *resource,
                           kl_error *err);

/* True if the members of metadata have the right types; else `why` (`size`
 * bytes) gets the message for the first that has not. */
bool kl__sim_metadata_fits(const kl__sim_kind *kind, const kl__node *root,
                           char *why, size_t size);
/* The current state of the object that the path names; borrowed. NULL: the
 * answer is a 404, or an error (*code). */
kl__sim_state *kl__sim_current(kl__sim_answer *answer,
                               kl__sim_resource *resource, kl_code *code,
                               kl_error *err);
/* Answers 415: the body is neither JSON, YAML nor protobuf. */
kl_code kl__sim_refuse_media(kl__sim_answer *answer, kl_error *err);
/* Answers 422 for a value of the parameter `name`, both texts as messages show
 * them. */
kl_code kl__sim_refuse_option(kl__sim_answer *answer, const char *name,
                              const char *given, const char *supported,
                              kl_error *err);
/* True if dryRun is valid; else the answer is a refusal (*code). */
bool kl__sim_check_dry(kl__sim_answer *answer, kl_code *code, kl_error *err);
/* True for a dry run (dryRun=All): nothing is stored. */
bool kl__sim_is_dry(const kl__sim_answer *answer);

/* Stores a state, and adds the chores that follow; takes the state, also when
 * it fails. KL_ENOMEM. */
kl_code kl__sim_commit(kl_sim *sim, kl__sim_resource *resource,
                       kl__sim_state *state, kl_error *err);
/* Removes an object from the store, and adds the chores that follow. With a
 * definition, its custom objects and their resource are removed too.
 * KL_ENOMEM. */
kl_code kl__sim_remove(kl_sim *sim, kl__sim_resource *resource, const char *key,
                       kl_error *err);
/* An object that the cluster creates itself; borrowed. */
typedef struct kl__sim_made {
    const char *group;
    const char *plural;
    const char *target; /* the collection's path: "/api/v1/namespaces" */
    const char *agent;  /* the User-Agent: "kube-apiserver" */
    const char *body;   /* JSON */
} kl__sim_made;
/* Creates the object as a request would, unless it exists. KL_ENOMEM;
 * KL_EINVAL: it was refused. */
kl_code kl__sim_make(kl_sim *sim, const kl__sim_made *made, kl_error *err);

/* Stores `edit`, a copy of `old` that the cluster has changed, unless both are
 * equal. Removes the object instead if it is being deleted and nothing keeps it
 * any more (kl__sim_is_over). KL_ENOMEM. */
kl_code kl__sim_put_back(kl_sim *sim, kl__sim_resource *resource,
                         const kl__sim_state *old, kl__edit *edit,
                         kl_error *err);

/* A controller that is part of the cluster, as managedFields name it. */
typedef struct kl__sim_hand {
    const char *manager; /* "kube-controller-manager" */
    /* the subresource that it writes; "": the object itself */
    const char *subresource;
} kl__sim_hand;

/* sim_track.c: kube-controller-manager for an object and for its status; and
 * kube-apiserver's own controllers for a status. */
extern const kl__sim_hand kl__sim_controller, kl__sim_status_controller,
    kl__sim_server;

/* sim_track.c: like kl__sim_put_back for a write that a real kube-apiserver
 * gets as a request: managedFields name the controller. KL_ENOMEM. */
kl_code kl__sim_put_as(kl_sim *sim, kl__sim_resource *resource,
                       const kl__sim_state *old, kl__edit *edit,
                       const kl__sim_hand *hand, kl_error *err);
/* The first half of kl__sim_put_as: sets managedFields in `edit`, the changed
 * copy of `old`, without storing it. */
kl_code kl__sim_track_own(kl_sim *sim, const kl__sim_resource *resource,
                          const kl__sim_state *old, kl__edit *edit,
                          const kl__sim_hand *hand, kl_error *err);

/* --- Namespaces. ---------------------------------------------------------- */

enum { KL__SIM_ABSENT, KL__SIM_ACTIVE, KL__SIM_TERMINATING };
/* The phase of a namespace, or that there is none. */
int kl__sim_namespace_phase(kl_sim *sim, const char *name);
/* Creates a namespace, unless it exists. KL_EINVAL: the name is invalid.
 * KL_ENOMEM. */
kl_code kl__sim_namespace_add(kl_sim *sim, const char *name, kl_error *err);

/* --- Definitions of custom resources. ------------------------------------- */

/* Runs the controller of definitions for all definitions that have changed.
 * After KL_ENOMEM, the next call does the rest. */
kl_code kl__sim_crd_settle(kl_sim *sim, kl_error *err);

#endif
