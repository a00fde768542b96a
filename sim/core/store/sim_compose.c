/*
 * sim_compose.c - see sim_compose.h. Puts the members of an object in the order
 * that Go writes them (docs/KUBERNETES.md#order-of-members), and serializes it.
 */
#include "sim/core/store/sim_compose.h"

#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *kl__sim_text(const kl_value *object, const char *name)
{
    return kl_value_string(kl_value_get(object, name), NULL);
}

typedef struct member {
    const char *name;
    size_t length;
    kl__node *value;
    size_t index;
} member;

/* All members of metadata, in the order of the Go struct; and the same members
 * sorted by name. */
static const char *const struct_order[] = {"name",
                                           "generateName",
                                           "namespace",
                                           "uid",
                                           "resourceVersion",
                                           "generation",
                                           "creationTimestamp",
                                           "deletionTimestamp",
                                           "deletionGracePeriodSeconds",
                                           "labels",
                                           "annotations",
                                           "ownerReferences",
                                           "finalizers",
                                           "managedFields",
                                           NULL};
static const char *const sorted_order[] = {"annotations",
                                           "creationTimestamp",
                                           "deletionGracePeriodSeconds",
                                           "deletionTimestamp",
                                           "finalizers",
                                           "generateName",
                                           "generation",
                                           "labels",
                                           "managedFields",
                                           "name",
                                           "namespace",
                                           "ownerReferences",
                                           "resourceVersion",
                                           "uid",
                                           NULL};

/* --- Sorting. ------------------------------------------------------------- */

static int compare_names(const member *left, const member *right)
{
    size_t shorter =
        left->length < right->length ? left->length : right->length;
    int order = memcmp(left->name, right->name, shorter);

    if (order != 0 || left->length == right->length) {
        return order;
    }
    return left->length < right->length ? -1 : 1;
}

static int compare_written_names(const void *a, const void *b)
{
    const member *left = a, *right = b;
    int order = compare_names(left, right);

    if (order != 0) {
        return order;
    }
    return left->index < right->index ? -1 : 1;
}

/* The members of an object in an array; owned by the caller. NULL when out of
 * memory. */
static member *list_members(const kl__node *object, size_t *count)
{
    member *members = kl__calloc(kl__node_size(object) + 1, sizeof(*members));
    kl__node_iter iter = {0};
    member *at = members;

    while (members != NULL &&
           (at->value = kl__node_next(object, &iter, &at->name, &at->length)) !=
               NULL) {
        at->index = (size_t)(at - members);
        at++;
    }
    *count = (size_t)(at - members);
    return members;
}

/* Replaces the members of an object by `members`, which are sorted. If a name
 * is repeated, its last member counts, as in Go. */
static bool put_members(kl__edit *edit, kl__node *object, const member *members,
                        size_t count)
{
    kl__node_clear(object);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && compare_names(&members[i], &members[i + 1]) == 0) {
            continue;
        }
        if (!kl__node_add_n(edit, object, members[i].name, members[i].length,
                            members[i].value)) {
            return false;
        }
    }
    return true;
}

static bool is_sorted(const kl__node *object)
{
    member before = {"", 0, NULL, 0}, now = {0};
    kl__node_iter iter = {0};
    bool first = true;

    while (kl__node_next(object, &iter, &now.name, &now.length) != NULL) {
        if (!first && compare_names(&before, &now) >= 0) {
            return false;
        }
        before = now;
        first = false;
    }
    return true;
}

/* Sorts the members of all objects in a value. Recursion is at most
 * KL__NODE_DEPTH deep, like the value. */
