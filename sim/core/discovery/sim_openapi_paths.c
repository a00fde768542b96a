/*
 * sim_openapi_paths.c - see sim_openapi.h: writes the paths of an OpenAPI
 * document, with what a client looks up in them: actions, kinds and parameters.
 */
#include "sim/core/discovery/sim_openapi.h"

#include <string.h>

/* A client sends these parameters only if it finds them in the document. */
static const char *const options[] = {"dryRun", "fieldManager",
                                      "fieldValidation"};

typedef struct path_action {
    const char *method;
    const char *action;
    bool is_write; /* has a body and the options above */
} path_action;

static const path_action of_all[] = {{"get", "list", false},
                                     {"post", "post", true},
                                     {"delete", "deletecollection", false}};
static const path_action of_one[] = {{"get", "get", false},
                                     {"put", "put", true},
                                     {"delete", "delete", false},
                                     {"patch", "patch", true}};
static const path_action of_part[] = {
    {"get", "get", false}, {"put", "put", true}, {"patch", "patch", true}};

/* What all operations of a kind have in common. */
typedef struct told_kind {
    kl__openapi *document;
    const kl__sim_kind *kind;
    const char *version;
    const char *type;
} told_kind;

static void write_parameter(const told_kind *about, const char *name)
{
    bool is_v2 = about->document->is_v2;

    kl__buf_printf(about->document->out,
                   "{\"name\":\"%s\",\"in\":\"query\",%s}", name,
                   is_v2 ? "\"uniqueItems\":true,\"type\":\"string\""
                         : "\"schema\":{\"type\":\"string\",\"uniqueItems\":"
                           "true}");
}

static void write_schema(const told_kind *about, const char *type)
{
    bool is_v2 = about->document->is_v2;

    kl__buf_puts(about->document->out,
                 is_v2 ? "\"schema\":"
                       : "\"content\":{\"application/json\":{\"schema\":");
    kl__openapi_refer(about->document, type);
    kl__buf_puts(about->document->out, is_v2 ? "" : "}}");
}

static void write_operation(const told_kind *about, const path_action *action)
{
    kl__buf *out = about->document->out;

    kl__buf_printf(out, "\"%s\":{", action->method);
    if (action->is_write) {
        kl__buf_puts(out, "\"parameters\":[");
        for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
            kl__buf_puts(out, i != 0 ? "," : "");
            write_parameter(about, options[i]);
        }
        kl__buf_puts(out, "],");
    }
    kl__buf_puts(out, "\"responses\":{\"200\":{\"description\":\"OK\",");
    write_schema(about, about->type);
    kl__buf_printf(out,
                   "}},\"x-kubernetes-action\":\"%s\","
                   "\"x-kubernetes-group-version-kind\":{\"group\":\"%s\","
                   "\"kind\":\"%s\",\"version\":\"%s\"}}",
                   action->action, about->kind->group, about->kind->kind,
                   about->version);
}

/* Writes one path with its operations; `rest` follows the plural. */
static void write_path(const told_kind *about, bool is_namespaced,
                       const char *rest, bool *is_first)
{
    const kl__sim_kind *kind = about->kind;
    bool is_core = *kind->group == '\0';
    const path_action *actions = *rest == '\0'                  ? of_all
                                 : strcmp(rest, "/{name}") == 0 ? of_one
                                                                : of_part;
    size_t count = actions == of_one ? 4 : 3;
    kl__buf *out = about->document->out;

    if (actions == of_all && !is_namespaced &&
        kl__sim_kind_is(kind, KL__SIM_NAMESPACED)) {
        count = 1; /* across all namespaces there is only list */
    }
    kl__buf_printf(out, "%s\"/%s%s%s/%s/%s%s%s\":{", *is_first ? "" : ",",
                   is_core ? "api" : "apis", is_core ? "" : "/", kind->group,
                   about->version,
                   is_namespaced ? "namespaces/{namespace}/" : "", kind->plural,
                   rest);
    *is_first = false;
    for (size_t i = 0; i < count; i++) {
        kl__buf_puts(out, i != 0 ? "," : "");
        write_operation(about, &actions[i]);
    }
    kl__buf_putc(out, '}');
}

void kl__sim_openapi_paths(kl__openapi *document, const kl__sim_kind *kind,
                           const kl__sim_version *version, const char *type,
                           bool *is_first)
{
    const told_kind about = {document, kind, version->name, type};
    bool is_namespaced = kl__sim_kind_is(kind, KL__SIM_NAMESPACED);

    write_path(&about, false, "", is_first);
    if (is_namespaced) {
        write_path(&about, true, "", is_first);
    }
    write_path(&about, is_namespaced, "/{name}", is_first);
    if (version->has_status) {
        write_path(&about, is_namespaced, "/{name}/status", is_first);
    }
}
