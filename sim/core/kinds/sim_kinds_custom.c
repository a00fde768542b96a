/*
 * sim_kinds_custom.c - see sim_kinds.h: makes a kind from a
 * CustomResourceDefinition.
 */
#include "sim/core/kinds/sim_kinds.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/json/edit.h"
#include "sim/core/kinds/sim_columns.h"
#include "sim/core/kinds/sim_kinds_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 64 };

/* A string member, or `otherwise`; borrowed. */
static const char *text_or(const kl_value *object, const char *name,
                           const char *otherwise)
{
    const char *text = kl_value_string(kl_value_get(object, name), NULL);

    return text != NULL ? text : otherwise;
}

/* Copies the strings of an array, without `prefix`. */
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
            kl__sim_free_texts(strings);
            return NULL;
        }
    }
    return strings;
}

/* The stability of a version by its name: "v2" > "v1beta1" > "v1alpha1" >
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

/* Orders versions as Kubernetes does, the preferred one first: below 0 if
 * `left` comes first. */
static int compare_versions(const char *left, const char *right)
{
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

static int compare_served(const void *a, const void *b)
{
    return compare_versions(((const kl__sim_version *)a)->name,
                            ((const kl__sim_version *)b)->name);
}

static bool is_storage(const kl_value *version)
{
    return kl_value_bool(kl_value_get(version, "storage"));
}

/* "GROUP/VERSION KIND is deprecated; use GROUP/NEWER KIND". */
static char *make_warning(const kl__sim_kind *kind, const kl_value *versions,
                          const kl_value *deprecated)
{
    const char *own = text_or(deprecated, "deprecationWarning", NULL);
    const char *name = text_or(deprecated, "name", "");
    const char *best = NULL;
    kl_value_iter iter = {0};
    const kl_value *version;

    if (own != NULL) {
        return kl__strdup(own);
    }
    while ((version = kl_value_next(versions, &iter, NULL)) != NULL) {
        const char *other = text_or(version, "name", "");

        if (kl_value_bool(kl_value_get(version, "served")) &&
            !kl_value_bool(kl_value_get(version, "deprecated")) &&
            compare_versions(other, name) < 0 &&
            (best == NULL || compare_versions(other, best) < 0)) {
            best = other;
        }
    }
    return best == NULL ? kl__strprintf("%s/%s %s is deprecated", kind->group,
                                        name, kind->kind)
                        : kl__strprintf("%s/%s %s is deprecated; use %s/%s %s",
                                        kind->group, name, kind->kind,
                                        kind->group, best, kind->kind);
}

/* True if a member of that name is anywhere in a value. */
bool kl__sim_mentions(const kl_value *value, const char *name)
{
    kl_value_iter iter = {0};
    const kl_value *member, *key;
    bool is_object = kl_value_type(value) == KL_OBJECT;

    if (is_object && kl_value_get(value, name) != NULL) {
        return true;
    }
    while ((member = kl_value_next(value, &iter, is_object ? &key : NULL)) !=
           NULL) {
        if (kl__sim_mentions(member, name)) {
            return true;
        }
    }
    return false;
}

static bool fill_version(const kl__sim_kind *kind, const kl_value *versions,
                         const kl_value *version, kl__sim_version *to)
{
    const kl_value *subresources = kl_value_get(version, "subresources");

    to->has_status =
        kl_value_type(kl_value_get(subresources, "status")) == KL_OBJECT;
    to->scale = kl_value_get(subresources, "scale");
    to->source =
        kl_value_get(kl_value_get(version, "schema"), "openAPIV3Schema");
    to->has_rules = kl__sim_mentions(to->source, "x-kubernetes-validations");
    to->name = kl__strdup(text_or(version, "name", ""));
    to->schema = kl__schema_custom(to->source, NULL);
    if (kl_value_bool(kl_value_get(version, "deprecated"))) {
        to->warning = make_warning(kind, versions, version);
        if (to->warning == NULL) {
            return false;
        }
    }
    return to->name != NULL && to->schema != NULL &&
           kl__sim_columns_read(to, version);
}

/* True if two schemas differ as JSON. */
static bool do_differ(const kl_value *a, const kl_value *b)
{
    kl__edit *left = kl__edit_of(a, NULL), *right = kl__edit_of(b, NULL);
    bool same = left != NULL && right != NULL &&
                kl__node_equal(kl__edit_root(left), kl__edit_root(right));

    kl__edit_free(left);
    kl__edit_free(right);
    return !same; /* out of memory: "differs" is safe, only slower */
}

/* Adds the served versions, and the version that is stored. */
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
        if (is_storage(version)) {
            kl__free(kind->storage);
            kind->storage = kl__strdup(text_or(version, "name", ""));
            if (!fill_version(kind, versions, version, &kind->stored)) {
                return false;
            }
        }
        if (kl_value_bool(kl_value_get(version, "served")) &&
            !fill_version(kind, versions, version,
                          &kind->versions[kind->version_count++])) {
            return false;
        }
    }
    if (kind->storage == NULL) {
        return false;
    }
    for (size_t i = 0; i < kind->version_count; i++) {
        kind->versions[i].differs =
            strcmp(kind->versions[i].name, kind->storage) != 0 &&
            do_differ(kind->versions[i].source, kind->stored.source);
    }
    qsort(kind->versions, kind->version_count, sizeof(*kind->versions),
          compare_served);
    return true;
}

