/*
 * definition_parts.h - the validation of a definition, which the files
 * definition_*.c share: its errors, and the path of the current value.
 */
#ifndef KL_SCHEMA_DEFINITION_PARTS_H
#define KL_SCHEMA_DEFINITION_PARTS_H

#include "sim/core/schema/definition.h"
#include "sim/core/schema/schema.h"

typedef struct kl__definition {
    kl__field_errors *errors;
    kl__buf path;
} kl__definition;

/* Appends a part such as ".name" or "[0]" to the path. Returns the length
 * before, which kl__definition_leave takes to go back. */
size_t kl__definition_enter(kl__definition *self, const char *format, ...)
    KL_PRINTF(2, 3);
void kl__definition_leave(kl__definition *self, size_t before);

/* Adds an error about a member of the current value (".items"), or about the
 * value itself (""). */
void kl__definition_add(kl__definition *self, kl__field_fault fault,
                        const char *member, const char *detail);
/* The same for an invalid text or value, which the message shows. */
void kl__definition_refuse(kl__definition *self, const char *member,
                           const char *text, const char *detail);
void kl__definition_refuse_value(kl__definition *self, const char *member,
                                 const kl_value *value, const char *detail);
/* The same for a text that is not supported; `supported`: "\"a\", \"b\"". */
void kl__definition_unsupported(kl__definition *self, const char *member,
                                const char *text, const char *supported);

/* A member that is an object; else NULL. Decoding does not check the types of
 * all parts of a schema, so any value may be there. */
const kl_value *kl__definition_object(const kl_value *object, const char *name);
/* A text member; "" if there is none. */
const char *kl__definition_text(const kl_value *object, const char *name);
/* True if the member is a text that is not empty. */
bool kl__definition_has(const kl_value *object, const char *name);

/* The two errors of most keywords. */
static inline void kl__definition_forbid(kl__definition *self,
                                         const char *member, const char *why)
{
    kl__definition_add(self, KL__FIELD_FORBIDDEN, member, why);
}

static inline void kl__definition_require(kl__definition *self,
                                          const char *member, const char *why)
{
    kl__definition_add(self, KL__FIELD_REQUIRED, member, why);
}

/* True if the member is the boolean true. */
static inline bool kl__definition_says(const kl_value *schema, const char *name)
{
    return kl_value_bool(kl_value_get(schema, name));
}

static inline bool kl__definition_is_object(const kl_value *value)
{
    return kl_value_type(value) == KL_OBJECT;
}

/* definition_fields.c: checks the spec. */
void kl__definition_spec(kl__definition *self, const kl_value *spec);

/* definition.c: checks spec.conversion; the path leads to spec. */
void kl__definition_conversion(kl__definition *self,
                               const kl_value *conversion);

/* Check a schema, the current value: each keyword by itself
 * (definition_schema.c), that the schema is structural
 * (definition_structural.c), and its defaults (definition_schema.c). False:
 * an error was added. */
void kl__definition_schema(kl__definition *self, const kl_value *schema);
bool kl__definition_structural(kl__definition *self, const kl_value *schema);
bool kl__definition_defaults(kl__definition *self, const kl_value *schema);

#endif
