/*
 * object.h - what the core needs of objects beyond the public header.
 */
#ifndef KL_OBJECT_OBJECT_H
#define KL_OBJECT_OBJECT_H

#include "json/text.h"
#include "kubelua/object.h"

#include <stdbool.h>

/* As kl_object_parse, for a text that was measured before: whoever cuts it out
 * of a stream has looked at each byte already. */
kl_object *kl__object_parse_measured(const char *json, size_t length,
                                     const kl__text_shape *shape,
                                     const kl_object_options *options,
                                     kl_error *err);

/* Whether both say the same, managedFields that were cut aside. Lists of
 * built-in kinds leave out kind and apiVersion, which then stand in our order:
 * what is before the metadata is compared by these two alone. */
bool kl__object_is_copy(const kl_object *a, const kl_object *b);

#endif
