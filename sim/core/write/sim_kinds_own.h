/*
 * sim_kinds_own.h - the rules that only one kind has in a write: what the
 * server sets, and what cannot be changed. The cluster's mutex is held.
 */
#ifndef KL_SIM_KINDS_OWN_H
#define KL_SIM_KINDS_OWN_H

#include "sim/core/write/sim_pipeline.h"

/* Sets and resets fields by the rules of a built-in kind; adds causes to
 * write->invalid for values that the server cannot accept. KL_ENOMEM. */
kl_code kl__sim_prepare_kind(kl__sim_write *write, kl_error *err);
/* Validates the object of a built-in kind: adds errors to write->errors. */
void kl__sim_validate_kind(kl__sim_write *write);

/* True if the written object is of that built-in kind. */
bool kl__sim_write_is(const kl__sim_write *write, const char *group,
                      const char *plural);

/* True if a PUT of this kind must have a resourceVersion. */
bool kl__sim_put_is_conditional(const kl__sim_kind *kind);

#endif
