/*
 * sim_hooks.h - what lower folders call of higher ones: a table of functions
 * that sim.c hands to each cluster (kl_sim.hooks). The header of each function
 * says more.
 */
#ifndef KL_SIM_HOOKS_H
#define KL_SIM_HOOKS_H

#include "kubelua/sim.h"
#include "sim/core/json/edit.h"
#include "sim/core/store/sim_store.h"

struct kl__sim_answer;
struct kl__sim_wait;
struct kl__sim_write;

/* A step of a write (write/sim_pipeline.h). KL_ENOMEM. */
typedef kl_code kl__sim_write_hook(struct kl__sim_write *write, kl_error *err);

typedef struct kl__sim_hooks {
    /* custom/sim_custom.h: custom objects. Other objects are left alone. */
    kl__sim_write_hook *custom_shape;
    kl__sim_write_hook *custom_convert;
    kl__sim_write_hook *custom_before;
    kl__sim_write_hook *custom_validate;
    /* custom/sim_crd.h: the definitions of custom resources. */
    kl__sim_write_hook *crd_complete;
    kl__sim_write_hook *crd_validate;
    /* write/sim_write.h: a namespace that a load needs; a write in the midst of
     * another write. */
    kl_code (*namespace_add)(kl_sim *sim, const char *name, kl_error *err);
    /* life/sim_settle.h: what a change of a definition, or a removed object,
     * leaves for the cluster's controllers. */
    kl_code (*crd_apply)(kl_sim *sim, const kl__sim_state *state,
                         kl_error *err);
    kl_code (*crd_withdraw)(kl_sim *sim, const char *name, kl_error *err);
    kl_code (*crd_guard)(kl_sim *sim, kl__edit *edit, kl_error *err);
    bool (*namespace_minds)(kl_sim *sim, const kl__sim_kind *kind,
                            const kl__sim_state *state);
    /* access/sim_access.h: aggregated ClusterRoles; the right to create what
     * an apply did not find. */
    kl_code (*roles_settle)(kl_sim *sim, kl_error *err);
    kl_code (*creation_authorize)(struct kl__sim_answer *answer, kl_error *err);
    /* sim_call.h: one request as the administrator. */
    kl_code (*request_once)(kl_sim *sim, const kl_call *call, bool loading,
                            kl_reply *reply, kl_error *err);
    /* sim_course.h: the answer to a request at the port. */
    kl_code (*answer_begin)(struct kl__sim_answer *answer,
                            const struct kl__sim_wait *wait, kl_error *err);
    kl_code (*answer_read)(struct kl__sim_answer *answer, char *buffer,
                           size_t size, size_t *length,
                           const struct kl__sim_wait *wait, kl_error *err);
} kl__sim_hooks;

#endif
