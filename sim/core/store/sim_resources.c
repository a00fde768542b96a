/*
 * sim_resources.c - see sim_core.h: adds, finds and removes the resources that
 * a cluster serves.
 */
#include "sim/core/store/sim_core.h"

#include "base/str.h"
#include "sim/core/schema/convert.h"

#include <string.h>

void kl__sim_wake_all(kl_sim *sim)
{
    kl__sim_bell_ring(&sim->wake);
    kl__sim_bell_ring(&sim->grown);
    for (kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        kl__sim_bell_ring(
            &KL__CONTAINER(node, kl__sim_resource, node)->changed);
    }
}

kl__sim_resource *kl__sim_find(kl_sim *sim, const char *group,
                               const char *plural)
{
    const char *const parts[] = {plural, *group != '\0' ? "." : "", group};
    char name[512];

    return kl__strjoin(name, sizeof(name), parts)
               ? kl__map_get(&sim->by_name, name)
               : NULL;
}

kl__sim_resource *kl__sim_find_kind(kl_sim *sim, const char *api_version,
                                    const char *kind)
{
    const char *slash = strchr(api_version, '/');
    size_t group_length = slash != NULL ? (size_t)(slash - api_version) : 0;
    const char *version = slash != NULL ? slash + 1 : api_version;

    for (kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        kl__sim_resource *resource =
            KL__CONTAINER(node, kl__sim_resource, node);
        const kl__sim_kind *served = resource->kind;

        if (strlen(served->group) == group_length &&
            memcmp(served->group, api_version, group_length) == 0 &&
            strcmp(served->kind, kind) == 0 &&
            kl__sim_kind_version(served, version, strlen(version)) != NULL) {
            return resource;
        }
    }
    return NULL;
}

/* The resource that holds the objects, for a kind that two groups serve
 * (Events); else NULL. */
static kl__sim_resource *find_home(kl_sim *sim, const kl__sim_kind *kind)
{
    const kl__conversion *conversion =
        kl__sim_kind_is(kind, KL__SIM_CUSTOM)
            ? NULL
            : kl__convert_find(kind->group, kind->kind, NULL);

    return conversion != NULL
               ? kl__sim_find(sim, conversion->stored_group, kind->plural)
               : NULL;
}

/* The place in the list before which a new resource goes: custom resources come
 * last, sorted by group, as in the discovery of a real server. */
static kl__list *place_for(kl_sim *sim, const kl__sim_kind *kind)
{
    kl__list *node = sim->resources.next;

    if (!kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        return &sim->resources;
    }
    for (; node != &sim->resources; node = node->next) {
        const kl__sim_kind *other =
            KL__CONTAINER(node, kl__sim_resource, node)->kind;

        if (kl__sim_kind_is(other, KL__SIM_CUSTOM) &&
            strcmp(other->group, kind->group) > 0) {
            break;
        }
    }
    return node;
}

kl_code kl__sim_serve(kl_sim *sim, kl__sim_kind *kind, kl_error *err)
{
    kl__sim_resource *resource = kl__sim_resource_new(kind, sim->history);
    kl__sim_resource *home = find_home(sim, kind);

    if (resource == NULL ||
        !kl__map_put(&sim->by_name, kind->qualified, resource, NULL)) {
        if (resource != NULL) {
            kl__sim_resource_unref(resource);
        }
        return kl_error_set(err, KL_ENOMEM, "out of memory for a resource");
    }
    if (home != NULL) {
        resource->home = home;
    }
    kl__list_append(place_for(sim, kind), &resource->node);
    return KL_OK;
}

void kl__sim_unserve(kl_sim *sim, kl__sim_resource *resource)
{
    kl__map_remove(&sim->by_name, resource->kind->qualified);
    kl__list_remove(&resource->node);
    resource->removed = true;
    kl__sim_bell_ring(&resource->changed);
    kl__sim_resource_unref(resource);
}