/* Collects the paths of versions[*].selectableFields, without duplicates. */
static bool add_custom_fields(kl__sim_kind *kind, const kl_value *versions)
{
    kl_value_iter outer = {0};
    const kl_value *version, *field;
    char *texts[MAX_FIELDS + 1] = {NULL};
    size_t count = 0;

    while ((version = kl_value_next(versions, &outer, NULL)) != NULL) {
        const kl_value *fields = kl_value_get(version, "selectableFields");
        kl_value_iter inner = {0};

        while ((field = kl_value_next(fields, &inner, NULL)) != NULL) {
            const char *path = text_or(field, "jsonPath", "");
            size_t known = 0;

            path += *path == '.';
            while (known < count && strcmp(texts[known], path) != 0) {
                known++;
            }
            if (known == count && count < MAX_FIELDS && *path != '\0') {
                texts[count++] = (char *)(uintptr_t)path;
            }
        }
    }
    return kl__sim_kind_add_fields(kind, texts);
}

/* The accepted names, from status; while there are none, the names in spec. */
static const kl_value *names_of(const kl_value *root)
{
    const kl_value *accepted =
        kl_value_get(kl_value_get(root, "status"), "acceptedNames");

    return *text_or(accepted, "kind", "") != '\0'
               ? accepted
               : kl_value_get(kl_value_get(root, "spec"), "names");
}

kl__sim_kind *kl__sim_kind_custom(kl_doc *definition)
{
    const kl_value *spec = kl_value_get(kl_doc_root(definition), "spec");
    const kl_value *names = names_of(kl_doc_root(definition));
    const kl_value *versions = kl_value_get(spec, "versions");
    kl__sim_kind *kind = kl__calloc(1, sizeof(*kind));

    if (kind == NULL) {
        return NULL;
    }
    atomic_init(&kind->refs, 1);
    kind->definition = kl_doc_ref(definition);
    kind->flags = KL__SIM_CUSTOM | KL__SIM_GENERATION | KL__SIM_OWN_FIELDS;
    if (strcmp(text_or(spec, "scope", ""), "Namespaced") == 0) {
        kind->flags |= KL__SIM_NAMESPACED;
    }
    if (kl_value_get(kl_value_get(kl_doc_root(definition), "metadata"),
                     "deletionTimestamp") != NULL) {
        kind->flags |= KL__SIM_ENDING;
    }
    kind->group = kl__strdup(text_or(spec, "group", ""));
    kind->plural = kl__strdup(text_or(names, "plural", ""));
    kind->singular = kl__strdup(text_or(names, "singular", ""));
    kind->kind = kl__strdup(text_or(names, "kind", ""));
    kind->list_kind = kl__strdup(text_or(names, "listKind", ""));
    kind->qualified = kl__strprintf("%s.%s", text_or(names, "plural", ""),
                                    text_or(spec, "group", ""));
    kind->short_names =
        copy_strings(kl_value_get(names, "shortNames"), NULL, "");
    kind->categories =
        copy_strings(kl_value_get(names, "categories"), NULL, "");
    if (kind->group == NULL || kind->kind == NULL ||
        !add_versions(kind, versions) || !add_custom_fields(kind, versions) ||
        !kl__sim_kind_is_complete(kind)) {
        kl__sim_kind_unref(kind);
        return NULL;
    }
    return kind;
}
