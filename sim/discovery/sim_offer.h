/*
 * sim_offer.h - what a group serves in one version, resource by resource, each
 * before what can be asked below it: what both ways of discovery are made of.
 */
#ifndef KL_SIM_OFFER_H
#define KL_SIM_OFFER_H

#include "sim/store/sim_core.h"

enum { KL__SIM_MAX_VERSIONS = 32 };

/* One line of it; borrowed. */
typedef struct kl__sim_offer {
    const kl__sim_kind *kind;
    const char *subresource; /* NULL: the resource itself */
    const char *of_group;    /* the kind that is spoken; "", "": the kind's */
    const char *of_version;
    const char *of_kind;
    const char *verbs; /* separated by commas */
} kl__sim_offer;

/* Goes through it; zeroed but for these. */
typedef struct kl__sim_offer_walk {
    const kl_sim *sim;
    const char *group;
    const char *version;
    /* Where it is. */
    const kl__sim_resource *resource; /* NULL: not begun */
    const kl__sim_version *served;
    const kl__sim_subresource *below; /* the next in the table */
    bool has_status; /* that is still to come, in the order of names */
    bool has_scale;  /* of a custom kind, which comes after that */
    bool is_over;
} kl__sim_offer_walk;

/* The next one; false: that was all. The cluster's mutex is held. */
bool kl__sim_offer_next(kl__sim_offer_walk *walk, kl__sim_offer *offer);

/* The first resource of a group, or NULL. */
const kl__sim_resource *kl__sim_group_first(const kl_sim *sim,
                                            const char *group);
/* The versions of a group, the preferred one first; borrowed. At most
 * KL__SIM_MAX_VERSIONS, whose number it returns. */
size_t kl__sim_group_versions(const kl_sim *sim, const char *group,
                              const char **versions);
/* Whether a resource is the first of its group, which has versions. */
bool kl__sim_opens_group(const kl_sim *sim, const kl__sim_resource *resource);

#endif
