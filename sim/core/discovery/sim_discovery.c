/*
 * sim_discovery.c - see sim_discovery.h: answers discovery, health checks and
 * /version.
 */
#include "sim/core/discovery/sim_discovery.h"

#include "sim/core/answer/sim_status.h"
#include "sim/core/discovery/sim_discovery_write.h"
#include "sim/core/discovery/sim_openapi.h"

#include <string.h>

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
        kl__sim_write_resources(writer, answer->sim, route->group,
                                route->version);
    } else if (answer->form.shape == KL__SIM_DISCOVERY) {
        answer->vary = "Accept";
        answer->is_public = true;
        kl__sim_write_aggregated(writer, answer->sim, is_core);
    } else if (is_core) {
        kl_writer_raw(writer, core_versions, sizeof(core_versions) - 1);
    } else if (route->group == NULL) {
        kl__sim_write_groups(writer, answer->sim);
    } else if (kl__sim_group_versions(answer->sim, route->group, versions) !=
               0) {
        kl__sim_write_group(writer, answer->sim, route->group);
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

/* Chooses the form of the answer; false: the answer is a refusal (*code). In a
 * real server, no router checks Accept for lists of groups. */
static bool take_form(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    bool is_core = route->group != NULL && *route->group == '\0';
    bool tells_groups = !is_core && route->version == NULL;

    return kl__sim_accept(answer, tells_groups ? KL__SIM_NO_ROUTER : 0, code,
                          err);
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
        kl_code code = KL_OK;

        if (!kl__sim_accept(answer, KL__SIM_PLAIN, &code, err)) {
            return code;
        }
        answer->form.pretty = false; /* the text is indented already */
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
    if (!wants_aggregated(answer) && !take_form(answer, &code, err)) {
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
