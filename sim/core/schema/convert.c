/*
 * convert.c - see convert.h: Events, which are served as v1, which is stored,
 * and as events.k8s.io/v1. Both have the same fields, most with different
 * names.
 */
#include "sim/core/schema/convert.h"

#include <stddef.h>
#include <string.h>

/* The name of a field in v1, and in events.k8s.io/v1. */
static const char *const names[][2] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

enum { CORE, GROUP };

static bool rename_all(kl__edit *edit, kl__node *object, int from, int to)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        kl__node *value = kl__node_get(object, names[i][from]);

        if (value != NULL) {
            value = kl__node_remove(object, names[i][from]);
            if (!kl__node_put(edit, object, names[i][to], value)) {
                return false;
            }
        }
    }
    return true;
}

static bool event_to_group(kl__edit *edit, kl__node *object)
{
    return rename_all(edit, object, CORE, GROUP);
}

static bool event_to_core(kl__edit *edit, kl__node *object)
{
    return rename_all(edit, object, GROUP, CORE);
}

static const char *event_label(const char *name)
{
    static const char *const labels[][2] = {
        {"reportingController", "reportingComponent"},
        {"regarding.kind", "involvedObject.kind"},
        {"regarding.namespace", "involvedObject.namespace"},
        {"regarding.name", "involvedObject.name"},
        {"regarding.uid", "involvedObject.uid"},
        {"regarding.apiVersion", "involvedObject.apiVersion"},
        {"regarding.resourceVersion", "involvedObject.resourceVersion"},
        {"regarding.fieldPath", "involvedObject.fieldPath"},
    };

    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        if (strcmp(labels[i][0], name) == 0) {
            return labels[i][1];
        }
    }
    return name;
}

static const kl__conversion conversions[] = {
    {"events.k8s.io", "Event", "v1", "", event_to_group, event_to_core,
     event_label},
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
