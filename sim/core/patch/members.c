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
