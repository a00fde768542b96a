/*
 * schema_default.h - defaults that are no constants: functions by the name of a
 * type or kind, and what they have in common.
 */
#ifndef KL_SCHEMA_SCHEMA_DEFAULT_H
#define KL_SCHEMA_SCHEMA_DEFAULT_H

#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* What hangs on other fields of the same struct, or of those in it, once the
 * constants are there; and what only an object of a kind gets, before that.
 * False: out of memory. schema_default_structs.c, schema_default_kinds.c. */
bool kl__default_struct(kl__edit *edit, kl__node *node,
                        const kl__schema *schema);
bool kl__default_kind(kl__edit *edit, kl__node *object,
                      const kl__schema *schema);

/* Gives a member that is not there (a text: or is empty; of a list or map: or
 * has nothing in it). False: out of memory. */
bool kl__default_text(kl__edit *edit, kl__node *node, const char *name,
                      const char *text);
bool kl__default_json(kl__edit *edit, kl__node *node, const char *name,
                      const char *json);
bool kl__default_copy(kl__edit *edit, kl__node *node, const char *name,
                      const kl__node *from);

/* Adds to `to` the members of `from` that it has not. */
bool kl__default_members(kl__edit *edit, kl__node *to, const kl__node *from);

/* Whether the member is that text. */
bool kl__default_is(const kl__node *node, const char *name, const char *text);

#endif
