/*
 * sim_finalizers.c - see sim_deletion.h: what keeps an object that is being
 * deleted.
 */
#include "sim/core/write/sim_deletion.h"

#include <string.h>

bool kl__sim_has_finalizer(const kl__node *metadata, const char *finalizer)
{
    const kl__node *list = kl__node_get(metadata, "finalizers"), *element;
    kl__node_iter iter = {0};

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);

        if (text != NULL && strcmp(text, finalizer) == 0) {
            return true;
        }
    }
    return false;
}

bool kl__sim_drop_finalizer(kl__node *metadata, const char *finalizer)
{
    kl__node *list = kl__node_get(metadata, "finalizers"), *element;
    kl__node_iter iter = {0};
    bool dropped = false;

    while ((element = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);

        if (text != NULL && strcmp(text, finalizer) == 0) {
            kl__node_drop(&iter);
            dropped = true;
        }
    }
    if (dropped && kl__node_size(list) == 0) {
        kl__node_remove(metadata, "finalizers");
    }
    return dropped;
}

bool kl__sim_is_over(const kl__sim_kind *kind, const kl__node *root)
{
    const kl__node *metadata = kl__node_get(root, "metadata");
    const kl__node *spec = kl__node_get(root, "spec");

    return kl__node_get(metadata, "deletionTimestamp") != NULL &&
           kl__node_size(kl__node_get(metadata, "finalizers")) == 0 &&
           kl__node_integer(
               kl__node_get(metadata, "deletionGracePeriodSeconds")) == 0 &&
           (!kl__sim_is_namespace(kind) ||
            kl__node_size(kl__node_get(spec, "finalizers")) == 0);
}