static bool sort_members(kl__edit *edit, kl__node *node)
{
    kl__node_iter iter = {0};
    kl__node *element;
    member *members;
    size_t count;
    bool sorted;

    if (!kl__node_is(node, KL_OBJECT) && !kl__node_is(node, KL_ARRAY)) {
        return true;
    }
    while ((element = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        if (!sort_members(edit, element)) {
            return false;
        }
    }
    if (kl__node_is(node, KL_ARRAY) || is_sorted(node)) {
        return true;
    }
    members = list_members(node, &count);
    if (members == NULL) {
        return false;
    }
    qsort(members, count, sizeof(*members), compare_written_names);
    sorted = put_members(edit, node, members, count);
    kl__free(members);
    return sorted;
}

/* --- Order. --------------------------------------------------------------- */

/* Replaces each null in a map of strings by "", as Go does when it decodes. */
static bool fill_strings(kl__edit *edit, kl__node *map)
{
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;
    size_t length;

    while ((value = kl__node_next(map, &iter, &name, &length)) != NULL) {
        if (kl__node_is(value, KL_NULL) &&
            !kl__node_put_n(edit, map, name, length, kl__edit_text(edit, ""))) {
            return false;
        }
    }
    return true;
}

/* True if Go's omitempty leaves out this member of metadata. */
static bool is_omitted(const kl__node *value)
{
    switch (kl__node_type(value)) {
    case KL_NULL:
        return true;
    case KL_OBJECT:
    case KL_ARRAY:
        return kl__node_size(value) == 0;
    case KL_STRING:
        return *kl__node_string(value, NULL) == '\0';
    default:
        return false;
    }
}

/* Orders the members of each element as in its Go struct. */
static bool order_elements(kl__edit *edit, kl__node *list,
                           const char *const *names)
{
    kl__node_iter iter = {0};
    kl__node *element;

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        kl__node *ordered = kl__edit_object(edit);

        for (size_t i = 0; names[i] != NULL && ordered != NULL; i++) {
            kl__node *value = kl__node_remove(element, names[i]);

            if (value != NULL && !kl__node_add_n(edit, ordered, names[i],
                                                 strlen(names[i]), value)) {
                return false;
            }
        }
        if (ordered == NULL) {
            return false;
        }
        kl__node_become(element, ordered);
    }
    return true;
}

/* Orders the members inside a member of metadata: by name in a Go map, as in
 * the struct in a Go struct. */
static bool order_member(const kl__sim_kind *kind, kl__edit *edit,
                         const char *name, kl__node *value)
{
    static const char *const entry[] = {
        "manager",    "operation", "apiVersion",  "time",
        "fieldsType", "fieldsV1",  "subresource", NULL};
    static const char *const owner[] = {
        "apiVersion",         "kind", "name", "uid", "controller",
        "blockOwnerDeletion", NULL};

    if (!sort_members(edit, value) ||
        (kl__node_is(value, KL_OBJECT) && !fill_strings(edit, value))) {
        return false;
    }
    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        return true;
    }
    return strcmp(name, "managedFields") == 0
               ? order_elements(edit, value, entry)
           : strcmp(name, "ownerReferences") == 0
               ? order_elements(edit, value, owner)
               : true;
}

/* Makes new metadata from the members of the old; NULL: out of memory. */
static kl__node *order_metadata(const kl__sim_kind *kind, kl__edit *edit,
                                kl__node *old)
{
    const char *const *order =
        kl__sim_kind_is(kind, KL__SIM_CUSTOM) ? sorted_order : struct_order;
    kl__node *metadata = kl__edit_object(edit);

    for (; metadata != NULL && *order != NULL; order++) {
        kl__node *value = kl__node_remove(old, *order);

        if (is_omitted(value)) {
            continue;
        }
        if (!order_member(kind, edit, *order, value) ||
            !kl__node_add_n(edit, metadata, *order, strlen(*order), value)) {
            return NULL;
        }
    }
    return metadata;
}

bool kl__sim_put_text(kl__edit *edit, kl__node *object, const char *name,
                      const char *text)
{
    if (text == NULL || *text == '\0') {
        kl__node_remove(object, name);
        return true;
    }
    return kl__node_put(edit, object, name, kl__edit_text(edit, text));
}

bool kl__sim_put_copy(kl__edit *edit, kl__node *object, const char *name,
                      const kl__node *node)
{
    if (node == NULL) {
        kl__node_remove(object, name);
        return true;
    }
    return kl__node_put(edit, object, name, kl__edit_copy(edit, node));
}

