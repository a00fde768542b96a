/*
 * sim_discovery.c - see sim_discovery.h: answers discovery, health checks and
 * /version. Discovery has two forms: a list of groups and a list of resources
 * for each version, or one document with all (aggregated, KEP-3352).
 */
#include "sim/core/discovery/sim_discovery.h"

#include "base/base64.h"
#include "base/buf.h"
#include "kubelua/writer.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/discovery/sim_offer.h"
#include "sim/core/discovery/sim_openapi.h"

#include <stdio.h>
#include <string.h>

/* ---- lists of groups and resources ---- */

enum { MAX_NAME = 512 };

static void sim_put_name(kl_writer *writer, const char *name)
{
    kl_writer_name(writer, name, strlen(name));
}

static void sim_put(kl_writer *writer, const char *name, const char *text)
{
    sim_put_name(writer, name);
    kl_writer_string(writer, text, strlen(text));
}

/* Writes a member that is an array: from a list that ends with NULL (nothing if
 * it is empty), or from a text with commas. */
static void sim_put_list(kl_writer *writer, const char *name, char *const *list)
{
    if (*list == NULL) {
        return;
    }
    sim_put_name(writer, name);
    kl_writer_begin_array(writer);
    for (; *list != NULL; list++) {
        kl_writer_string(writer, *list, strlen(*list));
    }
    kl_writer_end_array(writer);
}

static void sim_put_split(kl_writer *writer, const char *name, const char *text)
{
    sim_put_name(writer, name);
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
    sim_put(writer, "name", path);
    sim_put(writer, "singularName", is_below ? "" : kind->singular);
    sim_put_name(writer, "namespaced");
    kl_writer_bool(writer, kl__sim_kind_is(kind, KL__SIM_NAMESPACED));
    if (*offer->of_version != '\0') {
        sim_put(writer, "group", offer->of_group);
        sim_put(writer, "version", offer->of_version);
    }
    sim_put(writer, "kind", offer->of_kind);
    sim_put_split(writer, "verbs", offer->verbs);
    if (!is_below) {
        sim_put_list(writer, "shortNames", kind->short_names);
        sim_put_list(writer, "categories", kind->categories);
    }
    kl_writer_end_object(writer);
}

static void sim_write_resources(kl_writer *writer, const kl_sim *sim,
                                const char *group, const char *version)
{
    kl__sim_offer_walk walk = {.sim = sim, .group = group, .version = version};
    kl__sim_offer offer;
    char group_version[MAX_NAME];

    snprintf(group_version, sizeof(group_version), "%s%s%s", group,
             *group != '\0' ? "/" : "", version);
    kl_writer_begin_object(writer);
    sim_put(writer, "kind", "APIResourceList");
    if (*group != '\0') { /* the core group's list has no apiVersion */
        sim_put(writer, "apiVersion", "v1");
    }
    sim_put(writer, "groupVersion", group_version);
    sim_put_name(writer, "resources");
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
    sim_put(writer, "groupVersion", group_version);
    sim_put(writer, "version", version);
    kl_writer_end_object(writer);
}

/* Writes the members of a group. */
static void put_group(kl_writer *writer, const kl_sim *sim, const char *group)
{
    const char *versions[KL__SIM_MAX_VERSIONS];
    size_t count = kl__sim_group_versions(sim, group, versions);

    sim_put(writer, "name", group);
    sim_put_name(writer, "versions");
    kl_writer_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        put_group_version(writer, group, versions[i]);
    }
    kl_writer_end_array(writer);
    if (count != 0) {
        sim_put_name(writer, "preferredVersion");
        put_group_version(writer, group, versions[0]);
    }
}

static void sim_write_group(kl_writer *writer, const kl_sim *sim,
                            const char *group)
{
    kl_writer_begin_object(writer);
    sim_put(writer, "kind", "APIGroup");
    sim_put(writer, "apiVersion", "v1");
    put_group(writer, sim, group);
    kl_writer_end_object(writer);
}

