/*
 * sim_discovery_aggregated.c - aggregated discovery (KEP-3352): one document
 * with all resources of the core group, or of all other groups.
 */
#include "sim/core/discovery/sim_discovery_write.h"

#include <string.h>

/* Writes responseKind: the kind of a resource's or subresource's body. Group
 * and version "": those of the resource. */
static void put_response_kind(kl_writer *writer, const char *group,
                              const char *version, const char *kind)
{
    kl__sim_put_name(writer, "responseKind");
    kl_writer_begin_object(writer);
    kl__sim_put(writer, "group", group);
    kl__sim_put(writer, "version", version);
    kl__sim_put(writer, "kind", kind);
    kl_writer_end_object(writer);
}

static void put_below(kl_writer *writer, const kl__sim_offer *offer,
                      const char *version)
{
    /* The responseKind of a custom resource names its group and version, even
     * if they are those of the resource. */
    bool is_custom = kl__sim_kind_is(offer->kind, KL__SIM_CUSTOM) &&
                     *offer->of_version == '\0';

    kl_writer_begin_object(writer);
    kl__sim_put(writer, "subresource", offer->subresource);
    put_response_kind(writer, is_custom ? offer->kind->group : offer->of_group,
                      is_custom ? version : offer->of_version, offer->of_kind);
    kl__sim_put_split(writer, "verbs", offer->verbs);
    kl_writer_end_object(writer);
}

/* Writes the members of a resource, but does not end it: subresources may
 * follow. */
static void begin_resource(kl_writer *writer, const kl__sim_kind *kind,
                           const char *version, const char *verbs)
{
    bool is_custom = kl__sim_kind_is(kind, KL__SIM_CUSTOM);

    kl_writer_begin_object(writer);
    kl__sim_put(writer, "resource", kind->plural);
    put_response_kind(writer, is_custom ? kind->group : "",
                      is_custom ? version : "", kind->kind);
    kl__sim_put(writer, "scope",
                kl__sim_kind_is(kind, KL__SIM_NAMESPACED) ? "Namespaced"
                                                          : "Cluster");
    kl__sim_put(writer, "singularResource", kind->singular);
    kl__sim_put_split(writer, "verbs", verbs);
    kl__sim_put_list(writer, "shortNames", kind->short_names);
    kl__sim_put_list(writer, "categories", kind->categories);
}

static void put_resources(kl_writer *writer, kl__sim_offer_walk *walk)
{
    bool is_open = false, has_below = false;
    kl__sim_offer offer;

    while (kl__sim_offer_next(walk, &offer)) {
        if (offer.subresource != NULL) {
            if (!has_below) {
                kl__sim_put_name(writer, "subresources");
                kl_writer_begin_array(writer);
                has_below = true;
            }
            put_below(writer, &offer, walk->version);
            continue;
        }
        if (has_below) {
            kl_writer_end_array(writer);
            has_below = false;
        }
        if (is_open) {
            kl_writer_end_object(writer);
        }
        begin_resource(writer, offer.kind, walk->version, offer.verbs);
        is_open = true;
    }
    if (has_below) {
        kl_writer_end_array(writer);
    }
    if (is_open) {
        kl_writer_end_object(writer);
    }
}

static void put_aggregated_version(kl_writer *writer, const kl_sim *sim,
                                   const char *group, const char *version)
{
    kl__sim_offer_walk walk = {.sim = sim, .group = group, .version = version};

    kl_writer_begin_object(writer);
    kl__sim_put(writer, "version", version);
    kl__sim_put_name(writer, "resources");
    kl_writer_begin_array(writer);
    put_resources(writer, &walk);
    kl_writer_end_array(writer);
    kl__sim_put(writer, "freshness", "Current");
    kl_writer_end_object(writer);
}

static void put_group(kl_writer *writer, const kl_sim *sim, const char *group)
{
    const char *versions[KL__SIM_MAX_VERSIONS];
    size_t count = kl__sim_group_versions(sim, group, versions);

    kl_writer_begin_object(writer);
    kl__sim_put_name(writer, "metadata");
    kl_writer_begin_object(writer);
    if (*group != '\0') {
        kl__sim_put(writer, "name", group);
    }
    kl_writer_end_object(writer);
    kl__sim_put_name(writer, "versions");
    kl_writer_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        put_aggregated_version(writer, sim, group, versions[i]);
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

void kl__sim_write_aggregated(kl_writer *writer, const kl_sim *sim,
                              bool is_core)
{
    kl_writer_begin_object(writer);
    kl__sim_put(writer, "kind", "APIGroupDiscoveryList");
    kl__sim_put(writer, "apiVersion", "apidiscovery.k8s.io/v2");
    kl__sim_put_name(writer, "metadata");
    kl_writer_begin_object(writer);
    kl_writer_end_object(writer);
    kl__sim_put_name(writer, "items");
    kl_writer_begin_array(writer);
    for (const kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        const kl__sim_resource *resource =
            KL__CONTAINER(node, kl__sim_resource, node);
        const char *group = resource->kind->group;

        if ((*group == '\0') == is_core && kl__sim_opens_group(sim, resource)) {
            put_group(writer, sim, group);
        }
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}
