/*
 * sim_openapi.c - see sim_openapi.h: makes a document of paths, with what a
 * client looks up in them (actions, kinds, parameters), and of the schemas of
 * kinds ("components").
 */
#include "sim/core/discovery/sim_openapi.h"

#include "base/mem.h"
#include "base/str.h"
#include "json/quote.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/schema/openapi_protobuf.h"

#include <inttypes.h>
#include <stdio.h>
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

/* Appends the paths of a kind in one version, with commas between them; `type`
 * is the name of its component. */
static void sim_openapi_paths(kl__openapi *document, const kl__sim_kind *kind,
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

/* ---- documents ---- */

enum { TYPE_SIZE = 512 };

static bool is_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* The scope of a document: a group and version, or (NULL) everything. */
typedef struct api_scope {
    const char *group;
    const char *version;
} api_scope;

static bool covers_version(const api_scope *scope, const kl__sim_kind *kind,
                           const kl__sim_version *version)
{
    return scope->group == NULL || (is_equal(scope->group, kind->group) &&
                                    is_equal(scope->version, version->name));
}

/* Writes the name of a custom kind's component: "com.example.v1.Foo" for a Foo
 * of example.com/v1. */
static void name_custom(const kl__sim_kind *kind, const char *version,
                        const char *of, char *name)
{
    const char *end = kind->group + strlen(kind->group);
    size_t used = 0;

    while (end > kind->group) {
        const char *start = end;

        while (start > kind->group && start[-1] != '.') {
            start--;
        }
        used += (size_t)snprintf(name + used, TYPE_SIZE - used, "%.*s.",
                                 (int)(end - start), start);
        end = start > kind->group ? start - 1 : start;
    }
    snprintf(name + used, TYPE_SIZE - used, "%.60s.%.80s", version, of);
}

/* Writes the name of a kind's component. */
static bool name_type(const kl__sim_kind *kind, const char *version, char *name)
{
    const kl__schema *schema;

    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        name_custom(kind, version, kind->kind, name);
        return true;
    }
    schema = kl__schema_builtin(kind->group, version, kind->kind, NULL);
    if (schema == NULL || schema->name == NULL) {
        return false;
    }
    snprintf(name, TYPE_SIZE, "%s", schema->name);
    return true;
}

/* Turns the name of a kind's component into that of its list. */
static void name_list(const kl__sim_kind *kind, const char *version, char *name)
{
    size_t stem = strlen(name) - strlen(kind->kind);

    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        name_custom(kind, version, kind->list_kind, name);
    } else {
        snprintf(name + stem, TYPE_SIZE - stem, "%s", kind->list_kind);
    }
}

/* Writes the properties of a custom kind: apiVersion, kind and metadata, then
 * those of its definition. */
static void write_custom_properties(kl__openapi *document,
                                    const kl_value *properties)
{
    static const char *const known[] = {"apiVersion", "kind", "metadata"};
    kl_value_iter iter = {0};
    const kl_value *name, *value;

    kl__buf_puts(document->out,
                 "\"properties\":{\"apiVersion\":{\"type\":\"string\"},"
                 "\"kind\":{\"type\":\"string\"},\"metadata\":");
    kl__openapi_value(document, kl__schema_metadata(NULL));
    while ((value = kl_value_next(properties, &iter, &name)) != NULL) {
        const char *text = kl_value_string(name, NULL);
        bool is_known = false;
        char *json;

        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
            is_known = is_known || is_equal(text, known[i]);
        }
        json = is_known ? NULL : kl_value_json(value, NULL, NULL);
        if (json != NULL) {
            kl__buf_putc(document->out, ',');
            kl__quote(document->out, text, strlen(text));
            kl__buf_printf(document->out, ":%s", json);
        }
        document->out->failed =
            document->out->failed || (!is_known && json == NULL);
        kl__free(json);
    }
    kl__buf_putc(document->out, '}');
}

/* Writes the schema of a custom kind. */
static void write_custom(kl__openapi *document, const kl__sim_kind *kind,
                         const kl__sim_version *version)
{
    const kl__openapi_kind claim = {kind->group, version->name, kind->kind};
    kl_value_iter iter = {0};
    const kl_value *name, *value;

    kl__buf_putc(document->out, '{');
    while ((value = kl_value_next(version->source, &iter, &name)) != NULL) {
        const char *text = kl_value_string(name, NULL);
        char *json = is_equal(text, "properties")
                         ? NULL
                         : kl_value_json(value, NULL, NULL);

        if (json != NULL) {
            kl__quote(document->out, text, strlen(text));
            kl__buf_printf(document->out, ":%s,", json);
        }
        kl__free(json);
    }
    write_custom_properties(document,
                            kl_value_get(version->source, "properties"));
    kl__openapi_claim(document, &claim);
    kl__buf_putc(document->out, '}');
}

/* Names of components of custom kinds; the document points to them until it is
 * complete. */
