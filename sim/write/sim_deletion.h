/*
 * sim_deletion.h - the end of objects: at once, after a time of grace, or when
 * finalizers are gone. The cluster's mutex is held.
 */
#ifndef KL_SIM_DELETION_H
#define KL_SIM_DELETION_H

#include "sim/json/edit.h"
#include "sim/answer/sim_answer.h"

typedef enum kl__sim_policy {
    KL__SIM_BY_DEFAULT, /* what its finalizers and kind say */
    KL__SIM_BACKGROUND,
    KL__SIM_FOREGROUND,
    KL__SIM_ORPHAN
} kl__sim_policy;

/* What DeleteOptions ask for. Strings are borrowed from the request. */
typedef struct kl__sim_deletion {
    bool dry;
    bool has_grace;
    int64_t grace_seconds;
    bool has_orphan; /* orphanDependents, of old */
    bool orphan;
    kl__sim_policy policy;
    const char *uid; /* preconditions; NULL: none */
    const char *version;
} kl__sim_deletion;

/* What became of an object. */
typedef struct kl__sim_fate {
    bool is_gone;
    bool is_pending;      /* it was being deleted before, and goes on so */
    kl__sim_state *shown; /* what it was at last; a reference */
    int64_t version;      /* to show it with; 0: its own */
} kl__sim_fate;

/* Reads them from body and query; false: the answer says what is wrong with
 * them, or there is no memory (*code). */
bool kl__sim_deletion_read(kl__sim_deletion *deletion, kl__sim_answer *answer,
                           kl_code *code, kl_error *err);

/* Deletes an object, which is there, as far as it can be; preconditions were
 * checked. `fate->shown` is the caller's. KL_ENOMEM. */
kl_code kl__sim_delete_object(kl_sim *sim, kl__sim_resource *resource,
                              kl__sim_state *state,
                              const kl__sim_deletion *deletion,
                              kl__sim_fate *fate, kl_error *err);

/* Whether a finalizer is in an object's metadata. */
bool kl__sim_has_finalizer(const kl__node *metadata, const char *finalizer);
/* Takes a finalizer out of it; whether it was there. */
bool kl__sim_drop_finalizer(kl__node *metadata, const char *finalizer);

/* The finalizer of objects that may be in use: of claims, volumes and their
 * classes of attributes. NULL: the kind has none. */
const char *kl__sim_protection(const kl__sim_kind *kind);

/* Whether an object that is being deleted waits for nothing any more: `root` is
 * what it is to be. */
bool kl__sim_is_over(const kl__sim_kind *kind, const kl__node *root);

#endif
