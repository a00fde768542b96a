/*
 * openapi.h - schemas as an API server tells them: components of an OpenAPI
 * document, version 3 or 2. There are no descriptions.
 */
#ifndef KL_SCHEMA_OPENAPI_H
#define KL_SCHEMA_OPENAPI_H

#include "base/buf.h"
#include "base/map.h"
#include "sim/schema/schema.h"

/* What is being written: every type that is referred to is written once. */
typedef struct kl__openapi {
    kl__buf *out; /* out of memory sticks in it */
    bool is_v2;   /* else version 3 */
    size_t count; /* of types that were written */
    kl__map told; /* by name: those that are written or wait */
    const kl__schema **waiting;
    size_t waiting_count;
    size_t waiting_capacity;
    const char *values; /* that the next scalar may have: "a,b"; NULL: any */
} kl__openapi;

/* A group, version and kind that a type stands for. */
typedef struct kl__openapi_kind {
    const char *group;
    const char *version;
    const char *kind;
} kl__openapi_kind;

void kl__openapi_deinit(kl__openapi *self);

/* Appends a reference to a type of that name: a JSON text. */
void kl__openapi_refer(kl__openapi *self, const char *name);

/* Appends a value of that schema: a reference where it has a name. */
void kl__openapi_value(kl__openapi *self, const kl__schema *schema);

/* Writes a type that stands for a kind, as `"name":{...}` with a comma before
 * it where need be, and notes what it refers to. */
void kl__openapi_type(kl__openapi *self, const kl__schema *schema,
                      const kl__openapi_kind *kind);
/* Writes the type of a list that has no schema; `of` names that of its items.
 * To be begun. */
void kl__openapi_list(kl__openapi *self, const char *of,
                      const kl__openapi_kind *list);
/* Begins a type that is written elsewhere; `name` must outlive this. False: it
 * is there already. */
bool kl__openapi_begin(kl__openapi *self, const char *name);
/* Appends the claim that a type stands for a kind, with a comma before it. */
void kl__openapi_claim(kl__openapi *self, const kl__openapi_kind *kind);

/* Writes all types that were referred to and are not written. KL_ENOMEM. */
kl_code kl__openapi_finish(kl__openapi *self, kl_error *err);

#endif
