/*
 * sim_track.h - managedFields: which manager owns which fields of an object.
 */
#ifndef KL_WRITE_SIM_TRACK_H
#define KL_WRITE_SIM_TRACK_H

#include "sim/core/patch/managers.h"
#include "sim/core/store/sim_random.h"
#include "sim/core/write/sim_pipeline.h"

enum { KL__SIM_MANAGER_SIZE = 129 };

/* Answers 422 if the parameters fieldManager or force, or dryRun of a patch,
 * are invalid. */
kl_code kl__sim_check_manager(kl__sim_write *write, kl_error *err);

/* sim_apply.c: finds the object, applies the configuration in the body, and
 * sets `write->edit` to the result. Refuses a configuration that cannot be
 * applied. KL_ENOMEM. */
kl_code kl__sim_apply(kl__sim_write *write, kl_error *err);

/* The manager of a write, as sim/core/patch needs it for managedFields. After
 * KL_ENOMEM of kl__sim_author_init there is nothing to deinit. */
typedef struct kl__sim_author {
    kl__author author;
    char *api_version;
    char now[KL__SIM_TIME_SIZE];
    char name[KL__SIM_MANAGER_SIZE];
} kl__sim_author;

kl_code kl__sim_author_init(kl__sim_author *self, kl__sim_write *write,
                            kl_error *err);
void kl__sim_author_deinit(kl__sim_author *self);

/* ---- kinds served in several versions or groups: to and from the stored one
 * ---- */

/* The object before a write, in the request's version. */
typedef struct kl__sim_before {
    const kl__node *root; /* NULL: the object is new */
    kl__edit *copy;       /* owns `root`; NULL: the write owns it */
} kl__sim_before;

/* The caller calls kl__sim_before_close, also after KL_ENOMEM. */
kl_code kl__sim_before_open(kl__sim_before *before, const kl__sim_write *write,
                            kl_error *err);
void kl__sim_before_close(kl__sim_before *before);

#endif
