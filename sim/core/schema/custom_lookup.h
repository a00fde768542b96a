/*
 * custom_lookup.h - finds members of large objects with a hash table for each
 * object. A linear search for each of thousands of members would take quadratic
 * time.
 */
#ifndef KL_SCHEMA_CUSTOM_LOOKUP_H
#define KL_SCHEMA_CUSTOM_LOOKUP_H

#include "base/map.h"
#include "sim/core/json/edit.h"

/* A zeroed lookup is empty and valid. After the first call for an object, the
 * object must not change until kl__lookup_deinit. If memory runs out, the
 * search is linear. */
typedef struct kl__lookup {
    kl__map tables; /* tables by the object's address */
} kl__lookup;

void kl__lookup_deinit(kl__lookup *lookup);

/* The results are those of kl_value_get_n and kl__node_get_n. */
const kl_value *kl__lookup_value(kl__lookup *lookup, const kl_value *object,
                                 const char *name, size_t length);
const kl__node *kl__lookup_node(kl__lookup *lookup, const kl__node *object,
                                const char *name, size_t length);

#endif
