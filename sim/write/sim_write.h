/*
 * sim_write.h - the verbs CREATE, UPDATE, PATCH and DELETE, and changes that
 * the cluster makes itself. The cluster's mutex is held. A refusal is an answer
 * and KL_OK; only KL_ENOMEM fails.
 */
#ifndef KL_SIM_WRITE_H
#define KL_SIM_WRITE_H

#include "sim/answer/sim_answer.h"
#include "sim/answer/sim_status.h"
#include "sim/store/sim_compose.h"

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

/* True if the members of metadata have the right types; else `why` says which
 * has not. */
bool kl__sim_metadata_fits(const kl__sim_kind *kind, const kl__node *root,
                           char *why, size_t size);
/* Adds causes for a name that a kind does not allow (NULL: there is none), and
 * for invalid labels. */
void kl__sim_check_name(const kl__sim_kind *kind, const char *name,
                        kl__sim_status *status);
/* The current state of the path's object. NULL: the answer is a 404, or an
 * error (*code). */
kl__sim_state *kl__sim_current(kl__sim_answer *answer,
                               kl__sim_resource *resource, kl_code *code,
                               kl_error *err);
/* Answers 415: the body is neither JSON, YAML nor protobuf. */
kl_code kl__sim_refuse_media(kl__sim_answer *answer, kl_error *err);
/* True if dryRun is valid; else the answer is a refusal (*code). */
bool kl__sim_check_dry(kl__sim_answer *answer, kl_code *code, kl_error *err);
/* True for a dry run (dryRun=All): nothing is stored. */
bool kl__sim_is_dry(const kl__sim_answer *answer);

/* Stores a state (takes it, also when it fails) and does what its kind needs: a
 * CRD is served. KL_ENOMEM. */
kl_code kl__sim_commit(kl_sim *sim, kl__sim_resource *resource,
                       kl__sim_state *state, kl_error *err);
/* Removes an object for good, with what exists because of it. KL_ENOMEM. */
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

/* Stores an object that the cluster itself has changed, if it has changed; or
 * removes it, if it is being deleted and waits for nothing any more.
 * KL_ENOMEM. */
kl_code kl__sim_put_back(kl_sim *sim, kl__sim_resource *resource,
                         const kl__sim_state *old, kl__edit *edit,
                         kl_error *err);

/* A controller of the server, as the manager of its writes. */
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
/* Its first half: turns `edit`, a copy of `old`, into the complete new
 * object. */
kl_code kl__sim_track_own(kl_sim *sim, const kl__sim_resource *resource,
                          const kl__sim_state *old, kl__edit *edit,
                          const kl__sim_hand *hand, kl_error *err);

/* --- Namespaces. ---------------------------------------------------------- */

enum { KL__SIM_ABSENT, KL__SIM_ACTIVE, KL__SIM_TERMINATING };
/* The phase of a namespace, or that there is none. */
int kl__sim_namespace_phase(kl_sim *sim, const char *name);
/* Creates a namespace. KL_ENOMEM. */
kl_code kl__sim_namespace_add(kl_sim *sim, const char *name, kl_error *err);

/* --- Definitions of custom resources. ------------------------------------- */

/* Called after a definition has a new state. */
kl_code kl__sim_crd_apply(kl_sim *sim, const kl__sim_state *state,
                          kl_error *err);
/* Called when a definition goes: removes the rest of its objects, and stops
 * serving it. KL_ENOMEM. */
kl_code kl__sim_crd_withdraw(kl_sim *sim, const char *name, kl_error *err);
/* Makes a definition that is about to be deleted wait for its objects.
 * KL_ENOMEM. */
kl_code kl__sim_crd_guard(kl_sim *sim, kl__edit *edit, kl_error *err);
/* Runs the controller of definitions for those that changed. KL_ENOMEM: the
 * rest waits for the next call. */
kl_code kl__sim_crd_settle(kl_sim *sim, kl_error *err);

#endif
