/*
 * schema_default.h - defaults that are not constants, by type or kind:
 * schema_default_structs.c, schema_default_kinds.c; and helpers.
 */
#ifndef KL_SCHEMA_SCHEMA_DEFAULT_H
#define KL_SCHEMA_SCHEMA_DEFAULT_H

#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* The first sets defaults of a struct that depend on its other fields, after
 * the constants are set. The second sets defaults that only an object of a kind
 * gets, before that. False: out of memory. */
bool kl__default_struct(kl__edit *edit, kl__node *node,
                        const kl__schema *schema);
bool kl__default_kind(kl__edit *edit, kl__node *object,
                      const kl__schema *schema);

/* Each sets a member that is absent or null; kl__default_text also one that is
 * "", kl__default_copy also a list or map without elements. False: out of
 * memory. */
bool kl__default_text(kl__edit *edit, kl__node *node, const char *name,
                      const char *text);
bool kl__default_json(kl__edit *edit, kl__node *node, const char *name,
                      const char *json);
bool kl__default_copy(kl__edit *edit, kl__node *node, const char *name,
                      const kl__node *from);

/* Adds to `to` the members of `from` that it lacks. */
bool kl__default_members(kl__edit *edit, kl__node *to, const kl__node *from);

/* True if the member is that text. */
bool kl__default_is(const kl__node *node, const char *name, const char *text);

#endif
