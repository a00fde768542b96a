/*
 * sim_kinds_parts.h - functions that sim_kinds.c (built-in kinds) and
 * sim_kinds_custom.c share.
 */
#ifndef KL_SIM_KINDS_PARTS_H
#define KL_SIM_KINDS_PARTS_H

#include "sim/core/kinds/sim_kinds.h"

/* Frees a list of texts that ends with NULL; NULL is fine. */
void kl__sim_free_texts(char **texts);

/* Makes the fields for selectors: "name[@path][:value if absent]"; false when
 * out of memory. */
bool kl__sim_kind_add_fields(kl__sim_kind *kind, char *const *texts);

/* True if every member that must not be NULL is set. */
bool kl__sim_kind_is_complete(const kl__sim_kind *kind);

/* True if a member of that name is anywhere in a value. */
bool kl__sim_mentions(const kl_value *value, const char *name);

#endif
