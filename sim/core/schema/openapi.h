/*
 * openapi.h - writes schemas as components of an OpenAPI document, version 3 or
 * 2, without descriptions. sim/core/discovery puts the documents together.
 */
#ifndef KL_SCHEMA_OPENAPI_H
#define KL_SCHEMA_OPENAPI_H

#include "base/buf.h"
#include "base/map.h"
#include "sim/core/schema/schema.h"

/* A document in progress. Every type that it refers to is written once. */
typedef struct kl__openapi {
    kl__buf *out; /* keeps the failure when memory runs out */
    bool is_v2;   /* else version 3 */
    size_t count; /* how many types were written */
    kl__map told; /* names of the types that are written or queued */
    const kl__schema **waiting;
    size_t waiting_count;
    size_t waiting_capacity;
    /* the values that the next scalar may have: "a,b"; NULL: any */
    const char *values;
} kl__openapi;

/* The group, version and kind of a type. */
typedef struct kl__openapi_kind {
    const char *group;
    const char *version;
    const char *kind;
} kl__openapi_kind;

void kl__openapi_deinit(kl__openapi *self);

/* Appends a reference to the type of that name, as JSON. */
void kl__openapi_refer(kl__openapi *self, const char *name);

/* Appends a schema: a reference if it has a name. */
void kl__openapi_value(kl__openapi *self, const kl__schema *schema);

/* Writes the type of a kind, unless it was written or queued: `"name":{...}`,
 * after a comma unless it is the first type. Queues the types to which it
 * refers. */
void kl__openapi_type(kl__openapi *self, const kl__schema *schema,
                      const kl__openapi_kind *kind);
/* Writes the type of a list of objects, which has no schema of its own; `of` is
 * the name of the type of its items. Call kl__openapi_begin before it. */
void kl__openapi_list(kl__openapi *self, const char *of,
                      const kl__openapi_kind *list);
/* Begins a type whose content the caller writes then; `name` must outlive the
 * document. False: the document has this type already. */
bool kl__openapi_begin(kl__openapi *self, const char *name);
/* Appends x-kubernetes-group-version-kind, after a comma. */
void kl__openapi_claim(kl__openapi *self, const kl__openapi_kind *kind);

/* Writes all queued types, and those to which they refer. KL_ENOMEM. */
kl_code kl__openapi_finish(kl__openapi *self, kl_error *err);

#endif
