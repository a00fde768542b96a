/*
 * sim_last_applied.h - the annotation last-applied-configuration, in which
 * kubectl apply (on the client) keeps its last configuration. If an object has
 * this annotation, a server-side apply updates it too: the user may go back to
 * an apply on the client later.
 */
#ifndef KL_SIM_LAST_APPLIED_H
#define KL_SIM_LAST_APPLIED_H

#include "sim/core/write/sim_pipeline.h"

/* *text gets the annotation's new text for an apply of `config`, a tree of
 * `edit`; the caller frees it with kl__free. *text is NULL if `old` has no such
 * annotation, or after KL_ENOMEM. */
kl_code kl__sim_last_applied(const kl__node *old, kl__edit *edit,
                             const kl__node *config, char **text,
                             kl_error *err);

/* Sets the annotation of an object. False: out of memory. */
bool kl__sim_put_last_applied(kl__edit *edit, kl__node *object,
                              const char *text);

#endif
