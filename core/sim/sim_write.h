/*
 * sim_write.h - CREATE, UPDATE, PATCH, DELETE and what follows from them. The
 * cluster's mutex is held; a refusal is an answer and KL_OK, only KL_ENOMEM
 * fails.
 */
#ifndef KL_SIM_WRITE_H
#define KL_SIM_WRITE_H

#include "sim/sim_answer.h"
#include "sim/sim_compose.h"

#include <string.h>

/* The verbs; `served` is the version of the request. */
kl_code kl__sim_create(kl__sim_answer *answer, kl__sim_resource *resource,
                       kl_error *err);
kl_code kl__sim_update(kl__sim_answer *answer, kl__sim_resource *resource,
                       const kl__sim_version *served, kl_error *err);
kl_code kl__sim_patch(kl__sim_answer *answer, kl__sim_resource *resource,
                      const kl__sim_version *served, kl_error *err);
kl_code kl__sim_delete(kl__sim_answer *answer, kl__sim_resource *resource,
                       kl_error *err);
kl_code kl__sim_delete_all(kl__sim_answer *answer, kl__sim_resource *resource,
                           kl_error *err);

/* Whether the body is an object of this kind: kind, apiVersion, the types of
 * metadata. False: the answer says why not, or there is no memory (*code). */
bool kl__sim_check_body(kl__sim_answer *answer, const kl__sim_kind *kind,
                        kl_code *code, kl_error *err);
/* Whether the members of metadata have their types; else why not. */
bool kl__sim_metadata_fits(const kl__sim_kind *kind, const kl_value *root,
                           char *why, size_t size);
/* Whether a kind allows that name; the same. */
bool kl__sim_check_name(kl__sim_answer *answer, const kl__sim_kind *kind,
                        const char *name, kl_code *code, kl_error *err);
/* Whether the labels of an object are labels; the same. */
bool kl__sim_check_labels(kl__sim_answer *answer, const kl__sim_kind *kind,
                          const kl_value *root, kl_code *code, kl_error *err);
/* The current state that the path names, or NULL: the answer is a 404. */
kl__sim_state *kl__sim_current(kl__sim_answer *answer,
                               kl__sim_resource *resource, kl_code *code,
                               kl_error *err);
/* What the server adds to an object of a kind, as a merge patch; NULL: the
 * answer says what is wrong with the object, or there is no memory (*code). */
kl_doc *kl__sim_additions(kl__sim_answer *answer, const kl__sim_kind *kind,
                          const kl_value *root, kl_code *code, kl_error *err);
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
/* Marks an object as being deleted: a new state, current. KL_ENOMEM. */
kl_code kl__sim_mark_deleted(kl_sim *sim, kl__sim_resource *resource,
                             const char *key, kl_error *err);

/* --- Namespaces. ---------------------------------------------------------- */

enum { KL__SIM_ABSENT, KL__SIM_ACTIVE, KL__SIM_TERMINATING };
/* Whether a namespace is there. */
int kl__sim_namespace_phase(kl_sim *sim, const char *name);
/* Makes a namespace. KL_ENOMEM. */
kl_code kl__sim_namespace_add(kl_sim *sim, const char *name, kl_error *err);
/* Deletes what is in a namespace, and itself once nothing is left. */
kl_code kl__sim_namespace_empty(kl_sim *sim, const char *name, kl_error *err);

/* --- Definitions of custom resources. ------------------------------------- */

/* What a valid CRD gets beyond what it says, as a merge patch; NULL: the answer
 * is a 422, or there is no memory (*code). `root` is the request's. */
kl_doc *kl__sim_crd_prepare(kl__sim_answer *answer, const kl_value *root,
                            kl_code *code, kl_error *err);
/* Serves what the definition says now. KL_ENOMEM. */
kl_code kl__sim_crd_apply(kl_sim *sim, const kl__sim_state *state,
                          kl_error *err);
/* Deletes its objects and serves it no longer. KL_ENOMEM. */
kl_code kl__sim_crd_withdraw(kl_sim *sim, const char *name, kl_error *err);

/* Whether a resource is that built-in one. */
static inline bool kl__sim_is_crd(const kl__sim_kind *kind)
{
    return (kind->flags & KL__SIM_CUSTOM) == 0 &&
           strcmp(kind->plural, "customresourcedefinitions") == 0;
}

static inline bool kl__sim_is_namespace(const kl__sim_kind *kind)
{
    return *kind->group == '\0' && strcmp(kind->plural, "namespaces") == 0;
}

#endif
