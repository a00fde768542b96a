/*
 * openapi.h - writes schemas as components of an OpenAPI document, version 3 or
 * 2, without descriptions. sim/discovery puts the documents together.
 */
#ifndef KL_SCHEMA_OPENAPI_H
#define KL_SCHEMA_OPENAPI_H

#include "base/buf.h"
#include "base/map.h"
#include "sim/schema/schema.h"

/* A document in progress: every type that is referred to is written once. */
typedef struct kl__openapi {
    kl__buf *out; /* keeps the failure when memory runs out */
    bool is_v2;   /* else version 3 */
    size_t count; /* how many types were written */
    kl__map told; /* types by name that are written or queued */
    const kl__schema **waiting;
    size_t waiting_count;
    size_t waiting_capacity;
    const char *values; /* values of the next scalar: "a,b"; NULL: any */
} kl__openapi;

/* The group, version and kind of a type. */
typedef struct kl__openapi_kind {
    const char *group;
    const char *version;
    const char *kind;
} kl__openapi_kind;

void kl__openapi_deinit(kl__openapi *self);

/* Appends a reference (JSON) to the type of that name. */
void kl__openapi_refer(kl__openapi *self, const char *name);

/* Appends a schema: a reference if it has a name. */
void kl__openapi_value(kl__openapi *self, const kl__schema *schema);

/* Writes the type of a kind, as `"name":{...}` after a comma if needed, and
 * notes what it refers to. */
void kl__openapi_type(kl__openapi *self, const kl__schema *schema,
                      const kl__openapi_kind *kind);
/* Writes the type of a list, which has no schema; `of` names the type of its
 * items. Call kl__openapi_begin first. */
void kl__openapi_list(kl__openapi *self, const char *of,
                      const kl__openapi_kind *list);
/* Begins a type that the caller writes; `name` must outlive the document.
 * False: it is there already. */
bool kl__openapi_begin(kl__openapi *self, const char *name);
/* Appends x-kubernetes-group-version-kind, after a comma. */
void kl__openapi_claim(kl__openapi *self, const kl__openapi_kind *kind);

/* Writes all types that were referred to and are not written yet. KL_ENOMEM. */
kl_code kl__openapi_finish(kl__openapi *self, kl_error *err);

#endif
