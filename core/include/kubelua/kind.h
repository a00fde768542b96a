/*
 * kind.h - kinds of objects: which of Kubernetes' own resources a name means,
 * without asking the server.
 */
#ifndef KUBELUA_KIND_H
#define KUBELUA_KIND_H

#include "kubelua/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_kind {
    const char *plural;      /* "deployments" */
    const char *kind;        /* "Deployment" */
    const char *short_names; /* with commas between them; "": none */
    const char *version;     /* that kubectl prefers; an older server may not
                                have it, and answers 404 */
    const char *group;       /* "" is the core group */
    bool namespaced;
    bool has_status; /* its status is written through a subresource */
} kl_kind;

/* The built-in resource that a name means as people type it ("po",
 * "deployments.apps", "v1/Pod"); static. NULL: no built-in resource, or none
 * for sure. Thread-safe. */
KL_API const kl_kind *kl_kind_builtin(const char *typed);

#ifdef __cplusplus
}
#endif
#endif
