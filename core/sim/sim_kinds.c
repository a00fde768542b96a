/*
 * sim_kinds.c - see sim_kinds.h.
 */
#include "sim/sim_kinds.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

static void free_strings(char **strings)
{
    if (strings != NULL) {
        for (size_t i = 0; strings[i] != NULL; i++) {
            kl__free(strings[i]);
        }
        kl__free(strings);
    }
}

static void free_field(kl__sim_field *field)
{
    kl__free(field->name);
    kl__free(field->absent);
    kl_path_free(field->path);
}

kl__sim_kind *kl__sim_kind_ref(kl__sim_kind *kind)
{
    atomic_fetch_add_explicit(&kind->refs, 1, memory_order_relaxed);
    return kind;
}

void kl__sim_kind_unref(kl__sim_kind *kind)
{
    if (kind == NULL ||
        atomic_fetch_sub_explicit(&kind->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    kl__free(kind->group);
    kl__free(kind->plural);
    kl__free(kind->singular);
    kl__free(kind->kind);
    kl__free(kind->list_kind);
    kl__free(kind->qualified);
    kl__free(kind->storage);
    free_strings(kind->short_names);
    free_strings(kind->categories);
    for (size_t i = 0; i < kind->version_count; i++) {
        kl__free(kind->versions[i].name);
    }
    kl__free(kind->versions);
    for (size_t i = 0; i < kind->field_count; i++) {
        free_field(&kind->fields[i]);
    }
    kl__free(kind->fields);
    kl__free(kind);
}

/* "a,b" as {"a", "b", NULL}; "" as {NULL}. NULL when out of memory. */
static char **split(const char *list)
{
    size_t count = *list != '\0' ? 1 : 0;
    char **strings;

    for (const char *at = list; *at != '\0'; at++) {
        count += *at == ',';
    }
    strings = kl__calloc(count + 1, sizeof(*strings));
    for (size_t i = 0; strings != NULL && i < count; i++) {
        size_t length = strcspn(list, ",");

        strings[i] = kl__strndup(list, length);
        if (strings[i] == NULL) {
            free_strings(strings);
            return NULL;
        }
        list += length + 1;
    }
    return strings;
}

/* Fills a field from "name[@path][:absent]"; false when out of memory. */
static bool make_field(kl__sim_field *field, const char *text)
{
    size_t name = strcspn(text, "@:");
    const char *path = text[name] == '@' ? text + name + 1 : text;
    size_t length = strcspn(path, "@:");
    char *copy = kl__strndup(path, length);

    field->name = kl__strndup(text, name);
    field->absent = kl__strdup(path[length] == ':' ? path + length + 1 : "");
    field->path = copy != NULL ? kl_path_parse(copy, NULL) : NULL;
    kl__free(copy);
    return field->name != NULL && field->absent != NULL && field->path != NULL;
}

static bool add_fields(kl__sim_kind *kind, char **texts)
{
    size_t count = 0;

    while (texts[count] != NULL) {
        count++;
    }
    kind->fields = kl__calloc(count + 1, sizeof(*kind->fields));
    if (kind->fields == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        kind->field_count = i + 1;
        if (!make_field(&kind->fields[i], texts[i])) {
            return false;
        }
    }
    return true;
}

/* What messages call it: "configmaps", "foos.example.com". */
static char *qualify(const char *plural, const char *group)
{
    return *group != '\0' ? kl__strprintf("%s.%s", plural, group)
                          : kl__strdup(plural);
}

static bool is_complete(const kl__sim_kind *kind)
{
    return kind->group != NULL && kind->plural != NULL &&
           kind->singular != NULL && kind->kind != NULL &&
           kind->list_kind != NULL && kind->qualified != NULL &&
           kind->storage != NULL && kind->short_names != NULL &&
           kind->categories != NULL && kind->versions != NULL;
}

kl__sim_kind *kl__sim_kind_builtin(const kl__sim_builtin *row)
{
    kl__sim_kind *kind = kl__calloc(1, sizeof(*kind));
    char **fields = split(row->fields);

    if (kind == NULL) {
        goto fail;
    }
    atomic_init(&kind->refs, 1);
    if (fields == NULL) {
        goto fail;
    }
    kind->flags = row->flags;
    kind->group = kl__strdup(row->group);
    kind->plural = kl__strdup(row->plural);
    kind->singular = kl__strdup(row->singular);
    kind->kind = kl__strdup(row->kind);
    kind->list_kind = kl__strprintf("%sList", row->kind);
    kind->qualified = qualify(row->plural, row->group);
    kind->storage = kl__strdup(row->version);
    kind->short_names = split(row->short_names);
    kind->categories = split(row->categories);
    kind->versions = kl__calloc(1, sizeof(*kind->versions));
    if (!is_complete(kind)) {
        goto fail;
    }
    kind->version_count = 1;
    kind->versions[0].has_status = kl__sim_kind_is(kind, KL__SIM_STATUS);
    kind->versions[0].name = kl__strdup(row->version);
    if (kind->versions[0].name == NULL || !add_fields(kind, fields)) {
        goto fail;
    }
    free_strings(fields);
    return kind;

fail:
    free_strings(fields);
    kl__sim_kind_unref(kind);
    return NULL;
}

/* A string member, or `otherwise`; borrowed. */
static const char *text_of(const kl_value *object, const char *name,
                           const char *otherwise)
{
    const char *text = kl_value_string(kl_value_get(object, name), NULL);

    return text != NULL ? text : otherwise;
}

/* The strings of an array, copied; `prefix` is cut off their front. */
static char **copy_strings(const kl_value *array, const char *member,
                           const char *prefix)
{
    size_t size = kl_value_size(array), count = 0;
    char **strings = kl__calloc(size + 1, sizeof(*strings));
    kl_value_iter iter = {0};
    const kl_value *element;

    while (strings != NULL &&
           (element = kl_value_next(array, &iter, NULL)) != NULL) {
        const char *text = kl_value_string(
            member != NULL ? kl_value_get(element, member) : element, NULL);

        if (text == NULL) {
            continue;
        }
        if (strncmp(text, prefix, strlen(prefix)) == 0) {
            text += strlen(prefix);
        }
        strings[count] = kl__strdup(text);
        if (strings[count++] == NULL) {
            free_strings(strings);
            return NULL;
        }
    }
    return strings;
}

/* How stable a version's name says that it is: "v2" > "v1beta1" > "v1alpha1" >
 * anything else; fills its two numbers. */
static int rank_version(const char *name, long *major, long *minor)
{
    char *end;

    *major = *minor = 0;
    if (*name != 'v' || name[1] < '1' || name[1] > '9') {
        return 0;
    }
    *major = strtol(name + 1, &end, 10);
    if (*end == '\0') {
        return 3;
    }
    if (strncmp(end, "beta", 4) == 0 || strncmp(end, "alpha", 5) == 0) {
        bool is_beta = *end == 'b';

        *minor = strtol(end + (is_beta ? 4 : 5), &end, 10);
        return *end != '\0' ? 0 : is_beta ? 2 : 1;
    }
    return 0;
}

/* Kubernetes' order of versions, the preferred one first. */
static int compare_versions(const void *a, const void *b)
{
    const char *left = ((const kl__sim_version *)a)->name;
    const char *right = ((const kl__sim_version *)b)->name;
    long left_major, left_minor, right_major, right_minor;
    int left_rank = rank_version(left, &left_major, &left_minor);
    int right_rank = rank_version(right, &right_major, &right_minor);

    if (left_rank != right_rank) {
        return right_rank - left_rank;
    }
    if (left_rank == 0) {
        return strcmp(left, right);
    }
    if (left_major != right_major) {
        return left_major > right_major ? -1 : 1;
    }
    return (right_minor > left_minor) - (right_minor < left_minor);
}

/* Takes over the versions that are served, and which one is stored. */
static bool add_versions(kl__sim_kind *kind, const kl_value *versions)
{
    kl_value_iter iter = {0};
    const kl_value *version;

    kind->versions =
        kl__calloc(kl_value_size(versions) + 1, sizeof(*kind->versions));
    if (kind->versions == NULL) {
        return false;
    }
    while ((version = kl_value_next(versions, &iter, NULL)) != NULL) {
        kl__sim_version *served = &kind->versions[kind->version_count];

        if (kl_value_bool(kl_value_get(version, "storage"))) {
            kl__free(kind->storage);
            kind->storage = kl__strdup(text_of(version, "name", ""));
        }
        if (!kl_value_bool(kl_value_get(version, "served"))) {
            continue;
        }
        served->has_status =
            kl_value_type(kl_value_get(kl_value_get(version, "subresources"),
                                       "status")) == KL_OBJECT;
        served->name = kl__strdup(text_of(version, "name", ""));
        if (served->name == NULL) {
            return false;
        }
        kind->version_count++;
    }
    qsort(kind->versions, kind->version_count, sizeof(*kind->versions),
          compare_versions);
    return true;
}

/* spec.versions[*].selectableFields of the first version that has any. */
static bool add_custom_fields(kl__sim_kind *kind, const kl_value *versions)
{
    const kl_value *found = NULL, *version;
    kl_value_iter iter = {0};
    char **texts;
    bool done;

    while (found == NULL &&
           (version = kl_value_next(versions, &iter, NULL)) != NULL) {
        found = kl_value_get(version, "selectableFields");
    }
    texts = copy_strings(found, "jsonPath", ".");
    done = texts != NULL && add_fields(kind, texts);
    free_strings(texts);
    return done;
}

kl__sim_kind *kl__sim_kind_custom(const kl_value *definition)
{
    const kl_value *spec = kl_value_get(definition, "spec");
    const kl_value *names = kl_value_get(spec, "names");
    const kl_value *versions = kl_value_get(spec, "versions");
    kl__sim_kind *kind = kl__calloc(1, sizeof(*kind));

    if (kind == NULL) {
        return NULL;
    }
    atomic_init(&kind->refs, 1);
    kind->flags = KL__SIM_CUSTOM | KL__SIM_GENERATION | KL__SIM_OWN_FIELDS;
    if (strcmp(text_of(spec, "scope", ""), "Namespaced") == 0) {
        kind->flags |= KL__SIM_NAMESPACED;
    }
    kind->group = kl__strdup(text_of(spec, "group", ""));
    kind->plural = kl__strdup(text_of(names, "plural", ""));
    kind->singular = kl__strdup(text_of(names, "singular", ""));
    kind->kind = kl__strdup(text_of(names, "kind", ""));
    kind->list_kind = kl__strdup(text_of(names, "listKind", ""));
    kind->qualified = kl__strprintf("%s.%s", text_of(names, "plural", ""),
                                    text_of(spec, "group", ""));
    kind->short_names =
        copy_strings(kl_value_get(names, "shortNames"), NULL, "");
    kind->categories =
        copy_strings(kl_value_get(names, "categories"), NULL, "");
    if (!add_versions(kind, versions) || !add_custom_fields(kind, versions) ||
        !is_complete(kind)) {
        kl__sim_kind_unref(kind);
        return NULL;
    }
    return kind;
}

const kl__sim_version *kl__sim_kind_version(const kl__sim_kind *kind,
                                            const char *name, size_t length)
{
    for (size_t i = 0; i < kind->version_count; i++) {
        if (strlen(kind->versions[i].name) == length &&
            memcmp(kind->versions[i].name, name, length) == 0) {
            return &kind->versions[i];
        }
    }
    return NULL;
}

const kl__sim_field *kl__sim_kind_field(const kl__sim_kind *kind,
                                        const char *name)
{
    for (size_t i = 0; i < kind->field_count; i++) {
        if (strcmp(kind->fields[i].name, name) == 0) {
            return &kind->fields[i];
        }
    }
    return NULL;
}
