/*
 * sim_last_applied.h - the annotation in which kubectl apply without
 * --server-side keeps what it applied: where it is there, the server keeps it
 * for kubectl, so that a user may go back and forth between the two.
 */
#ifndef KL_SIM_LAST_APPLIED_H
#define KL_SIM_LAST_APPLIED_H

#include "sim/write/sim_pipeline.h"

/* What the annotation is to be once `config` (of `edit`) is applied: a text for
 * kl__free, or NULL where `old` has no such annotation. KL_ENOMEM. */
kl_code kl__sim_last_applied(const kl__node *old, kl__edit *edit,
                             const kl__node *config, char **text,
                             kl_error *err);

/* Sets the annotation of an object. False: out of memory. */
bool kl__sim_put_last_applied(kl__edit *edit, kl__node *object,
                              const char *text);

#endif
