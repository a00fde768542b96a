/*
 * sim_kinds_own.h - what single kinds have of their own in a write: what the
 * server sets, and what cannot change. The cluster's mutex is held.
 */
#ifndef KL_SIM_KINDS_OWN_H
#define KL_SIM_KINDS_OWN_H

#include "sim/write/sim_pipeline.h"

/* Sets and resets what the kind of a built-in object asks for; may answer.
 * KL_ENOMEM. */
kl_code kl__sim_prepare_kind(kl__sim_write *write, kl_error *err);
/* Adds to write->errors what the kind does not allow. */
void kl__sim_validate_kind(kl__sim_write *write);

/* Whether it is that built-in kind. */
bool kl__sim_write_is(const kl__sim_write *write, const char *group,
                      const char *plural);

/* Puts back what a kind has in its annotations and belongs to its spec. False:
 * out of memory. */
bool kl__sim_keep_annotations(kl__sim_write *write);

/* Whether a PUT of an object that is not there makes it. */
bool kl__sim_put_creates(const kl__sim_kind *kind);
/* Whether a PUT has to say which version it changes. */
bool kl__sim_put_is_conditional(const kl__sim_kind *kind);
/* Whether a write of status leaves all of an object's metadata alone. */
bool kl__sim_status_keeps_metadata(const kl__sim_kind *kind);

/* What a Pod's new status keeps of the old one where it says nothing: quality
 * of service, observed generations. False: out of memory. */
bool kl__sim_keep_pod_status(kl__sim_write *write, kl__node *status);

/* Of those kinds. False: out of memory, or a cause was added. */
kl_code kl__sim_prepare_pod(kl__sim_write *write, kl_error *err);
kl_code kl__sim_prepare_service(kl__sim_write *write, kl_error *err);

#endif
