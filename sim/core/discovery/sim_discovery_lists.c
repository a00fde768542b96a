/*
 * sim_discovery_lists.c - the classic form of discovery: a list of groups, and
 * a list of resources for each version.
 */
#include "sim/core/discovery/sim_discovery_write.h"

#include "base/base64.h"
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 512 };

void kl__sim_put_name(kl_writer *writer, const char *name)
{
    kl_writer_name(writer, name, strlen(name));
}

void kl__sim_put(kl_writer *writer, const char *name, const char *text)
{
    kl__sim_put_name(writer, name);
    kl_writer_string(writer, text, strlen(text));
}

void kl__sim_put_list(kl_writer *writer, const char *name, char *const *list)
{
    if (*list == NULL) {
        return;
    }
    kl__sim_put_name(writer, name);
    kl_writer_begin_array(writer);
    for (; *list != NULL; list++) {
        kl_writer_string(writer, *list, strlen(*list));
    }
    kl_writer_end_array(writer);
}

void kl__sim_put_split(kl_writer *writer, const char *name, const char *text)
{
    kl__sim_put_name(writer, name);
    kl_writer_begin_array(writer);
    while (*text != '\0') {
        size_t length = strcspn(text, ",");

        kl_writer_string(writer, text, length);
        text += length;
        text += *text == ',';
    }
    kl_writer_end_array(writer);
}

static void put_resource(kl_writer *writer, const kl__sim_offer *offer)
{
    const kl__sim_kind *kind = offer->kind;
    bool is_below = offer->subresource != NULL;
    char path[MAX_NAME];

    snprintf(path, sizeof(path), "%s%s%s", kind->plural, is_below ? "/" : "",
             is_below ? offer->subresource : "");
    kl_writer_begin_object(writer);
    kl__sim_put(writer, "name", path);
    kl__sim_put(writer, "singularName", is_below ? "" : kind->singular);
    kl__sim_put_name(writer, "namespaced");
    kl_writer_bool(writer, kl__sim_kind_is(kind, KL__SIM_NAMESPACED));
    if (*offer->of_version != '\0') {
        kl__sim_put(writer, "group", offer->of_group);
        kl__sim_put(writer, "version", offer->of_version);
    }
    kl__sim_put(writer, "kind", offer->of_kind);
    kl__sim_put_split(writer, "verbs", offer->verbs);
    if (!is_below) {
        kl__sim_put_list(writer, "shortNames", kind->short_names);
        kl__sim_put_list(writer, "categories", kind->categories);
    }
    kl_writer_end_object(writer);
}

void kl__sim_write_resources(kl_writer *writer, const kl_sim *sim,
                             const char *group, const char *version)
{
    kl__sim_offer_walk walk = {.sim = sim, .group = group, .version = version};
    kl__sim_offer offer;
    char group_version[MAX_NAME];

    snprintf(group_version, sizeof(group_version), "%s%s%s", group,
             *group != '\0' ? "/" : "", version);
    kl_writer_begin_object(writer);
    kl__sim_put(writer, "kind", "APIResourceList");
    if (*group != '\0') { /* the core group's list has no apiVersion */
        kl__sim_put(writer, "apiVersion", "v1");
    }
    kl__sim_put(writer, "groupVersion", group_version);
    kl__sim_put_name(writer, "resources");
    kl_writer_begin_array(writer);
    while (kl__sim_offer_next(&walk, &offer)) {
        put_resource(writer, &offer);
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

static void put_group_version(kl_writer *writer, const char *group,
                              const char *version)
{
    char group_version[MAX_NAME];

    snprintf(group_version, sizeof(group_version), "%s/%s", group, version);
    kl_writer_begin_object(writer);
    kl__sim_put(writer, "groupVersion", group_version);
    kl__sim_put(writer, "version", version);
    kl_writer_end_object(writer);
}

/* Writes the members of a group. */
static void put_group(kl_writer *writer, const kl_sim *sim, const char *group)
{
    const char *versions[KL__SIM_MAX_VERSIONS];
    size_t count = kl__sim_group_versions(sim, group, versions);

    kl__sim_put(writer, "name", group);
    kl__sim_put_name(writer, "versions");
    kl_writer_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        put_group_version(writer, group, versions[i]);
    }
    kl_writer_end_array(writer);
    if (count != 0) {
        kl__sim_put_name(writer, "preferredVersion");
        put_group_version(writer, group, versions[0]);
    }
}

void kl__sim_write_group(kl_writer *writer, const kl_sim *sim,
                         const char *group)
{
    kl_writer_begin_object(writer);
    kl__sim_put(writer, "kind", "APIGroup");
    kl__sim_put(writer, "apiVersion", "v1");
    put_group(writer, sim, group);
    kl_writer_end_object(writer);
}

void kl__sim_write_groups(kl_writer *writer, const kl_sim *sim)
{
    kl_writer_begin_object(writer);
    kl__sim_put(writer, "kind", "APIGroupList");
    kl__sim_put(writer, "apiVersion", "v1");
    kl__sim_put_name(writer, "groups");
    kl_writer_begin_array(writer);
    for (const kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        const kl__sim_resource *resource =
            KL__CONTAINER(node, kl__sim_resource, node);

        if (*resource->kind->group != '\0' &&
            kl__sim_opens_group(sim, resource)) {
            kl_writer_begin_object(writer);
            put_group(writer, sim, resource->kind->group);
            kl_writer_end_object(writer);
        }
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}
