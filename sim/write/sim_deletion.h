/*
 * sim_deletion.h - the deletion of objects: at once, after a grace period
 * (docs/KUBERNETES.md#deletion-of-pods), or when the last finalizer is removed
 * (docs/KUBERNETES.md#finalizers). The cluster's mutex is held.
 */
#ifndef KL_SIM_DELETION_H
#define KL_SIM_DELETION_H

#include "sim/json/edit.h"
#include "sim/answer/sim_answer.h"

typedef enum kl__sim_policy {
    KL__SIM_BY_DEFAULT, /* by the finalizers and the kind of the object */
    KL__SIM_BACKGROUND,
    KL__SIM_FOREGROUND,
    KL__SIM_ORPHAN
} kl__sim_policy;

/* DeleteOptions; strings are borrowed from the request. */
typedef struct kl__sim_deletion {
    bool dry;
    bool has_grace;
    int64_t grace_seconds;
    bool has_orphan; /* orphanDependents, which is deprecated */
    bool orphan;
    kl__sim_policy policy;
    const char *uid; /* preconditions; NULL: none */
    const char *version;
} kl__sim_deletion;

/* The result of a deletion. */
typedef struct kl__sim_fate {
    bool is_gone;
    bool is_pending;      /* it was being deleted before, and nothing changed */
    kl__sim_state *shown; /* its last state; a reference */
    int64_t version;      /* the version to show it with; 0: its own */
} kl__sim_fate;

/* Reads the options from body and query. False: the answer is a refusal, or an
 * error (*code). */
bool kl__sim_deletion_read(kl__sim_deletion *deletion, kl__sim_answer *answer,
                           kl_code *code, kl_error *err);

/* Deletes an object, which exists, as far as possible; preconditions have been
 * checked. The caller owns `fate->shown`. KL_ENOMEM. */
kl_code kl__sim_delete_object(kl_sim *sim, kl__sim_resource *resource,
                              kl__sim_state *state,
                              const kl__sim_deletion *deletion,
                              kl__sim_fate *fate, kl_error *err);

/* True if an object's metadata has a finalizer. */
bool kl__sim_has_finalizer(const kl__node *metadata, const char *finalizer);
/* Removes a finalizer; true if it was there. */
bool kl__sim_drop_finalizer(kl__node *metadata, const char *finalizer);

/* The finalizer that protects objects in use: claims, volumes and classes of
 * volume attributes. NULL: the kind has none. */
const char *kl__sim_protection(const kl__sim_kind *kind);

/* True if an object that is being deleted waits for nothing any more. `root` is
 * its new tree. */
bool kl__sim_is_over(const kl__sim_kind *kind, const kl__node *root);

#endif
