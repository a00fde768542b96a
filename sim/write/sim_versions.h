/*
 * sim_versions.h - objects of built-in kinds between the version, or the group,
 * that is asked for and the one that they are stored in.
 */
#ifndef KL_SIM_VERSIONS_H
#define KL_SIM_VERSIONS_H

#include "sim/write/sim_pipeline.h"

/* An object before a write, as the request's version has it. */
typedef struct kl__sim_before {
    const kl__node *root; /* NULL: the object is new */
    kl__edit *copy;       /* NULL: the root is the write's own */
} kl__sim_before;

/* Owes kl__sim_before_close, also where it fails: KL_ENOMEM. */
kl_code kl__sim_before_open(kl__sim_before *before, const kl__sim_write *write,
                            kl_error *err);
void kl__sim_before_close(kl__sim_before *before);

/* Makes an object of that apiVersion one of the stored kind, of which `kind` is
 * the one that is served. False: out of memory. */
bool kl__sim_store_served(kl__edit *edit, const kl__sim_kind *kind,
                          const kl__sim_kind *stored, const char *api_version);

#endif
