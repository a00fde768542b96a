/*
 * sim_kinds.c - see sim_kinds.h. Makes built-in kinds out of rows of the table,
 * and reads and frees kinds of both sorts.
 */
#include "sim/core/kinds/sim_kinds.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/convert.h"
#include "sim/core/kinds/sim_columns.h"
#include "sim/core/kinds/sim_kinds_parts.h"

#include <stdlib.h>
#include <string.h>

void kl__sim_free_texts(char **strings)
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

static void free_version(kl__sim_version *version)
{
    kl__free(version->name);
    kl__free(version->warning);
    kl__sim_columns_free(version);
    kl__schema_free(version->schema);
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
    kl__sim_free_texts(kind->short_names);
    kl__sim_free_texts(kind->categories);
    for (size_t i = 0; i < kind->version_count; i++) {
        free_version(&kind->versions[i]);
    }
    kl__free(kind->versions);
    free_version(&kind->stored);
    kl_doc_unref(kind->definition);
    for (size_t i = 0; i < kind->field_count; i++) {
        free_field(&kind->fields[i]);
    }
    kl__free(kind->fields);
    kl__free(kind);
}

/* "a,b" as {"a", "b", NULL}; "" as {NULL}. NULL when out of memory. */
static char **split_list(const char *list)
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
            kl__sim_free_texts(strings);
            return NULL;
        }
        list += length + 1;
    }
    return strings;
}

/* Fills a field of selectors from "name[@path][:absent]"; false when out of
 * memory. */
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

bool kl__sim_kind_add_fields(kl__sim_kind *kind, char *const *texts)
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

/* The name of the kind in messages: "configmaps", "foos.example.com". */
static char *qualify_name(const char *plural, const char *group)
{
    return *group != '\0' ? kl__strprintf("%s.%s", plural, group)
                          : kl__strdup(plural);
}

bool kl__sim_kind_is_complete(const kl__sim_kind *kind)
{
    return kind->group != NULL && kind->plural != NULL &&
           kind->singular != NULL && kind->kind != NULL &&
           kind->list_kind != NULL && kind->qualified != NULL &&
           kind->storage != NULL && kind->short_names != NULL &&
           kind->categories != NULL && kind->versions != NULL;
}

static bool add_version(kl__sim_kind *kind, const char *name, bool differs)
{
    kl__sim_version *version = &kind->versions[kind->version_count++];

    version->has_status = kl__sim_kind_is(kind, KL__SIM_STATUS);
    version->differs = differs;
    version->name = kl__strdup(name);
    return version->name != NULL;
}

kl__sim_kind *kl__sim_kind_builtin(const kl__sim_builtin *row)
{
    const kl__conversion *other = kl__convert_find(row->group, row->kind, NULL);
    kl__sim_kind *kind = kl__calloc(1, sizeof(*kind));
    char **fields = split_list(row->fields);
    bool is_other;

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
    kind->qualified = qualify_name(row->plural, row->group);
    kind->storage = kl__strdup(row->version);
    kind->short_names = split_list(row->short_names);
    kind->categories = split_list(row->categories);
    kind->versions = kl__calloc(2, sizeof(*kind->versions));
    if (!kl__sim_kind_is_complete(kind)) {
        goto fail;
    }
    is_other = other != NULL && strcmp(other->version, row->version) == 0;
    if (!add_version(kind, row->version, is_other) ||
        (other != NULL && !is_other &&
         !add_version(kind, other->version, true)) ||
        !kl__sim_kind_add_fields(kind, fields)) {
        goto fail;
    }
    kl__sim_free_texts(fields);
    return kind;

fail:
    kl__sim_free_texts(fields);
    kl__sim_kind_unref(kind);
    return NULL;
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
