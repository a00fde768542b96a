/*
 * sim_discovery.c - see sim_discovery.h. Both ways are made of one walk over
 * groups, their versions and the resources of these.
 */
#include "sim/sim_discovery.h"

#include "kubelua/writer.h"
#include "sim/sim_status.h"

#include <stdio.h>
#include <string.h>

static const char *const collection_verbs[] = {
    "create", "delete", "deletecollection", "get",
    "list",   "patch",  "update",           "watch"};
static const char *const status_verbs[] = {"get", "patch", "update"};

static const char aggregated[] =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

static const char core_versions[] =
    "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}";

static void name(kl_writer *writer, const char *text)
{
    kl_writer_name(writer, text, strlen(text));
}

static void text(kl_writer *writer, const char *value)
{
    kl_writer_string(writer, value, strlen(value));
}

static void put(kl_writer *writer, const char *member, const char *value)
{
    name(writer, member);
    text(writer, value);
}

static void put_list(kl_writer *writer, const char *member, char *const *list)
{
    if (*list == NULL) {
        return;
    }
    name(writer, member);
    kl_writer_begin_array(writer);
    for (; *list != NULL; list++) {
        text(writer, *list);
    }
    kl_writer_end_array(writer);
}

static void put_verbs(kl_writer *writer, const kl__sim_kind *kind,
                      bool of_status)
{
    const char *const *verbs = of_status ? status_verbs : collection_verbs;
    size_t count = of_status ? 3 : 8;

    name(writer, "verbs");
    kl_writer_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        if (kl__sim_kind_is(kind, KL__SIM_NO_COLLECTION) &&
            strcmp(verbs[i], "deletecollection") == 0) {
            continue;
        }
        text(writer, verbs[i]);
    }
    kl_writer_end_array(writer);
}

static const kl__sim_resource *at(const kl__list *node)
{
    return KL__CONTAINER(node, kl__sim_resource, node);
}

/* The next resource of a group from a node on, or NULL. */
static const kl__sim_resource *next_of(const kl_sim *sim, const kl__list *node,
                                       const char *group)
{
    for (; node != &sim->resources; node = node->next) {
        if (strcmp(at(node)->kind->group, group) == 0) {
            return at(node);
        }
    }
    return NULL;
}

static const kl__sim_resource *first_of(const kl_sim *sim, const char *group)
{
    return next_of(sim, sim->resources.next, group);
}

/* A group of built-in kinds refuses what it does not serve with a Status, any
 * other with a page. */
kl_code kl__sim_refuse_unserved(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_resource *first =
        answer->ask.route.group != NULL
            ? first_of(answer->sim, answer->ask.route.group)
            : NULL;

    return first != NULL && !kl__sim_kind_is(first->kind, KL__SIM_CUSTOM)
               ? kl__sim_refuse_path(answer, err)
               : kl__sim_refuse_page(answer, err);
}

enum { MAX_VERSIONS = 32 };

/* The versions of a group, the preferred one first; borrowed. */
static size_t versions_of(const kl_sim *sim, const char *group,
                          const char **versions)
{
    size_t count = 0;

    for (const kl__sim_resource *resource = first_of(sim, group);
         resource != NULL;
         resource = next_of(sim, resource->node.next, group)) {
        for (size_t i = 0; i < resource->kind->version_count; i++) {
            const char *version = resource->kind->versions[i].name;
            size_t known = 0;

            while (known < count && strcmp(versions[known], version) != 0) {
                known++;
            }
            if (known == count && count < MAX_VERSIONS) {
                versions[count++] = version;
            }
        }
    }
    return count;
}

/* Whether a group has resources in that version. */
static bool serves_version(const kl_sim *sim, const char *group,
                           const char *version)
{
    const char *versions[MAX_VERSIONS];
    size_t count = versions_of(sim, group, versions);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(versions[i], version) == 0) {
            return true;
        }
    }
    return false;
}

/* --- The way of lists of groups and lists of resources. ------------------- */

static void put_resource(kl_writer *writer, const kl__sim_kind *kind,
                         const char *subresource)
{
    char path[600];

    snprintf(path, sizeof(path), "%s%s", kind->plural,
             subresource != NULL ? subresource : "");
    kl_writer_begin_object(writer);
    put(writer, "name", path);
    put(writer, "singularName", subresource != NULL ? "" : kind->singular);
    name(writer, "namespaced");
    kl_writer_bool(writer, kl__sim_kind_is(kind, KL__SIM_NAMESPACED));
    put(writer, "kind", kind->kind);
    put_verbs(writer, kind, subresource != NULL);
    if (subresource == NULL) {
        put_list(writer, "shortNames", kind->short_names);
        put_list(writer, "categories", kind->categories);
    }
    kl_writer_end_object(writer);
}

