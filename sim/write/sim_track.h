/*
 * sim_track.h - who owns the fields of an object: managedFields.
 */
#ifndef KL_SIM_TRACK_H
#define KL_SIM_TRACK_H

#include "sim/patch/managers.h"
#include "sim/store/sim_random.h"
#include "sim/write/sim_pipeline.h"

enum { KL__SIM_MANAGER_SIZE = 129 };

/* Whether the parameters fieldManager and force are right; else the answer is a
 * 422. */
kl_code kl__sim_check_manager(kl__sim_write *write, kl_error *err);

/* sim_patch.c: 422 of a patch that made no object of the kind: what it made,
 * and why that is none. */
kl_code kl__sim_refuse_patched(kl__sim_write *write, const char *why,
                               kl_error *err);
/* Whether it is a server-side apply. */
bool kl__sim_is_apply(const kl__sim_write *write);
/* sim_patch.c: whether it is a strategic merge patch. */
bool kl__sim_is_strategic(const kl__sim_write *write);
/* sim_apply.c: finds the object and makes `write->edit` of it and the
 * configuration in the body. Answers what cannot be applied; KL_ENOMEM. */
kl_code kl__sim_apply(kl__sim_write *write, kl_error *err);

/* Who writes, for what managedFields come to. KL_ENOMEM; else it owns what
 * kl__sim_author_deinit frees. */
typedef struct kl__sim_author {
    kl__author author;
    char *api_version;
    char now[KL__SIM_TIME_SIZE];
    char name[KL__SIM_MANAGER_SIZE];
} kl__sim_author;

kl_code kl__sim_author_init(kl__sim_author *self, kl__sim_write *write,
                            kl_error *err);
void kl__sim_author_deinit(kl__sim_author *self);

#endif
