/*
 * resource.h - which collection of an API is meant, and its URL.
 */
#ifndef KL_OBJECT_RESOURCE_H
#define KL_OBJECT_RESOURCE_H

#include "base/buf.h"
#include "kubelua/error.h"

#include <stdbool.h>

/* A resource that a server serves; strings are owned, none is NULL. */
typedef struct kl__resource {
    char *group;   /* "" is the core group */
    char *version; /* "v1" */
    char *plural;  /* "pods": the name in URLs */
    char *kind;    /* "Pod" */
    bool namespaced;
} kl__resource;

void kl__resource_clear(kl__resource *resource);
/* False: out of memory, and `to` is empty. */
bool kl__resource_copy(kl__resource *to, const kl__resource *from);

/* "apps/v1" or "v1"; appended to `out`. */
void kl__resource_api_version(const kl__resource *resource, kl__buf *out);

/* "/api/v1/namespaces/web/pods" or "/apis/apps/v1/deployments", appended;
 * `name_space` NULL: all. Segments are percent-encoded. */
void kl__resource_path(const kl__resource *resource, const char *name_space,
                       kl__buf *out);

/* KL_EINVAL: a namespace was given for a kind that has none. */
kl_code kl__scope_error(const char *plural, const char *kind, kl_error *err);

#endif
