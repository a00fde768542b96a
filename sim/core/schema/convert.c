/*
 * convert.c - see convert.h: the table of built-in kinds that are served in
 * several versions.
 */
#include "sim/core/schema/convert.h"

#include <stddef.h>
#include <string.h>

static const kl__conversion conversions[] = {
    {"autoscaling", "HorizontalPodAutoscaler", "v1", "autoscaling",
     kl__autoscaler_to_v1, kl__autoscaler_to_v2, NULL},
    {"events.k8s.io", "Event", "v1", "", kl__event_to_group, kl__event_to_core,
     kl__event_label},
};

const kl__conversion *kl__convert_find(const char *group, const char *kind,
                                       const char *version)
{
    for (size_t i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++) {
        const kl__conversion *found = &conversions[i];

        if ((group == NULL || strcmp(found->group, group) == 0) &&
            strcmp(found->kind, kind) == 0 &&
            (version == NULL || strcmp(found->version, version) == 0)) {
            return found;
        }
    }
    return NULL;
}
