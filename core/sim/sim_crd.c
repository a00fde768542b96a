/*
 * sim_crd.c - CustomResourceDefinitions: found valid, completed, and served at
 * once; their objects go with them.
 */
#include "sim/sim_write.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/sim_random.h"
#include "sim/sim_status.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *text_of(const kl_value *object, const char *name)
{
    const char *text = kl__sim_text(object, name);

    return text != NULL ? text : "";
}

static void require(kl__sim_status *status, const char *text, const char *field)
{
    if (*text == '\0') {
        kl__sim_cause_add(status, "FieldValueRequired", field,
                          "Required value");
    }
}

static void check_versions(kl__sim_status *status, const kl_value *versions)
{
    kl_value_iter iter = {0};
    const kl_value *version;
    size_t stored = 0;

    while ((version = kl_value_next(versions, &iter, NULL)) != NULL) {
        stored += kl_value_bool(kl_value_get(version, "storage"));
        require(status, text_of(version, "name"), "spec.versions.name");
    }
    if (stored != 1) {
        kl__sim_cause_add(status, "FieldValueInvalid", "spec.versions",
                          "Invalid value: must have exactly one version marked "
                          "as storage version");
    }
}

/* The fields that a kind can be selected by must be paths. */
static void check_fields(kl__sim_status *status, const kl_value *versions)
{
    kl_value_iter outer = {0};
    const kl_value *version, *field;

    while ((version = kl_value_next(versions, &outer, NULL)) != NULL) {
        const kl_value *fields = kl_value_get(version, "selectableFields");
        kl_value_iter inner = {0};

        while ((field = kl_value_next(fields, &inner, NULL)) != NULL) {
            const char *text = text_of(field, "jsonPath");
            kl_path *path = *text == '.' && strpbrk(text, "@:,") == NULL
                                ? kl_path_parse(text + 1, NULL)
                                : NULL;

            if (path == NULL) {
                kl__sim_cause_add(status, "FieldValueInvalid",
                                  "spec.versions.selectableFields.jsonPath",
                                  "Invalid value: \"%s\"", text);
            }
            kl_path_free(path);
        }
    }
}

static void check(kl__sim_status *status, const kl_value *root)
{
    const kl_value *spec = kl_value_get(root, "spec");
    const kl_value *names = kl_value_get(spec, "names");
    const char *scope = text_of(spec, "scope");
    char expected[512];

    snprintf(expected, sizeof(expected), "%s.%s", text_of(names, "plural"),
             text_of(spec, "group"));
    if (strcmp(status->name, expected) != 0) {
        kl__sim_cause_add(status, "FieldValueInvalid", "metadata.name",
                          "Invalid value: \"%s\": must be "
                          "spec.names.plural+\".\"+spec.group",
                          status->name);
    }
    require(status, text_of(spec, "group"), "spec.group");
    require(status, scope, "spec.scope");
    if (*scope != '\0' && strcmp(scope, "Namespaced") != 0 &&
        strcmp(scope, "Cluster") != 0) {
        kl__sim_cause_add(status, "FieldValueNotSupported", "spec.scope",
                          "Unsupported value: \"%s\": supported values: "
                          "\"Cluster\", \"Namespaced\"",
                          scope);
    }
    check_versions(status, kl_value_get(spec, "versions"));
    check_fields(status, kl_value_get(spec, "versions"));
    require(status, text_of(names, "plural"), "spec.names.plural");
    require(status, text_of(names, "kind"), "spec.names.kind");
}

static void put(kl_writer *writer, const char *name, const char *value)
{
    kl_writer_name(writer, name, strlen(name));
    kl_writer_string(writer, value, strlen(value));
}

static void open_object(kl_writer *writer, const char *name)
{
    kl_writer_name(writer, name, strlen(name));
    kl_writer_begin_object(writer);
}

static void put_condition(kl_writer *writer, const char *type,
                          const char *reason, const char *message)
{
    char now[KL__SIM_TIME_SIZE];

    kl__sim_time(now);
    kl_writer_begin_object(writer);
    put(writer, "type", type);
    put(writer, "status", "True");
    put(writer, "lastTransitionTime", now);
    put(writer, "reason", reason);
    put(writer, "message", message);
    kl_writer_end_object(writer);
}

/* The names that are completed: what is missing is made of the kind. */
static void put_defaults(kl_writer *writer, const kl_value *names)
{
    const char *kind = text_of(names, "kind");
    char text[300];

    if (kl__sim_text(names, "listKind") == NULL) {
        snprintf(text, sizeof(text), "%.250sList", kind);
        put(writer, "listKind", text);
    }
    if (kl__sim_text(names, "singular") == NULL) {
        size_t length = strnlen(kind, 250);

        for (size_t i = 0; i < length; i++) {
            text[i] = (char)(kind[i] >= 'A' && kind[i] <= 'Z' ? kind[i] + 32
                                                              : kind[i]);
        }
        text[length] = '\0';
        put(writer, "singular", text);
    }
}

