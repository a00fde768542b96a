/*
 * kind.h - the resources that are built into Kubernetes, found by a name as
 * people type it ("po"), without asking a server.
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
    const char *short_names; /* separated by commas; "": none */
    const char *version;     /* the one that kubectl prefers; an older server
                                may not have it, and answers 404 */
    const char *group;       /* "" is the core group */
    bool namespaced;
    bool has_status; /* the status is written through a subresource */
} kl_kind;

/* The built-in resource of a name ("po", "deployments.apps", "v1/Pod"); static.
 * NULL: the name is no built-in resource, or a server could know it as another
 * one. Thread-safe. */
KL_API const kl_kind *kl_kind_builtin(const char *typed);

#ifdef __cplusplus
}
#endif
#endif
