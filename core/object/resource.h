/*
 * resource.h - a resource of an API server, such as deployments of apps/v1, and
 * the URL paths of its objects.
 */
#ifndef KL_OBJECT_RESOURCE_H
#define KL_OBJECT_RESOURCE_H

#include "base/buf.h"
#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>

/* A resource. Owns its strings; none is NULL. */
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

/* Appends "apps/v1" or "v1" to `out`. */
void kl__resource_api_version(const kl__resource *resource, kl__buf *out);

/* Appends a path such as "/api/v1/namespaces/web/pods" or
 * "/apis/apps/v1/deployments"; `name_space` NULL: all namespaces. Segments are
 * percent-encoded. */
void kl__resource_path(const kl__resource *resource, const char *name_space,
                       kl__buf *out);

/* True if `root` is a list of no items that lacks the member "items": servers
 * of 1.30 leave it out of some (docs/KUBERNETES.md#list-without-items). Its
 * kind has to say that it is a list: other JSON must not be taken for an empty
 * one. */
bool kl__is_bare_list(const kl_value *root);

/* The error for a namespace given for a kind without namespaces: KL_EINVAL. */
kl_code kl__scope_error(const char *plural, const char *kind, kl_error *err);

#endif
