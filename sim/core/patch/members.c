/*
 * members.c - see members.h.
 */
#include "sim/core/patch/members.h"

enum { FEW_MEMBERS = 16 };

void kl__members_init(kl__members *members, const kl__node *object)
{
    size_t count = kl__node_size(object);
    kl__node_iter iter = {0};
    kl__node *value;
    const char *name;
    size_t length;

    *members = (kl__members){.object = object};
    if (!kl__node_is(object, KL_OBJECT) || count <= FEW_MEMBERS ||
        !kl__map_reserve(&members->by_name, count)) {
        return;
    }
    while ((value = kl__node_next(object, &iter, &name, &length)) != NULL) {
        if (kl__map_get_n(&members->by_name, name, length) == NULL) {
            kl__map_put_n(&members->by_name, name, length, value, NULL);
        }
    }
}

void kl__members_deinit(kl__members *members)
{
    kl__map_deinit(&members->by_name);
}

kl__node *kl__members_get(const kl__members *members, const char *name,
                          size_t length)
{
    return members->by_name.count != 0
               ? kl__map_get_n(&members->by_name, name, length)
               : kl__node_get_n(members->object, name, length);
}

/* True if no name repeats, for an object with few members. */
static bool few_are_unique(const kl__node *object)
{
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;
    size_t length;

    while ((value = kl__node_next(object, &iter, &name, &length)) != NULL) {
        if (kl__node_get_n(object, name, length) != value) {
            return false;
        }
    }
    return true;
}

kl_code kl__members_unique_in(kl__node *object, kl_error *err)
{
    kl__node_iter iter = {0};
    kl__map seen = {0};
    kl__node *value, *first;
    const char *name;
    size_t length;

    if (!kl__node_is(object, KL_OBJECT)) {
        return KL_OK;
    }
    if (kl__node_size(object) <= FEW_MEMBERS && few_are_unique(object)) {
        return KL_OK;
    }
    if (!kl__map_reserve(&seen, kl__node_size(object))) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a document");
    }
    while ((value = kl__node_next(object, &iter, &name, &length)) != NULL) {
        first = kl__map_get_n(&seen, name, length);
        if (first == NULL) {
            kl__map_put_n(&seen, name, length, value, NULL);
        } else {
            kl__node_drop(&iter);
            kl__node_become(first, value);
        }
    }
    kl__map_deinit(&seen);
    return KL_OK;
}

kl_code kl__members_unique(kl__node *node, kl_error *err)
{
    kl__node_iter iter = {0};
    kl_code code = kl__members_unique_in(node, err);
    kl__node *child;

    while (code == KL_OK &&
           (child = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        code = kl__members_unique(child, err);
    }
    return code;
}

/* The same for any number of members. */
static bool many_are_unique(const kl__node *object)
{
    kl__node_iter iter = {0};
    kl__map seen = {0};
    const char *name;
    size_t length;
    bool unique = kl__map_reserve(&seen, kl__node_size(object));

    while (unique && kl__node_next(object, &iter, &name, &length) != NULL) {
        void *before = NULL;

        unique = kl__map_put_n(&seen, name, length, &seen, &before) &&
                 before == NULL;
    }
    kl__map_deinit(&seen);
    return unique;
}

bool kl__members_are_unique(const kl__node *node)
{
    kl__node_iter iter = {0};
    const kl__node *child;

    if (kl__node_is(node, KL_OBJECT) &&
        !(kl__node_size(node) <= FEW_MEMBERS ? few_are_unique(node)
                                             : many_are_unique(node))) {
        return false;
    }
    while ((child = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        if (!kl__members_are_unique(child)) {
            return false;
        }
    }
    return true;
}

void kl__patch_prune(kl__node *node)
{
    kl__node_iter iter = {0};
    kl__node *child;

    while ((child = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        if (kl__node_is(child, KL_NULL) && kl__node_is(node, KL_OBJECT)) {
            kl__node_drop(&iter);
        } else {
            kl__patch_prune(child);
        }
    }
}
