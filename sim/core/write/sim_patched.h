/*
 * sim_patched.h - what the stages of a write ask about a patch: its type, and
 * how to refuse the object that it has made.
 */
#ifndef KL_SIM_PATCHED_H
#define KL_SIM_PATCHED_H

#include "sim/core/write/sim_pipeline.h"

/* True for a server-side apply. */
bool kl__sim_is_apply(const kl__sim_write *write);
/* True for a strategic merge patch. */
bool kl__sim_is_strategic(const kl__sim_write *write);
/* Answers 422 for a patch whose result is no object of the kind. The message
 * shows that result, or a strategic patch itself. */
kl_code kl__sim_refuse_patched(kl__sim_write *write, const char *why,
                               kl_error *err);

#endif