static bool add_member(kl__edit *edit, kl__node *object, const char *name,
                       kl__node *value)
{
    return kl__node_add_n(edit, object, name, strlen(name), value);
}

/* Adds kind and apiVersion, in the order of kl__sim_write_head. */
static bool add_type(kl__edit *edit, kl__node *whole, const kl__sim_kind *kind)
{
    bool is_custom = kl__sim_kind_is(kind, KL__SIM_CUSTOM);
    char *version = *kind->group != '\0'
                        ? kl__strprintf("%s/%s", kind->group, kind->storage)
                        : kl__strdup(kind->storage);
    bool added =
        version != NULL &&
        (is_custom ||
         add_member(edit, whole, "kind", kl__edit_text(edit, kind->kind))) &&
        add_member(edit, whole, "apiVersion", kl__edit_text(edit, version)) &&
        (!is_custom ||
         add_member(edit, whole, "kind", kl__edit_text(edit, kind->kind)));

    kl__free(version);
    return added;
}

/* Adds everything but kind, apiVersion, metadata and status. Even in a sorted
 * object, metadata comes before members such as "data": sim_state.c needs
 * metadata near the start, and no client depends on the order. */
static bool add_rest(kl__edit *edit, kl__node *whole, kl__node *root)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;
    kl__node *value;

    while ((value = kl__node_next(root, &iter, &name, &length)) != NULL) {
        kl__node_drop(&iter);
        if (!kl__node_add_n(edit, whole, name, length, value)) {
            return false;
        }
    }
    return true;
}

/* Sets resourceVersion; a dry run (version 0) has none. */
static bool put_resource_version(kl__edit *edit, kl__node *metadata,
                                 int64_t version)
{
    char number[24];

    snprintf(number, sizeof(number), "%" PRId64, version);
    return kl__sim_put_text(edit, metadata, "resourceVersion",
                            version != 0 ? number : NULL);
}

/* Puts a tree in order, and sets its version. */
static bool order_object(const kl__sim_kind *kind, kl__edit *edit,
                         int64_t version)
{
    bool is_custom = kl__sim_kind_is(kind, KL__SIM_CUSTOM);
    kl__node *root = kl__edit_root(edit), *whole = kl__edit_object(edit);
    kl__node *metadata, *status;

    if (whole == NULL || (is_custom && !sort_members(edit, root)) ||
        !put_resource_version(edit, kl__node_get(root, "metadata"), version)) {
        return false;
    }
    kl__node_remove(root, "kind");
    kl__node_remove(root, "apiVersion");
    status = kl__node_remove(root, "status");
    metadata = order_metadata(kind, edit, kl__node_remove(root, "metadata"));
    if (!add_type(edit, whole, kind) ||
        !add_member(edit, whole, "metadata", metadata) ||
        !add_rest(edit, whole, root)) {
        return false;
    }
    kl__edit_set_root(edit, whole);
    return status == NULL || kl__node_is(status, KL_NULL) ||
           add_member(edit, whole, "status", status);
}

kl__sim_state *kl__sim_compose(const kl__sim_kind *kind, kl__edit *edit,
                               int64_t version, kl_error *err)
{
    size_t length;
    char *text = NULL;

    if (order_object(kind, edit, version)) {
        text = kl__edit_json(edit, &length, NULL);
    }
    if (text == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
        return NULL;
    }
    return kl__sim_state_new(kind, text, length, err);
}

kl__edit *kl__sim_state_edit(const kl__sim_state *state, kl_error *err)
{
    kl_doc *doc = kl_doc_parse(state->text, state->length, err);
    kl__edit *edit;

    if (doc == NULL) {
        return NULL;
    }
    edit = kl__edit_of(kl_doc_root(doc), err);
    kl_doc_unref(doc);
    return edit;
}

char *kl__sim_key(const char *name_space, const char *name)
{
    return name_space != NULL ? kl__strprintf("%s/%s", name_space, name)
                              : kl__strdup(name);
}