/* Write an APIGroupList, an APIGroup, an APIResourceList. */
static void sim_write_groups(kl_writer *writer, const kl_sim *sim)
{
    kl_writer_begin_object(writer);
    sim_put(writer, "kind", "APIGroupList");
    sim_put(writer, "apiVersion", "v1");
    sim_put_name(writer, "groups");
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

/* ---- aggregated discovery ---- */

/* Writes responseKind: the kind of a resource's or subresource's body. Group
 * and version "": those of the resource. */
static void put_response_kind(kl_writer *writer, const char *group,
                              const char *version, const char *kind)
{
    sim_put_name(writer, "responseKind");
    kl_writer_begin_object(writer);
    sim_put(writer, "group", group);
    sim_put(writer, "version", version);
    sim_put(writer, "kind", kind);
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
    sim_put(writer, "subresource", offer->subresource);
    put_response_kind(writer, is_custom ? offer->kind->group : offer->of_group,
                      is_custom ? version : offer->of_version, offer->of_kind);
    sim_put_split(writer, "verbs", offer->verbs);
    kl_writer_end_object(writer);
}

/* Writes the members of a resource, but does not end it: subresources may
 * follow. */
static void begin_resource(kl_writer *writer, const kl__sim_kind *kind,
                           const char *version, const char *verbs)
{
    bool is_custom = kl__sim_kind_is(kind, KL__SIM_CUSTOM);

    kl_writer_begin_object(writer);
    sim_put(writer, "resource", kind->plural);
    put_response_kind(writer, is_custom ? kind->group : "",
                      is_custom ? version : "", kind->kind);
    sim_put(writer, "scope",
            kl__sim_kind_is(kind, KL__SIM_NAMESPACED) ? "Namespaced"
                                                      : "Cluster");
    sim_put(writer, "singularResource", kind->singular);
    sim_put_split(writer, "verbs", verbs);
    sim_put_list(writer, "shortNames", kind->short_names);
    sim_put_list(writer, "categories", kind->categories);
}

static void put_resources(kl_writer *writer, kl__sim_offer_walk *walk)
{
    bool is_open = false, has_below = false;
    kl__sim_offer offer;

    while (kl__sim_offer_next(walk, &offer)) {
        if (offer.subresource != NULL) {
            if (!has_below) {
                sim_put_name(writer, "subresources");
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
    sim_put(writer, "version", version);
    sim_put_name(writer, "resources");
    kl_writer_begin_array(writer);
    put_resources(writer, &walk);
    kl_writer_end_array(writer);
    sim_put(writer, "freshness", "Current");
    kl_writer_end_object(writer);
}

static void put_group_item(kl_writer *writer, const kl_sim *sim,
                           const char *group)
{
    const char *versions[KL__SIM_MAX_VERSIONS];
    size_t count = kl__sim_group_versions(sim, group, versions);

    kl_writer_begin_object(writer);
    sim_put_name(writer, "metadata");
    kl_writer_begin_object(writer);
    if (*group != '\0') {
        sim_put(writer, "name", group);
    }
    kl_writer_end_object(writer);
    sim_put_name(writer, "versions");
    kl_writer_begin_array(writer);
    for (size_t i = 0; i < count; i++) {
        put_aggregated_version(writer, sim, group, versions[i]);
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

/* Writes an APIGroupDiscoveryList of the core group, or of all others. */
static void sim_write_aggregated(kl_writer *writer, const kl_sim *sim,
                                 bool is_core)
{
    kl_writer_begin_object(writer);
    sim_put(writer, "kind", "APIGroupDiscoveryList");
    sim_put(writer, "apiVersion", "apidiscovery.k8s.io/v2");
    sim_put_name(writer, "metadata");
    kl_writer_begin_object(writer);
    kl_writer_end_object(writer);
    sim_put_name(writer, "items");
    kl_writer_begin_array(writer);
    for (const kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        const kl__sim_resource *resource =
            KL__CONTAINER(node, kl__sim_resource, node);
        const char *group = resource->kind->group;

        if ((*group == '\0') == is_core && kl__sim_opens_group(sim, resource)) {
            put_group_item(writer, sim, group);
        }
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

/* ---- answers ---- */

/* --- Parts of the documents. ---------------------------------------------- */

static const char core_versions[] =
    "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}";

/* Unknown paths of a group with built-in kinds get a Status, all other unknown
 * paths a text. */
kl_code kl__sim_refuse_unserved(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_resource *first =
        answer->ask.route.group != NULL
            ? kl__sim_group_first(answer->sim, answer->ask.route.group)
            : NULL;

    return first != NULL && !kl__sim_kind_is(first->kind, KL__SIM_CUSTOM)
               ? kl__sim_refuse_path(answer, err)
               : kl__sim_refuse_page(answer, err);
}

/* True if a group has resources in that version. */
static bool serves_version(const kl_sim *sim, const char *group,
                           const char *version)
{
    const char *versions[KL__SIM_MAX_VERSIONS];
    size_t count = kl__sim_group_versions(sim, group, versions);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(versions[i], version) == 0) {
            return true;
        }
    }
    return false;
}

static kl_code finish_document(kl__sim_answer *answer, kl_writer *writer,
                               kl_error *err)
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

/* True if the client asks for aggregated discovery. Kubernetes has removed its
 * form v2beta1; clients that ask for that form accept the lists too. */
static bool wants_aggregated(kl__sim_answer *answer)
{
    const kl__sim_route *route = &answer->ask.route;
    kl__sim_form form;

    if (route->version != NULL ||
        (route->group != NULL && *route->group != '\0') ||
        !kl__sim_accept_read(&answer->ask, KL__SIM_GROUPS, &form) ||
        form.shape != KL__SIM_DISCOVERY) {
        return false;
    }
    answer->form = form;
    return true;
}

static kl_code discover_api(kl__sim_answer *answer, kl_writer *writer,
                            kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    const char *versions[KL__SIM_MAX_VERSIONS];
    bool is_core = route->group != NULL && *route->group == '\0';

    kl__sim_answer_json(answer, 200);
    if (route->version != NULL &&
        !serves_version(answer->sim, route->group, route->version)) {
        return kl__sim_refuse_unserved(answer, err);
    }
    if (route->version != NULL) {
        sim_write_resources(writer, answer->sim, route->group, route->version);
    } else if (answer->form.shape == KL__SIM_DISCOVERY) {
        answer->vary = "Accept";
        answer->is_public = true;
        sim_write_aggregated(writer, answer->sim, is_core);
    } else if (is_core) {
        kl_writer_raw(writer, core_versions, sizeof(core_versions) - 1);
    } else if (route->group == NULL) {
        sim_write_groups(writer, answer->sim);
    } else if (kl__sim_group_versions(answer->sim, route->group, versions) !=
               0) {
        sim_write_group(writer, answer->sim, route->group);
    } else {
        return kl__sim_refuse_page(answer, err);
    }
    return finish_document(answer, writer, err);
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

/* True for /healthz, /livez, /readyz, and a single check below them, by
 * name. */
static bool is_health(const kl__sim_ask *ask)
{
    static const char *const checks[] = {"etcd", "log", "ping"};
    const char *path = ask->segment_count > 0 ? ask->segments[0] : "";

    if (strcmp(path, "healthz") != 0 && strcmp(path, "livez") != 0 &&
        strcmp(path, "readyz") != 0) {
        return false;
    }
    for (size_t i = 0; i < 3 && ask->segment_count == 2; i++) {
        if (strcmp(ask->segments[1], checks[i]) == 0) {
            return true;
        }
    }
    return ask->segment_count == 1;
}

/* True if the path accepts the method. Most accept any; resources of a version,
 * /api and /version accept GET only. */
static bool takes_method(const kl__sim_answer *answer)
{
    const kl__sim_ask *ask = &answer->ask;
    const kl__sim_route *route = &ask->route;

    if (strcmp(ask->method, "GET") == 0) {
        return true;
    }
    if (ask->sound && route->version != NULL) {
        return !serves_version(answer->sim, route->group, route->version);
    }
    return ask->segment_count != 1 ||
           (strcmp(ask->segments[0], "api") != 0 &&
            strcmp(ask->segments[0], "version") != 0);
}

/* Answers paths outside of /api and /apis. */
static kl_code answer_other(kl__sim_answer *answer, kl_error *err)
{
    /* Always indented, and without a line feed at the end. */
    static const char version[] = "{\n"
                                  "  \"major\": \"1\",\n"
                                  "  \"minor\": \"36\",\n"
                                  "  \"emulationMajor\": \"1\",\n"
                                  "  \"emulationMinor\": \"36\",\n"
                                  "  \"minCompatibilityMajor\": \"1\",\n"
                                  "  \"minCompatibilityMinor\": \"35\",\n"
                                  "  \"gitVersion\": \"v1.36.3-kubelua-sim\",\n"
                                  "  \"gitCommit\": \"\",\n"
                                  "  \"gitTreeState\": \"\",\n"
                                  "  \"buildDate\": \"1970-01-01T00:00:00Z\",\n"
                                  "  \"goVersion\": \"\",\n"
                                  "  \"compiler\": \"\",\n"
                                  "  \"platform\": \"\"\n"
                                  "}";
    const char *path =
        answer->ask.segment_count == 1 ? answer->ask.segments[0] : "";

    if (answer->ask.segment_count > 1 &&
        strcmp(answer->ask.segments[0], "openapi") == 0) {
        return kl__sim_openapi(answer, err);
    }
    if (strcmp(path, "version") == 0) {
        return answer_text(answer, "application/json", version, err);
    }
    if (is_health(&answer->ask)) {
        return answer_text(answer, "text/plain; charset=utf-8", "ok", err);
    }
    if (answer->ask.segment_count == 0) {
        return answer_text(answer, "application/json",
                           "{\"paths\":[\"/api\",\"/apis\",\"/healthz\","
                           "\"/livez\",\"/openapi/v2\",\"/openapi/v3\",\"/"
                           "readyz\",\"/version\"]}\n",
                           err);
    }
    return kl__sim_refuse_unserved(answer, err);
}

kl_code kl__sim_discover(kl__sim_answer *answer, kl_error *err)
{
    kl_writer *writer;
    kl_code code = KL_OK;

    if (!takes_method(answer)) {
        return kl__sim_refuse_method(answer, err);
    }
    if (!answer->ask.sound) {
        return answer_other(answer, err);
    }
    if (!wants_aggregated(answer) && !kl__sim_accept(answer, 0, &code, err)) {
        return code;
    }
    writer = kl_writer_new();
    if (writer == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    code = discover_api(answer, writer, err);
    kl_writer_free(writer);
    return code;
}