static void put_accepted(kl_writer *writer, const kl_value *names)
{
    const kl_value *name, *value;
    kl_value_iter iter = {0};

    open_object(writer, "acceptedNames");
    while ((value = kl_value_next(names, &iter, &name)) != NULL) {
        size_t length;
        const char *bytes = kl_value_string(name, &length);

        kl_writer_name(writer, bytes, length);
        kl_writer_value(writer, value);
    }
    put_defaults(writer, names);
    kl_writer_end_object(writer);
}

static void put_status(kl_writer *writer, const kl_value *spec)
{
    const kl_value *versions = kl_value_get(spec, "versions"), *version;
    kl_value_iter iter = {0};

    open_object(writer, "status");
    kl_writer_name(writer, "conditions", 10);
    kl_writer_begin_array(writer);
    put_condition(writer, "NamesAccepted", "NoConflicts", "no conflicts found");
    put_condition(writer, "Established", "InitialNamesAccepted",
                  "the initial names have been accepted");
    kl_writer_end_array(writer);
    put_accepted(writer, kl_value_get(spec, "names"));
    kl_writer_name(writer, "storedVersions", 14);
    kl_writer_begin_array(writer);
    while ((version = kl_value_next(versions, &iter, NULL)) != NULL) {
        if (kl_value_bool(kl_value_get(version, "storage"))) {
            kl_writer_value(writer, kl_value_get(version, "name"));
        }
    }
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
}

static kl_doc *write_additions(const kl_value *root, kl_error *err)
{
    const kl_value *spec = kl_value_get(root, "spec");
    kl_writer *writer = kl_writer_new();
    kl_doc *doc = NULL;
    const char *json;
    size_t length;

    if (writer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a definition");
        return NULL;
    }
    kl_writer_begin_object(writer);
    open_object(writer, "spec");
    open_object(writer, "names");
    put_defaults(writer, kl_value_get(spec, "names"));
    kl_writer_end_object(writer);
    if (kl_value_get(spec, "conversion") == NULL) {
        open_object(writer, "conversion");
        put(writer, "strategy", "None");
        kl_writer_end_object(writer);
    }
    kl_writer_end_object(writer);
    put_status(writer, spec);
    kl_writer_end_object(writer);
    json = kl_writer_finish(writer, &length, err);
    if (json != NULL) {
        doc = kl_doc_parse(json, length, err);
    }
    kl_writer_free(writer);
    return doc;
}

kl_doc *kl__sim_crd_prepare(kl__sim_answer *answer, const kl_value *root,
                            kl_code *code, kl_error *err)
{
    kl__sim_status status = {
        .name = text_of(kl_value_get(root, "metadata"), "name"),
        .group = "apiextensions.k8s.io",
        .kind = "CustomResourceDefinition"};
    kl_doc *doc;

    check(&status, root);
    if (status.cause_count != 0) {
        *code = kl__sim_refuse_invalid(
            answer, &status, "CustomResourceDefinition.apiextensions.k8s.io",
            err);
        return NULL;
    }
    doc = write_additions(root, err);
    *code = doc != NULL ? KL_OK : KL_ENOMEM;
    return doc;
}

kl_code kl__sim_crd_apply(kl_sim *sim, const kl__sim_state *state,
                          kl_error *err)
{
    kl_doc *doc = kl_doc_parse(state->text, state->length, err);
    kl__sim_kind *kind =
        doc != NULL ? kl__sim_kind_custom(kl_doc_root(doc)) : NULL;
    kl__sim_resource *resource;
    kl_code code;

    kl_doc_unref(doc);
    if (kind == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a definition");
    }
    resource = kl__sim_find(sim, kind->group, kind->plural);
    if (resource == NULL) {
        code = kl__sim_serve(sim, kind, err);
    } else if (kl__sim_kind_is(resource->kind, KL__SIM_CUSTOM)) {
        code = kl__sim_reserve(sim, resource, kind, err);
    } else {
        code = KL_OK; /* a built-in one of that name stays what it is */
    }
    kl__sim_kind_unref(kind);
    return code;
}

/* The resource that a definition's name ("foos.example.com") stands for. */
static kl__sim_resource *find_custom(kl_sim *sim, const char *name)
{
    kl__sim_resource *resource = kl__map_get(&sim->by_name, name);

    return resource != NULL && kl__sim_kind_is(resource->kind, KL__SIM_CUSTOM)
               ? resource
               : NULL;
}

kl_code kl__sim_crd_withdraw(kl_sim *sim, const char *name, kl_error *err)
{
    kl__sim_resource *resource = find_custom(sim, name);

    if (resource == NULL) {
        return KL_OK;
    }
    while (resource->items.first[0] != NULL) {
        const char *key = resource->items.first[0]->state->key;

        if (kl__sim_resource_remove(resource, key, sim->version + 1, err) !=
            KL_OK) {
            return KL_ENOMEM;
        }
        sim->version++;
    }
    kl__sim_unserve(sim, resource);
    return KL_OK;
}
