/*
 * sim_kinds_own.h - rules of single kinds in a write: what the server sets, and
 * what cannot be changed. The cluster's mutex is held.
 */
#ifndef KL_SIM_KINDS_OWN_H
#define KL_SIM_KINDS_OWN_H

#include "sim/write/sim_pipeline.h"

/* Sets and resets fields by the rules of a built-in kind; may answer.
 * KL_ENOMEM. */
kl_code kl__sim_prepare_kind(kl__sim_write *write, kl_error *err);
/* Adds what the kind does not allow to write->errors. */
void kl__sim_validate_kind(kl__sim_write *write);

/* True if the write is of that built-in kind. */
bool kl__sim_write_is(const kl__sim_write *write, const char *group,
                      const char *plural);

/* Puts back annotations that belong to the spec of a kind. False: out of
 * memory. */
bool kl__sim_keep_annotations(kl__sim_write *write);

/* True if a PUT creates an object of this kind that does not exist. */
bool kl__sim_put_creates(const kl__sim_kind *kind);
/* True if a PUT has to say which version it changes. */
bool kl__sim_put_is_conditional(const kl__sim_kind *kind);
/* True if a write of status leaves all metadata unchanged. */
bool kl__sim_status_keeps_metadata(const kl__sim_kind *kind);

/* Copies quality of service and observed generations of a Pod's old status into
 * a new one that lacks them. False: out of memory. */
bool kl__sim_keep_pod_status(kl__sim_write *write, kl__node *status);

/* Rules of one kind each. Bool functions return false when out of memory, or if
 * a cause was added. */
kl_code kl__sim_prepare_pod(kl__sim_write *write, kl_error *err);
kl_code kl__sim_prepare_service(kl__sim_write *write, kl_error *err);

#endif
