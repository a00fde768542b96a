/*
 * schema_default.h - defaults that are not constants: those of a struct type
 * (schema_default.c), and those of a kind (schema_default_kinds.c).
 */
#ifndef KL_SCHEMA_SCHEMA_DEFAULT_H
#define KL_SCHEMA_SCHEMA_DEFAULT_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

bool kl__default_kind(kl__edit *edit, kl__node *object,
                      const kl__schema *schema);

/* Set a member that is absent or null. kl__default_text also replaces "", and
 * kl__default_copy also replaces an empty list or map; it does nothing if
 * `from` is empty. False: out of memory. */
bool kl__default_text(kl__edit *edit, kl__node *node, const char *name,
                      const char *text);
bool kl__default_json(kl__edit *edit, kl__node *node, const char *name,
                      const char *json);
bool kl__default_copy(kl__edit *edit, kl__node *node, const char *name,
                      const kl__node *from);

/* Copies to `to` the members of `from` that it lacks. False: out of memory, or
 * `to` is NULL. */
bool kl__default_members(kl__edit *edit, kl__node *to, const kl__node *from);

/* True if the member is that text. */
bool kl__default_is(const kl__node *node, const char *name, const char *text);

#endif