typedef struct kept_names {
    char **texts;
    size_t count;
} kept_names;

static const char *keep_name(kept_names *names, const char *text)
{
    char **texts =
        kl__realloc(names->texts, (names->count + 1) * sizeof(*texts));
    char *copy = kl__strdup(text);

    if (texts != NULL) {
        names->texts = texts;
    }
    if (texts == NULL || copy == NULL) {
        kl__free(copy);
        return NULL;
    }
    texts[names->count++] = copy;
    return copy;
}

static void write_component(kl__openapi *document, const kl__sim_kind *kind,
                            const kl__sim_version *version, kept_names *names)
{
    const kl__openapi_kind one = {kind->group, version->name, kind->kind};
    const kl__openapi_kind all = {kind->group, version->name, kind->list_kind};
    bool is_custom = kl__sim_kind_is(kind, KL__SIM_CUSTOM);
    char text[TYPE_SIZE];
    const char *type, *list;

    if (!name_type(kind, version->name, text)) {
        return;
    }
    type = keep_name(names, text);
    name_list(kind, version->name, text);
    list = keep_name(names, text);
    if (type == NULL || list == NULL) {
        document->out->failed = true;
        return;
    }
    if (!is_custom) {
        kl__openapi_type(document, kl__schema_type_named(type, NULL), &one);
    } else if (kl__openapi_begin(document, type)) {
        write_custom(document, kind, version);
    }
    if (!kl__sim_kind_is(kind, KL__SIM_VIRTUAL) &&
        kl__openapi_begin(document, list)) {
        kl__openapi_list(document, type, &all);
    }
}

/* Writes the paths of every version of every kind in the scope; if `names` is
 * not NULL, their components instead. False: there are none. */
static bool write_kinds(kl__openapi *document, const kl_sim *sim,
                        const api_scope *scope, kept_names *names)
{
    bool is_first = true, found = false;
    char type[TYPE_SIZE];

    for (const kl__list *at = sim->resources.next; at != &sim->resources;
         at = at->next) {
        const kl__sim_kind *kind =
            KL__CONTAINER(at, kl__sim_resource, node)->kind;

        for (size_t i = 0; i < kind->version_count; i++) {
            const kl__sim_version *version = &kind->versions[i];

            if (!covers_version(scope, kind, version) ||
                !name_type(kind, version->name, type)) {
                continue;
            }
            found = true;
            if (names != NULL) {
                write_component(document, kind, version, names);
            } else {
                sim_openapi_paths(document, kind, version, type, &is_first);
            }
        }
    }
    return found;
}

static kl_code write_document(kl__sim_answer *answer, const api_scope *scope,
                              kl_error *err)
{
    bool is_v2 = scope->group == NULL;
    kl__openapi document = {.out = &answer->out, .is_v2 = is_v2};
    kept_names names = {0};
    kl_code code;

    kl__sim_answer_json(answer, 200);
    answer->form = (kl__sim_form){.version = "v1"};
    kl__buf_printf(&answer->out,
                   "{\"%s\",\"info\":{\"title\":\"Kubernetes\",\"version\":"
                   "\"1.36\"},\"paths\":{",
                   is_v2 ? "swagger\":\"2.0" : "openapi\":\"3.0.0");
    write_kinds(&document, answer->sim, scope, NULL);
    kl__buf_puts(&answer->out, is_v2 ? "},\"definitions\":{"
                                     : "},\"components\":{\"schemas\":{");
    write_kinds(&document, answer->sim, scope, &names);
    code = kl__openapi_finish(&document, err);
    kl__buf_puts(&answer->out, is_v2 ? "}}" : "}}}");
    kl__openapi_deinit(&document);
    for (size_t i = 0; i < names.count; i++) {
        kl__free(names.texts[i]);
    }
    kl__free(names.texts);
    return code == KL_OK && answer->out.failed
               ? kl_error_set(err, KL_ENOMEM, "out of memory for OpenAPI")
               : code;
}

/* --- The index: the path of each group's and version's document, with a hash
 * that changes when that document changes. */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text != '\0'; text++) { /* FNV-1a */
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    }
    return hash;
}

/* A hash of what a group and version serve: kinds, and definitions of custom
 * kinds. */
static uint64_t hash_scope(const kl_sim *sim, const api_scope *scope)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (const kl__list *at = sim->resources.next; at != &sim->resources;
         at = at->next) {
        const kl__sim_kind *kind =
            KL__CONTAINER(at, kl__sim_resource, node)->kind;

        for (size_t i = 0; i < kind->version_count; i++) {
            char *json = NULL;

            if (!covers_version(scope, kind, &kind->versions[i])) {
                continue;
            }
            hash = hash_text(hash, kind->qualified);
            if (kind->versions[i].source != NULL) {
                json = kl_value_json(kind->versions[i].source, NULL, NULL);
            }
            hash = hash_text(hash, json != NULL ? json : "");
            kl__free(json);
        }
    }
    return hash;
}

