/*
 * scale_managers.c - see managers.h: turns managedFields of an object into
 * those of its Scale, and back. Object and Scale have one field in common, the
 * number of replicas.
 */
#include "sim/core/patch/managers.h"

#include "sim/core/patch/field_set.h"

#include <string.h>

static kl_code scale_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for managed fields");
}

/* A set with one field, at a path like ".spec.replicas". NULL: out of
 * memory. */
static kl__node *field_at(kl__edit *edit, const char *path)
{
    kl__node *set = kl__edit_object(edit), *at = set;

    for (path += *path == '.'; at != NULL && *path != '\0';) {
        size_t length = strcspn(path, ".");
        char name[256] = "f:";
        kl__node *below = kl__edit_object(edit);

        if (length > sizeof(name) - 3) {
            length = sizeof(name) - 3; /* longer than any field's name */
        }
        memcpy(name + 2, path, length);
        if (below == NULL ||
            !kl__node_add_n(edit, at, name, length + 2, below)) {
            return NULL;
        }
        at = below;
        path += length + (path[length] == '.');
    }
    return at != NULL ? set : NULL;
}

/* True if a set has the one field of another set. */
static bool has_field(const kl__node *set, const kl__node *field)
{
    while (set != NULL && kl__node_size(field) > 0) {
        kl__node_iter iter = {0};
        const char *name;

        field = kl__node_next(field, &iter, &name, NULL);
        set = kl__node_get(set, name);
    }
    return set != NULL && kl__fields_has(set);
}

/* Finds a version in the list; NULL: unknown. The path in the result is NULL if
 * the version has no scale. */
static const kl__scale_path *find_scale_path(const kl__scale_path *paths,
                                             const char *api_version)
{
    for (; paths->api_version != NULL; paths++) {
        if (strcmp(paths->api_version, api_version) == 0) {
            return paths;
        }
    }
    return NULL;
}

static kl_code read_list(kl__edit *edit, const kl__node *list,
                         kl__managers *managers, kl_error *err)
{
    kl__node *copy = list != NULL ? kl__edit_copy(edit, list) : NULL;
    kl_code code;

    *managers = (kl__managers){0};
    if (copy == NULL) {
        return list == NULL ? KL_OK : scale_out_of_memory(err);
    }
    code = kl__managers_read(managers, edit, copy, false, err);
    return code == KL_ENOMEM ? code : KL_OK;
}

static kl_code write_list(kl__edit *edit, kl__managers *managers,
                          kl__node **list, kl_error *err)
{
    *list = NULL;
    if (managers->count == 0) {
        return KL_OK;
    }
    *list = kl__managers_write(managers, edit);
    return *list != NULL ? KL_OK : scale_out_of_memory(err);
}

/* Sets *has if the entry has the replicas field of its version; `*field` is a
 * set with that field, for kl__fields_subtract. False: out of memory. */
static bool has_scale_field(kl__edit *edit, const kl__manager *one,
                            const kl__scale_path *path, kl__node **field,
                            bool *has)
{
    *has = false;
    if (path == NULL || path->path == NULL) {
        return true;
    }
    *field = field_at(edit, path->path);
    if (*field == NULL) {
        return false;
    }
    *has = has_field(one->fields, *field);
    return true;
}

kl_code kl__managers_to_scale(kl__edit *edit, const kl__node *list,
                              const kl__scale_path *paths, kl__node **scale,
                              kl_error *err)
{
    kl__managers managers;
    kl_code code = read_list(edit, list, &managers, err);
    size_t kept = 0;

    for (size_t i = 0; i < managers.count && code == KL_OK; i++) {
        kl__manager one = managers.items[i];
        kl__node *field = NULL;
        bool has;

        if (!has_scale_field(edit, &one,
                             find_scale_path(paths, one.api_version), &field,
                             &has)) {
            code = scale_out_of_memory(err);
        } else if (has) {
            one.api_version = KL__SCALE_VERSION;
            one.fields = field_at(edit, KL__SCALE_PATH);
            managers.items[kept++] = one;
            code = one.fields != NULL ? KL_OK : scale_out_of_memory(err);
        }
    }
    if (code == KL_OK) {
        managers.count = kept;
        code = write_list(edit, &managers, scale, err);
    }
    kl__managers_deinit(&managers);
    return code;
}

/* Removes the field from managers that do not have it in the Scale any more. A
 * manager of the object with the operation Update is never found among the
 * Scale's, because the version differs there. */
static kl_code yield_field(kl__edit *edit, kl__managers *parent,
                           kl__managers *scale, const kl__scale_path *paths,
                           kl_error *err)
{
    for (size_t i = parent->count; i > 0; i--) {
        kl__manager *one = &parent->items[i - 1], *same;
        const kl__scale_path *path = find_scale_path(paths, one->api_version);
        kl__node *field = NULL;
        bool has;

        if (path == NULL) {
            kl__managers_drop(parent, one);
            continue;
        }
        if (!has_scale_field(edit, one, path, &field, &has)) {
            return scale_out_of_memory(err);
        }
        same = has ? kl__managers_find(scale, one) : NULL;
        if (same != NULL) {
            kl__managers_drop(scale, same);
        } else if (has) {
            kl__fields_subtract(one->fields, field, false);
        }
        if (kl__node_size(one->fields) == 0) {
            kl__managers_drop(parent, one);
        }
    }
    return KL_OK;
}

/* Adds managers that got the field by this write. */
static kl_code add_new_managers(kl__edit *edit, kl__managers *parent,
                                const kl__managers *scale,
                                const kl__scale_path *to, kl_error *err)
{
    kl__node *replicas = field_at(edit, KL__SCALE_PATH);

    if (replicas == NULL) {
        return scale_out_of_memory(err);
    }
    for (size_t i = 0; i < scale->count; i++) {
        kl__manager one = scale->items[i];
        kl__manager *known = kl__managers_find(parent, &one);

        if (!has_field(one.fields, replicas)) {
            continue;
        }
        one.time = known != NULL ? known->time : NULL;
        one.api_version = to->api_version;
        one.fields = field_at(edit, to->path);
        if (one.fields == NULL) {
            return scale_out_of_memory(err);
        }
        if (known != NULL) {
            *known = one;
        } else if (kl__managers_add(parent, &one) == NULL) {
            return scale_out_of_memory(err);
        }
    }
    return KL_OK;
}

kl_code kl__managers_from_scale(kl__edit *edit, const kl__scale_lists *lists,
                                const kl__scale_path *paths,
                                const char *api_version, kl__node **managed,
                                kl_error *err)
{
    const kl__scale_path *to = find_scale_path(paths, api_version);
    kl__managers parent, scale = {0};
    kl_code code = read_list(edit, lists->parent, &parent, err);

    *managed = NULL;
    if (code == KL_OK) {
        code = read_list(edit, lists->scale, &scale, err);
    }
    if (code == KL_OK) {
        code = yield_field(edit, &parent, &scale, paths, err);
    }
    if (code == KL_OK && to != NULL && to->path != NULL) {
        code = add_new_managers(edit, &parent, &scale, to, err);
    }
    if (code == KL_OK) {
        code = write_list(edit, &parent, managed, err);
    }
    kl__managers_deinit(&parent);
    kl__managers_deinit(&scale);
    return code;
}
