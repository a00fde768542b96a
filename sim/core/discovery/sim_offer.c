/*
 * sim_offer.c - see sim_offer.h.
 */
#include "sim/core/discovery/sim_offer.h"

#include <string.h>

static const kl__sim_resource *resource_at(const kl__list *node)
{
    return KL__CONTAINER(node, kl__sim_resource, node);
}

/* The first resource of a group at or after a node of the list; or NULL. */
static const kl__sim_resource *next_of(const kl_sim *sim, const kl__list *node,
                                       const char *group)
{
    for (; node != &sim->resources; node = node->next) {
        if (strcmp(resource_at(node)->kind->group, group) == 0) {
            return resource_at(node);
        }
    }
    return NULL;
}

const kl__sim_resource *kl__sim_group_first(const kl_sim *sim,
                                            const char *group)
{
    return next_of(sim, sim->resources.next, group);
}

size_t kl__sim_group_versions(const kl_sim *sim, const char *group,
                              const char **versions)
{
    size_t count = 0;

    for (const kl__sim_resource *resource = kl__sim_group_first(sim, group);
         resource != NULL;
         resource = next_of(sim, resource->node.next, group)) {
        for (size_t i = 0; i < resource->kind->version_count; i++) {
            const char *version = resource->kind->versions[i].name;
            size_t known = 0;

            while (known < count && strcmp(versions[known], version) != 0) {
                known++;
            }
            if (known == count && count < KL__SIM_MAX_VERSIONS) {
                versions[count++] = version;
            }
        }
    }
    return count;
}

bool kl__sim_opens_group(const kl_sim *sim, const kl__sim_resource *resource)
{
    const char *versions[KL__SIM_MAX_VERSIONS];
    const char *group = resource->kind->group;

    return kl__sim_group_first(sim, group) == resource &&
           kl__sim_group_versions(sim, group, versions) != 0;
}

/* --- The walk. ------------------------------------------------------------ */

static const char *verbs_of(const kl__sim_kind *kind)
{
    if (kl__sim_kind_is(kind, KL__SIM_VIRTUAL)) {
        return "create";
    }
    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        return "delete,deletecollection,get,list,patch,create,update,watch";
    }
    return kl__sim_kind_is(kind, KL__SIM_NO_COLLECTION)
               ? "create,delete,get,list,patch,update,watch"
               : "create,delete,deletecollection,get,list,patch,update,watch";
}

static bool is_below(const kl__sim_subresource *row, const kl__sim_kind *kind)
{
    return row->name != NULL && strcmp(row->plural, kind->plural) == 0 &&
           strcmp(row->group, kind->group) == 0;
}

/* The first subresource of a kind in the table; for a custom kind, or if there
 * is none, the row that ends the table. */
static const kl__sim_subresource *first_below(const kl__sim_kind *kind)
{
    const kl__sim_subresource *row = kl__sim_subresources;

    while (row->name != NULL &&
           (kl__sim_kind_is(kind, KL__SIM_CUSTOM) || !is_below(row, kind))) {
        row++;
    }
    return row;
}

/* Moves to the next resource that is served in the version. */
static bool next_resource(kl__sim_offer_walk *walk)
{
    const kl__list *from = walk->resource != NULL ? walk->resource->node.next
                                                  : walk->sim->resources.next;

    while (!walk->is_over) {
        walk->resource = next_of(walk->sim, from, walk->group);
        walk->is_over = walk->resource == NULL;
        if (walk->is_over) {
            break;
        }
        walk->served = kl__sim_kind_version(walk->resource->kind, walk->version,
                                            strlen(walk->version));
        if (walk->served != NULL) {
            walk->below = first_below(walk->resource->kind);
            walk->has_status = walk->served->has_status;
            walk->has_scale = walk->served->scale != NULL;
            return true;
        }
        from = walk->resource->node.next;
    }
    return false;
}

/* Moves to the resource's next subresource; false: there is none. */
static bool next_below(kl__sim_offer_walk *walk, kl__sim_offer *offer)
{
    const kl__sim_kind *kind = walk->resource->kind;
    const kl__sim_subresource *row =
        is_below(walk->below, kind) ? walk->below : NULL;

    if (walk->has_status && (row == NULL || strcmp(row->name, "status") > 0)) {
        walk->has_status = false;
        *offer = (kl__sim_offer){.kind = kind,
                                 .subresource = "status",
                                 .of_group = "",
                                 .of_version = "",
                                 .of_kind = kind->kind,
                                 .verbs = "get,patch,update"};
        return true;
    }
    if (walk->has_scale) {
        walk->has_scale = false;
        *offer = (kl__sim_offer){kind, "scale", "autoscaling",
                                 "v1", "Scale", "get,patch,update"};
        return true;
    }
    if (row == NULL) {
        return false;
    }
    walk->below++;
    *offer =
        (kl__sim_offer){kind,         row->name, row->of_group, row->of_version,
                        row->of_kind, row->verbs};
    return true;
}

bool kl__sim_offer_next(kl__sim_offer_walk *walk, kl__sim_offer *offer)
{
    if (walk->resource != NULL && !walk->is_over && next_below(walk, offer)) {
        return true;
    }
    if (!next_resource(walk)) {
        return false;
    }
    *offer = (kl__sim_offer){.kind = walk->resource->kind,
                             .of_group = "",
                             .of_version = "",
                             .of_kind = walk->resource->kind->kind,
                             .verbs = verbs_of(walk->resource->kind)};
    return true;
}