static void write_resources(kl_writer *writer, const kl_sim *sim,
                            const char *group, const char *version)
{
    char group_version[512];

    snprintf(group_version, sizeof(group_version), "%s%s%s", group,
             *group != '\0' ? "/" : "", version);
    kl_writer_begin_object(writer);
    put(writer, "kind", "APIResourceList");
    put(writer, "apiVersion", "v1");
    put(writer, "groupVersion", group_version);
    name(writer, "resources");
    kl_writer_begin_array(writer);
    for (const kl__sim_resource *resource = first_of(sim, group);
         resource != NULL;
         resource = next_of(sim, resource->node.next, group)) {
        const kl__sim_version *served =
            kl__sim_kind_version(resource->kind, version, strlen(version));

        if (served != NULL) {
            put_resource(writer, resource->kind, NULL);
            if (served->has_status) {
                put_resource(writer, resource->kind, "/status");
            }
        }
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

static void put_version(kl_writer *writer, const char *group,
                        const char *version)
{
    char group_version[512];

    snprintf(group_version, sizeof(group_version), "%s/%s", group, version);
    kl_writer_begin_object(writer);
    put(writer, "groupVersion", group_version);
    put(writer, "version", version);
    kl_writer_end_object(writer);
}

/* The members of a group, in an object of its own. */
static void write_group(kl_writer *writer, const kl_sim *sim, const char *group,
                        bool is_whole)
{
    const char *versions[MAX_VERSIONS];
    size_t count = versions_of(sim, group, versions);

    kl_writer_begin_object(writer);
    if (is_whole) {
        put(writer, "kind", "APIGroup");
        put(writer, "apiVersion", "v1");
    }
    put(writer, "name", group);
    name(writer, "versions");
    kl_writer_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        put_version(writer, group, versions[i]);
    }
    kl_writer_end_array(writer);
    if (count != 0) {
        name(writer, "preferredVersion");
        put_version(writer, group, versions[0]);
    }
    kl_writer_end_object(writer);
}

/* Whether a resource is the first of its group, which has versions. */
static bool opens_group(const kl_sim *sim, const kl__sim_resource *resource)
{
    const char *versions[MAX_VERSIONS];
    const char *group = resource->kind->group;

    return first_of(sim, group) == resource &&
           versions_of(sim, group, versions) != 0;
}

static void write_groups(kl_writer *writer, const kl_sim *sim)
{
    kl_writer_begin_object(writer);
    put(writer, "kind", "APIGroupList");
    put(writer, "apiVersion", "v1");
    name(writer, "groups");
    kl_writer_begin_array(writer);
    for (const kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        if (*at(node)->kind->group != '\0' && opens_group(sim, at(node))) {
            write_group(writer, sim, at(node)->kind->group, false);
        }
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

/* --- The aggregated way: everything in one answer. ------------------------ */

static void put_response_kind(kl_writer *writer, const kl__sim_kind *kind,
                              const char *version)
{
    name(writer, "responseKind");
    kl_writer_begin_object(writer);
    put(writer, "group", kind->group);
    put(writer, "version", version);
    put(writer, "kind", kind->kind);
    kl_writer_end_object(writer);
}

static void put_aggregated(kl_writer *writer, const kl__sim_kind *kind,
                           const kl__sim_version *version)
{
    kl_writer_begin_object(writer);
    put(writer, "resource", kind->plural);
    put_response_kind(writer, kind, version->name);
    put(writer, "scope",
        kl__sim_kind_is(kind, KL__SIM_NAMESPACED) ? "Namespaced" : "Cluster");
    put(writer, "singularResource", kind->singular);
    put_verbs(writer, kind, false);
    put_list(writer, "shortNames", kind->short_names);
    put_list(writer, "categories", kind->categories);
    if (version->has_status) {
        name(writer, "subresources");
        kl_writer_begin_array(writer);
        kl_writer_begin_object(writer);
        put(writer, "subresource", "status");
        put_response_kind(writer, kind, version->name);
        put_verbs(writer, kind, true);
        kl_writer_end_object(writer);
        kl_writer_end_array(writer);
    }
    kl_writer_end_object(writer);
}

static void put_aggregated_version(kl_writer *writer, const kl_sim *sim,
                                   const char *group, const char *version)
{
    kl_writer_begin_object(writer);
    put(writer, "version", version);
    name(writer, "resources");
    kl_writer_begin_array(writer);
    for (const kl__sim_resource *resource = first_of(sim, group);
         resource != NULL;
         resource = next_of(sim, resource->node.next, group)) {
        const kl__sim_version *served =
            kl__sim_kind_version(resource->kind, version, strlen(version));

        if (served != NULL) {
            put_aggregated(writer, resource->kind, served);
        }
    }
    kl_writer_end_array(writer);
    put(writer, "freshness", "Current");
    kl_writer_end_object(writer);
}

static void put_aggregated_group(kl_writer *writer, const kl_sim *sim,
                                 const char *group)
{
    const char *versions[MAX_VERSIONS];
    size_t count = versions_of(sim, group, versions);

    kl_writer_begin_object(writer);
    name(writer, "metadata");
    kl_writer_begin_object(writer);
    if (*group != '\0') {
        put(writer, "name", group);
    }
    kl_writer_end_object(writer);
    name(writer, "versions");
    kl_writer_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        put_aggregated_version(writer, sim, group, versions[i]);
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

/* Of the core group, or of all others. */
static void write_aggregated(kl_writer *writer, const kl_sim *sim, bool core)
{
    kl_writer_begin_object(writer);
    put(writer, "kind", "APIGroupDiscoveryList");
    put(writer, "apiVersion", "apidiscovery.k8s.io/v2");
    name(writer, "metadata");
    kl_writer_begin_object(writer);
    kl_writer_end_object(writer);
    name(writer, "items");
    kl_writer_begin_array(writer);
    for (const kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        const char *group = at(node)->kind->group;

        if ((*group == '\0') == core && opens_group(sim, at(node))) {
            put_aggregated_group(writer, sim, group);
        }
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

/* --- Paths. --------------------------------------------------------------- */

static kl_code finish(kl__sim_answer *answer, kl_writer *writer, kl_error *err)
{
    size_t length = 0;
    const char *json = kl_writer_finish(writer, &length, NULL);

    if (json != NULL) {
        kl__buf_append(&answer->out, json, length);
    }
    if (json == NULL || answer->out.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    return KL_OK;
}

static bool wants_aggregated(const kl__sim_answer *answer)
{
    const char *accept = answer->ask.accept;
    const char *as = strstr(accept, "as=APIGroupDiscoveryList");
    const char *version = strstr(accept, "v=v2");

    /* v2beta1 is not spoken; those who ask for it take the lists as well. */
    return as != NULL && version != NULL && version[4] != 'b';
}

static kl_code discover_api(kl__sim_answer *answer, kl_writer *writer,
                            kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    const char *versions[MAX_VERSIONS];
    bool is_core = route->group != NULL && *route->group == '\0';

    kl__sim_answer_json(answer, 200);
    if (route->version != NULL &&
        !serves_version(answer->sim, route->group, route->version)) {
        return kl__sim_refuse_unserved(answer, err);
    }
    if (route->version != NULL) {
        write_resources(writer, answer->sim, route->group, route->version);
    } else if ((is_core || route->group == NULL) && wants_aggregated(answer)) {
        answer->content_type = aggregated;
        write_aggregated(writer, answer->sim, is_core);
    } else if (is_core) {
        kl_writer_raw(writer, core_versions, sizeof(core_versions) - 1);
    } else if (route->group == NULL) {
        write_groups(writer, answer->sim);
    } else if (versions_of(answer->sim, route->group, versions) != 0) {
        write_group(writer, answer->sim, route->group, true);
    } else {
        return kl__sim_refuse_page(answer, err);
    }
    return finish(answer, writer, err);
}

static kl_code answer_text(kl__sim_answer *answer, const char *type,
                           const char *body, kl_error *err)
{
    answer->status = 200;
    answer->content_type = type;
    kl__buf_puts(&answer->out, body);
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

/* Paths outside of /api and /apis. */
static kl_code answer_other(kl__sim_answer *answer, kl_error *err)
{
    static const char version[] =
        "{\"major\":\"1\",\"minor\":\"36\","
        "\"gitVersion\":\"v1.36.3-kubelua-sim\",\"gitCommit\":\"\","
        "\"gitTreeState\":\"\",\"buildDate\":\"1970-01-01T00:00:00Z\","
        "\"goVersion\":\"\",\"compiler\":\"\",\"platform\":\"\"}\n";
    const char *path =
        answer->ask.segment_count == 1 ? answer->ask.segments[0] : "";

    if (strcmp(path, "version") == 0) {
        return answer_text(answer, "application/json", version, err);
    }
    if (strcmp(path, "healthz") == 0 || strcmp(path, "livez") == 0 ||
        strcmp(path, "readyz") == 0) {
        return answer_text(answer, "text/plain; charset=utf-8", "ok", err);
    }
    if (answer->ask.segment_count == 0) {
        return answer_text(answer, "application/json",
                           "{\"paths\":[\"/api\",\"/apis\",\"/healthz\","
                           "\"/livez\",\"/readyz\",\"/version\"]}\n",
                           err);
    }
    return kl__sim_refuse_unserved(answer, err);
}

kl_code kl__sim_discover(kl__sim_answer *answer, kl_error *err)
{
    kl_writer *writer;
    kl_code code;

    if (strcmp(answer->ask.method, "GET") != 0 &&
        strcmp(answer->ask.method, "HEAD") != 0) {
        return kl__sim_refuse_method(answer, err);
    }
    if (!answer->ask.sound) {
        return answer_other(answer, err);
    }
    writer = kl_writer_new();
    if (writer == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    code = discover_api(answer, writer, err);
    kl_writer_free(writer);
    return code;
}
