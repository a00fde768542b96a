/*
 * custom_lookup.h - tables of the members of large objects, for as long as
 * these do not change: with a linear search for each member, thousands of them
 * would take quadratic time.
 */
#ifndef KL_SCHEMA_CUSTOM_LOOKUP_H
#define KL_SCHEMA_CUSTOM_LOOKUP_H

#include "base/map.h"
#include "sim/json/edit.h"

/* Zeroed it is empty and valid. Objects that were looked into must not change
 * until kl__lookup_deinit. Without memory the search is linear. */
typedef struct kl__lookup {
    kl__map tables; /* tables by the object's address */
} kl__lookup;

void kl__lookup_deinit(kl__lookup *lookup);

/* Like kl_value_get_n and kl__node_get_n. */
const kl_value *kl__lookup_value(kl__lookup *lookup, const kl_value *object,
                                 const char *name, size_t length);
const kl__node *kl__lookup_node(kl__lookup *lookup, const kl__node *object,
                                const char *name, size_t length);

#endif
