/*
 * sim_write.h - CREATE, UPDATE, PATCH, DELETE and what follows from them. The
 * cluster's mutex is held; a refusal is an answer and KL_OK, only KL_ENOMEM
 * fails.
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

/* Whether the members of metadata have their types; else why not. */
bool kl__sim_metadata_fits(const kl__sim_kind *kind, const kl__node *root,
                           char *why, size_t size);
/* Adds causes where a kind does not allow that name (NULL: there is none), and
 * where labels are none. */
void kl__sim_check_name(const kl__sim_kind *kind, const char *name,
                        kl__sim_status *status);
/* The current state that the path names, or NULL: the answer is a 404. */
kl__sim_state *kl__sim_current(kl__sim_answer *answer,
                               kl__sim_resource *resource, kl_code *code,
                               kl_error *err);
/* 415 of a body that is neither JSON, YAML nor protobuf. */
kl_code kl__sim_refuse_media(kl__sim_answer *answer, kl_error *err);
/* Whether dryRun is one that there is; else the answer says so (*code). */
bool kl__sim_check_dry(kl__sim_answer *answer, kl_code *code, kl_error *err);
/* Whether the request asks to change nothing (dryRun=All). */
bool kl__sim_is_dry(const kl__sim_answer *answer);

/* Makes the state current (takes it, also when it fails) and does what its kind
 * asks for: a CRD is served. KL_ENOMEM. */
kl_code kl__sim_commit(kl_sim *sim, kl__sim_resource *resource,
                       kl__sim_state *state, kl_error *err);
/* Removes an object for good, and what lives by it. KL_ENOMEM. */
kl_code kl__sim_remove(kl_sim *sim, kl__sim_resource *resource, const char *key,
                       kl_error *err);
/* An object that the cluster makes itself; borrowed. */
typedef struct kl__sim_made {
    const char *group;
    const char *plural;
    const char *target; /* of the collection: "/api/v1/namespaces" */
    const char *agent;  /* who makes it: "kube-apiserver" */
    const char *body;   /* JSON */
} kl__sim_made;
/* Makes it as a request would, unless it is there. KL_ENOMEM; KL_EINVAL: it is
 * refused. */
kl_code kl__sim_make(kl_sim *sim, const kl__sim_made *made, kl_error *err);

/* Makes what the store itself changed of an object current, unless nothing was;
 * or removes it, where it is being deleted and waits for nothing more.
 * KL_ENOMEM. */
kl_code kl__sim_put_back(kl_sim *sim, kl__sim_resource *resource,
                         const kl__sim_state *old, kl__edit *edit,
                         kl_error *err);

/* Who writes for the server itself: one of its controllers. */
typedef struct kl__sim_hand {
    const char *manager;     /* "kube-controller-manager" */
    const char *subresource; /* through which; "": the object itself */
} kl__sim_hand;

/* sim_track.c: kube-controller-manager, of an object and of its status; and
 * kube-apiserver's own controllers, of a status. */
extern const kl__sim_hand kl__sim_controller, kl__sim_status_controller,
    kl__sim_server;

/* sim_track.c: kl__sim_put_back of a write that kube-apiserver gets as a
 * request, and so tracks: managedFields say who it was. KL_ENOMEM. */
kl_code kl__sim_put_as(kl_sim *sim, kl__sim_resource *resource,
                       const kl__sim_state *old, kl__edit *edit,
                       const kl__sim_hand *hand, kl_error *err);
/* The first half of it: makes `edit`, which was `old`, complete. */
kl_code kl__sim_track_own(kl_sim *sim, const kl__sim_resource *resource,
                          const kl__sim_state *old, kl__edit *edit,
                          const kl__sim_hand *hand, kl_error *err);

/* --- Namespaces. ---------------------------------------------------------- */

enum { KL__SIM_ABSENT, KL__SIM_ACTIVE, KL__SIM_TERMINATING };
/* Whether a namespace is there. */
int kl__sim_namespace_phase(kl_sim *sim, const char *name);
/* Makes a namespace. KL_ENOMEM. */
kl_code kl__sim_namespace_add(kl_sim *sim, const char *name, kl_error *err);

/* --- Definitions of custom resources. ------------------------------------- */

/* A definition has a new state. */
kl_code kl__sim_crd_apply(kl_sim *sim, const kl__sim_state *state,
                          kl_error *err);
/* A definition goes: what is left of its objects too, and it is served no
 * longer. KL_ENOMEM. */
kl_code kl__sim_crd_withdraw(kl_sim *sim, const char *name, kl_error *err);
/* Makes a definition that is about to be deleted wait for its objects.
 * KL_ENOMEM. */
kl_code kl__sim_crd_guard(kl_sim *sim, kl__edit *edit, kl_error *err);
/* Does what definitions that have changed ask for. KL_ENOMEM: the rest comes
 * with the next call. */
kl_code kl__sim_crd_settle(kl_sim *sim, kl_error *err);

#endif
