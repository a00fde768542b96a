/*
 * builtin_names.h - which of Kubernetes' own resources a name means, without
 * asking the server: "pods" needs no discovery before its first request.
 */
#ifndef KL_API_BUILTIN_NAMES_H
#define KL_API_BUILTIN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__builtin {
    const char *plural;
    const char *kind;
    const char *short_names; /* with commas between them; "": none */
    const char *version;     /* that kubectl prefers; an older server may not
                                have it, and answers 404 */
    const char *group;       /* "" is the core group */
    bool namespaced;
} kl__builtin;

/* The resource that a name means as people type it ("po", "deployments.apps",
 * "v1/Pod"); static. NULL: no built-in resource, or none for sure. */
const kl__builtin *kl__builtin_find(const char *typed);

/* Row `index` of the table, from 0; NULL behind the last. */
const kl__builtin *kl__builtin_at(size_t index);

#endif
