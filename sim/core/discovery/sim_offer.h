/*
 * sim_offer.h - walks through the resources that a group serves in one version,
 * each followed by its subresources. Both forms of discovery use this walk.
 */
#ifndef KL_SIM_OFFER_H
#define KL_SIM_OFFER_H

#include "sim/core/store/sim_core.h"

enum { KL__SIM_MAX_VERSIONS = 32 };

/* One resource or subresource; borrowed. */
typedef struct kl__sim_offer {
    const kl__sim_kind *kind;
    const char *subresource; /* NULL: the resource itself */
    /* the kind of the body; group and version "": those of the resource */
    const char *of_group;
    const char *of_version;
    const char *of_kind;
    const char *verbs; /* separated by commas */
} kl__sim_offer;

/* A walk. The caller sets the first three members, and zeroes the others. */
typedef struct kl__sim_offer_walk {
    const kl_sim *sim;
    const char *group;
    const char *version;
    /* Where the walk is; for the walk only. */
    const kl__sim_resource *resource; /* NULL: at the start */
    const kl__sim_version *served;
    const kl__sim_subresource *below; /* the next subresource in the table */
    bool has_status; /* status is still to come, in the order of names */
    bool has_scale;  /* scale of a custom kind is still to come */
    bool is_over;
} kl__sim_offer_walk;

/* Fills `offer` with the next resource or subresource; false at the end. The
 * cluster's mutex is held. */
bool kl__sim_offer_next(kl__sim_offer_walk *walk, kl__sim_offer *offer);

/* The first resource of a group, or NULL. */
const kl__sim_resource *kl__sim_group_first(const kl_sim *sim,
                                            const char *group);
/* The versions of a group, preferred one first; borrowed. Returns how many, at
 * most KL__SIM_MAX_VERSIONS. */
size_t kl__sim_group_versions(const kl_sim *sim, const char *group,
                              const char **versions);
/* True if a resource is the first one of a group that has versions. */
bool kl__sim_opens_group(const kl_sim *sim, const kl__sim_resource *resource);

#endif
