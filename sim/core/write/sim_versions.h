/*
 * sim_versions.h - for built-in kinds that are served in several versions or in
 * two groups: converts objects between the request's version and the stored
 * version.
 */
#ifndef KL_SIM_VERSIONS_H
#define KL_SIM_VERSIONS_H

#include "sim/core/write/sim_pipeline.h"

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
