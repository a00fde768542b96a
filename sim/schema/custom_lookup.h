/*
 * custom_lookup.h - the members of large objects by name, while nothing changes
 * them: a schema of thousands of properties, or a map of as many members, would
 * take time in proportion to its square.
 */
#ifndef KL_SCHEMA_CUSTOM_LOOKUP_H
#define KL_SCHEMA_CUSTOM_LOOKUP_H

#include "base/map.h"
#include "sim/json/edit.h"

/* Zeroed it is empty and valid. What was looked into must stay as it is until
 * kl__lookup_deinit. Without memory each member is looked for one by one. */
typedef struct kl__lookup {
    kl__map tables; /* of objects, by their address */
} kl__lookup;

void kl__lookup_deinit(kl__lookup *lookup);

/* As kl_value_get_n, and kl__node_get_n. */
const kl_value *kl__lookup_value(kl__lookup *lookup, const kl_value *object,
                                 const char *name, size_t length);
const kl__node *kl__lookup_node(kl__lookup *lookup, const kl__node *object,
                                const char *name, size_t length);

#endif
