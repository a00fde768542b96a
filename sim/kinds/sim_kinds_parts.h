/*
 * sim_kinds_parts.h - what both ways of making a kind share.
 */
#ifndef KL_SIM_KINDS_PARTS_H
#define KL_SIM_KINDS_PARTS_H

#include "sim/kinds/sim_kinds.h"

/* Frees a list of texts that ends with NULL; NULL is fine. */
void kl__sim_free_texts(char **texts);

/* Makes the fields to select by: "name[@path][:value where absent]"; false when
 * out of memory. */
bool kl__sim_kind_add_fields(kl__sim_kind *kind, char *const *texts);

/* Whether everything that may not be NULL is there. */
bool kl__sim_kind_is_complete(const kl__sim_kind *kind);

/* Whether there is a member of that name anywhere in a value. */
bool kl__sim_mentions(const kl_value *value, const char *name);

#endif
