/*
 * sim_deletion.h - the deletion of objects: at once, after a grace period
 * (docs/KUBERNETES.md#deletion-of-pods), or when the last finalizer is removed
 * (docs/KUBERNETES.md#finalizers). The cluster's mutex is held.
 */
#ifndef KL_SIM_DELETION_H
#define KL_SIM_DELETION_H

#include "sim/core/json/edit.h"
#include "sim/core/answer/sim_answer.h"

typedef enum kl__sim_policy {
    KL__SIM_BY_DEFAULT, /* the object's finalizers and kind decide */
    KL__SIM_BACKGROUND,
    KL__SIM_FOREGROUND,
    KL__SIM_ORPHAN
} kl__sim_policy;

/* The DeleteOptions of a request; strings are borrowed from the request. */
typedef struct kl__sim_deletion {
    bool dry;
    bool has_grace;
    int64_t grace_seconds;
    bool has_orphan; /* orphanDependents, which is deprecated */
    bool orphan;
    kl__sim_policy policy;
    /* preconditions: the UID and version that the object must have; NULL: any
     */
    const char *uid;
    const char *version;
} kl__sim_deletion;

/* The result of a deletion. */
typedef struct kl__sim_fate {
    bool is_gone;         /* the object was removed */
    bool is_pending;      /* it was being deleted before; nothing has changed */
    kl__sim_state *shown; /* the object's last state; a reference */
    int64_t version;      /* the resourceVersion to show; 0: that of `shown` */
} kl__sim_fate;

/* Removes an object; or only marks it as being deleted, if a grace period or a
 * finalizer keeps it. The caller has checked the preconditions, and owns
 * `fate->shown` afterwards. KL_ENOMEM. */
kl_code kl__sim_delete_object(kl_sim *sim, kl__sim_resource *resource,
                              kl__sim_state *state,
                              const kl__sim_deletion *deletion,
                              kl__sim_fate *fate, kl_error *err);

/* sim_delete_object.c: true if an object's metadata has a finalizer. */
bool kl__sim_has_finalizer(const kl__node *metadata, const char *finalizer);
/* Removes a finalizer from an object's metadata; true if it was there. */
bool kl__sim_drop_finalizer(kl__node *metadata, const char *finalizer);

/* sim_delete_object.c: true if an object is being deleted and neither a grace
 * period nor a finalizer keeps it any more. `root` is its new tree. */
bool kl__sim_is_over(const kl__sim_kind *kind, const kl__node *root);

#endif
