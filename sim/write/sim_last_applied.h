/*
 * sim_last_applied.h - the annotation last-applied-configuration, which kubectl
 * apply keeps. If it is there, a server-side apply updates it too, so that a
 * user can switch between both.
 */
#ifndef KL_SIM_LAST_APPLIED_H
#define KL_SIM_LAST_APPLIED_H

#include "sim/write/sim_pipeline.h"

/* The annotation's new text after `config` (of `edit`) is applied; freed with
 * kl__free. NULL: `old` has no such annotation, or KL_ENOMEM. */
kl_code kl__sim_last_applied(const kl__node *old, kl__edit *edit,
                             const kl__node *config, char **text,
                             kl_error *err);

/* Sets the annotation of an object. False: out of memory. */
bool kl__sim_put_last_applied(kl__edit *edit, kl__node *object,
                              const char *text);

#endif