static void write_entry(kl__sim_answer *answer, const api_scope *scope,
                        bool *is_first)
{
    bool is_core = *scope->group == '\0';
    char path[TYPE_SIZE];

    snprintf(path, sizeof(path), "%s%s%s/%s", is_core ? "api" : "apis",
             is_core ? "" : "/", scope->group, scope->version);
    kl__buf_printf(&answer->out,
                   "%s\"%s\":{\"serverRelativeURL\":\"/openapi/v3/%s?hash="
                   "%016" PRIX64 "\"}",
                   *is_first ? "" : ",", path, path,
                   hash_scope(answer->sim, scope));
    *is_first = false;
}

/* True if an earlier resource has the same group and version. */
static bool is_told(const kl_sim *sim, const kl__list *until,
                    const api_scope *scope)
{
    for (const kl__list *at = sim->resources.next; at != until; at = at->next) {
        const kl__sim_kind *kind =
            KL__CONTAINER(at, kl__sim_resource, node)->kind;

        for (size_t i = 0; i < kind->version_count; i++) {
            if (covers_version(scope, kind, &kind->versions[i])) {
                return true;
            }
        }
    }
    return false;
}

static kl_code write_index(kl__sim_answer *answer, kl_error *err)
{
    const kl_sim *sim = answer->sim;
    bool is_first = true;

    kl__sim_answer_json(answer, 200);
    /* as a real server does */
    answer->content_type = "text/plain; charset=utf-8";
    kl__buf_puts(&answer->out, "{\"paths\":{");
    for (const kl__list *at = sim->resources.next; at != &sim->resources;
         at = at->next) {
        const kl__sim_kind *kind =
            KL__CONTAINER(at, kl__sim_resource, node)->kind;

        for (size_t i = 0; i < kind->version_count; i++) {
            const api_scope scope = {kind->group, kind->versions[i].name};

            if (!is_told(sim, at, &scope)) {
                write_entry(answer, &scope, &is_first);
            }
        }
    }
    kl__buf_puts(&answer->out, "}}");
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for OpenAPI");
}

/* Answers with a status and an empty body. */
static kl_code refuse_document(kl__sim_answer *answer, int status)
{
    answer->status = status;
    answer->content_type = "";
    return KL_OK;
}

/* Encodes the JSON document as protobuf. */
static kl_code make_protobuf(kl__sim_answer *answer, kl_error *err)
{
    kl_doc *doc = kl_doc_parse(answer->out.bytes, answer->out.length, err);

    if (doc == NULL) {
        return KL_ENOMEM;
    }
    kl__buf_reset(&answer->out);
    kl__openapi_protobuf(kl_doc_root(doc), &answer->out);
    kl_doc_unref(doc);
    answer->content_type =
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for OpenAPI");
}

/* Writes one document with everything (OpenAPI v2), which kubectl uses to
 * validate objects. */
static kl_code write_whole(kl__sim_answer *answer, kl_error *err)
{
    static const char *const forms[] = {
        "json", "com.github.proto-openapi.spec.v2@v1.0+protobuf",
        "com.github.proto-openapi.spec.v2.v1.0+protobuf", NULL};
    const int form = kl__sim_accept_subtype(&answer->ask, forms);
    const api_scope all = {NULL, NULL};
    kl_code code;

    answer->vary = "Accept-Encoding, Accept";
    if (form < 0) {
        return refuse_document(answer, 406);
    }
    code = write_document(answer, &all, err);
    return code == KL_OK && form > 0 ? make_protobuf(answer, err) : code;
}

/* Writes the document of one group and version (OpenAPI v3). */
static kl_code write_part(kl__sim_answer *answer, const api_scope *scope,
                          kl_error *err)
{
    static const char *const forms[] = {"json", NULL};

    if (!is_told(answer->sim, &answer->sim->resources, scope)) {
        return refuse_document(answer, 404);
    }
    answer->vary = "Accept";
    return kl__sim_accept_subtype(&answer->ask, forms) == 0
               ? write_document(answer, scope, err)
               : refuse_document(answer, 406);
}

kl_code kl__sim_openapi(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const char *const *segments = ask->segments;
    api_scope scope = {"", ""};

    if (ask->segment_count == 2 && is_equal(segments[1], "v2")) {
        return write_whole(answer, err);
    }
    if (ask->segment_count == 2 && is_equal(segments[1], "v3")) {
        return write_index(answer, err);
    }
    if (ask->segment_count == 4 && is_equal(segments[1], "v3") &&
        is_equal(segments[2], "api")) {
        scope.version = segments[3];
    } else if (ask->segment_count == 5 && is_equal(segments[1], "v3") &&
               is_equal(segments[2], "apis")) {
        scope.group = segments[3];
        scope.version = segments[4];
    } else {
        return kl__sim_refuse_page(answer, err);
    }
    return write_part(answer, &scope, err);
}
