/*
 * sim_scale_paths.c - see sim_scale_paths.h.
 */
#include "sim/core/custom/sim_scale_paths.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

const char *kl__sim_scale_path(const kl_value *scale, const char *name)
{
    return kl_value_string(kl_value_get(scale, name), NULL);
}

bool kl__sim_scale_find(const kl__node *root, const char *path,
                        const kl__node **found)
{
    const kl__node *node = root;

    path += *path == '.';
    while (node != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");

        node = kl__node_is(node, KL_OBJECT) ? kl__node_get_n(node, path, length)
                                            : NULL;
        path += length + (path[length] == '.');
    }
    *found = node;
    return node != NULL;
}

bool kl__sim_scale_put(kl__edit *edit, kl__node *root, const char *path,
                       kl__node *value)
{
    kl__node *node = root;

    path += *path == '.';
    for (;;) {
        size_t length = strcspn(path, ".");
        char *name;

        if (path[length] == '\0') {
            return kl__node_put(edit, node, path, value);
        }
        name = kl__strndup(path, length);
        node = name != NULL ? kl__node_ensure(edit, node, name) : NULL;
        kl__free(name);
        if (node == NULL) {
            return false;
        }
        path += length + 1;
    }
}
