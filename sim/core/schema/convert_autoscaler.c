/*
 * convert_autoscaler.c - see convert.h: converts HorizontalPodAutoscalers of
 * autoscaling/v2, which is stored, to v1 and back. v1 has fields only for CPU
 * utilization; annotations keep other metrics and the behavior.
 */
#include "sim/core/schema/convert.h"

#include "base/mem.h"

#include <ctype.h>
#include <string.h>

#define NOTE "autoscaling.alpha.kubernetes.io/"

/* A member of a metric: its path in v2, and its name in v1. */
typedef struct text_pair {
    const char *path[3]; /* below the member of the metric's type */
    const char *v1;
} text_pair;

typedef struct metric_sort {
    const char *type;
    const char *member;
    text_pair pairs[6]; /* the last one has v1 == NULL */
} metric_sort;

/* How each type of metric of v2 is written in v1. */
static const metric_sort metrics[] = {
    {"Resource",
     "resource",
     {{{"name", NULL, NULL}, "name"},
      {{"target", "averageUtilization", NULL}, "targetAverageUtilization"},
      {{"target", "averageValue", NULL}, "targetAverageValue"}}},
    {"ContainerResource",
     "containerResource",
     {{{"name", NULL, NULL}, "name"},
      {{"target", "averageUtilization", NULL}, "targetAverageUtilization"},
      {{"target", "averageValue", NULL}, "targetAverageValue"},
      {{"container", NULL, NULL}, "container"}}},
    {"Pods",
     "pods",
     {{{"metric", "name", NULL}, "metricName"},
      {{"target", "averageValue", NULL}, "targetAverageValue"},
      {{"metric", "selector", NULL}, "selector"}}},
    {"Object",
     "object",
     {{{"describedObject", NULL, NULL}, "target"},
      {{"metric", "name", NULL}, "metricName"},
      {{"target", "value", NULL}, "targetValue"},
      {{"metric", "selector", NULL}, "selector"},
      {{"target", "averageValue", NULL}, "averageValue"}}},
    {"External",
     "external",
     {{{"metric", "name", NULL}, "metricName"},
      {{"metric", "selector", NULL}, "metricSelector"},
      {{"target", "value", NULL}, "targetValue"},
      {{"target", "averageValue", NULL}, "targetAverageValue"}}},
};

static const metric_sort *find_metric(const kl__node *node)
{
    const char *type = kl__node_text(node, "type");

    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        if (type != NULL && strcmp(metrics[i].type, type) == 0) {
            return &metrics[i];
        }
    }
    return NULL;
}

static bool put_copy(kl__edit *edit, kl__node *to, const char *name,
                     const kl__node *from)
{
    return from == NULL || kl__node_type(from) == KL_NULL ||
           kl__node_put(edit, to, name, kl__edit_copy(edit, from));
}

/* Makes the form of a metric that v1 has in its annotation. NULL: out of
 * memory. */
static kl__node *metric_to_v1(kl__edit *edit, const kl__node *from)
{
    const metric_sort *how = find_metric(from);
    kl__node *whole = kl__edit_object(edit), *to;

    if (how == NULL || whole == NULL) {
        return whole;
    }
    if (!put_copy(edit, whole, "type", kl__node_get(from, "type"))) {
        return NULL;
    }
    to = kl__node_ensure(edit, whole, how->member);
    for (const text_pair *pair = how->pairs; to != NULL && pair->v1 != NULL;
         pair++) {
        const kl__node *value =
            kl__node_find(kl__node_get(from, how->member), pair->path);

        if (!put_copy(edit, to, pair->v1, value)) {
            return NULL;
        }
    }
    return to != NULL ? whole : NULL;
}

/* Sets the type of a target by the members that it has. */
static bool put_target_type(kl__edit *edit, kl__node *to)
{
    kl__node *target = kl__node_ensure(edit, to, "target");
    const char *type = kl__node_get(target, "averageUtilization") != NULL
                           ? "Utilization"
                       : kl__node_get(target, "value") != NULL ? "Value"
                                                               : "AverageValue";

    return target != NULL &&
           kl__node_put(edit, target, "type", kl__edit_text(edit, type));
}

static kl__node *metric_to_v2(kl__edit *edit, const kl__node *from)
{
    const metric_sort *how = find_metric(from);
    kl__node *whole = kl__edit_object(edit), *to;

    if (how == NULL || whole == NULL) {
        return whole;
    }
    if (!put_copy(edit, whole, "type", kl__node_get(from, "type"))) {
        return NULL;
    }
    to = kl__node_ensure(edit, whole, how->member);
    for (const text_pair *pair = how->pairs; to != NULL && pair->v1 != NULL;
         pair++) {
        const char *const *path = pair->path;
        const kl__node *value =
            kl__node_get(kl__node_get(from, how->member), pair->v1);
        kl__node *within = value != NULL && path[1] != NULL
                               ? kl__node_ensure(edit, to, path[0])
                               : to;

        if (within == NULL ||
            !put_copy(edit, within, path[1] != NULL ? path[1] : path[0],
                      value)) {
            return NULL;
        }
    }
    return to != NULL && put_target_type(edit, to) ? whole : NULL;
}

/* The value of a metric of CPU utilization, for which v1 has a field; NULL: it
 * is another metric. */
static const kl__node *cpu_use(const kl__node *metric)
{
    static const char *const name[] = {"resource", "name", NULL};
    static const char *const use[] = {"resource", "target",
                                      "averageUtilization", NULL};
    const char *of = kl__node_string(kl__node_find(metric, name), NULL);
    const kl__node *found = kl__node_find(metric, use);

    return of != NULL && strcmp(of, "cpu") == 0 &&
                   kl__node_type(found) != KL_NULL
               ? found
               : NULL;
}

/* --- Annotations. --------------------------------------------------------- */

static bool put_annotation(kl__edit *edit, kl__node *object, const char *name,
                           const kl__node *value)
{
    kl__node *metadata = kl__node_ensure(edit, object, "metadata");
    kl__node *notes = metadata != NULL
                          ? kl__node_ensure(edit, metadata, "annotations")
                          : NULL;
    char *text = notes != NULL ? kl__node_json(value, NULL, NULL) : NULL;
    bool put = text != NULL &&
               kl__node_put(edit, notes, name, kl__edit_text(edit, text));

    kl__free(text);
    return put;
}

/* Removes an annotation and parses its JSON. NULL: there is none, it is no
 * JSON, or out of memory (sets *good to false). */
static kl__node *take_note(kl__edit *edit, kl__node *object, const char *name,
                           bool *good)
{
    static const char *const path[] = {"metadata", "annotations", NULL};
    kl__node *notes = kl__node_find(object, path);
    kl__node *found = kl__node_remove(notes, name);
    kl_error err = {0};
    size_t length = 0;
    const char *text = kl__node_string(found, &length);
    kl__node *read =
        text != NULL ? kl__edit_parse(edit, text, length, &err) : NULL;

    *good = *good && err.code != KL_ENOMEM;
    return read;
}

/* Copies a behavior, with the first letter of each name in upper or lower case:
 * in the annotation, names are those of Go's fields. NULL: out of memory. */
static kl__node *in_other_case(kl__edit *edit, const kl__node *from, bool upper)
{
    static const char *const all[] = {"Tolerance", "StabilizationWindowSeconds",
                                      NULL};
    kl__node *to = kl__node_is(from, KL_OBJECT)  ? kl__edit_object(edit)
                   : kl__node_is(from, KL_ARRAY) ? kl__edit_array(edit)
                                                 : kl__edit_copy(edit, from);
    bool rules = kl__node_get(from, "selectPolicy") != NULL;
    kl__node_iter iter = {0};
    const kl__node *member;
    const char *name = NULL;
    size_t length = 0;

    while (to != NULL &&
           (member = kl__node_next(from, &iter, &name, &length)) != NULL) {
        kl__node *value = in_other_case(edit, member, upper);
        char turned[64] = "";

        if (kl__node_is(from, KL_ARRAY)) {
            to = kl__node_append(to, value) ? to : NULL;
            continue;
        }
        strncpy(turned, name, sizeof(turned) - 1);
        turned[0] = (char)(upper ? toupper((unsigned char)turned[0])
                                 : tolower((unsigned char)turned[0]));
        to = kl__node_put(edit, to, turned, value) ? to : NULL;
    }
    for (size_t i = 0; upper && rules && to != NULL && all[i] != NULL; i++) {
        if (kl__node_get(to, all[i]) == NULL &&
            !kl__node_put(edit, to, all[i], kl__edit_null(edit))) {
            return NULL;
        }
    }
    return to;
}

/* --- The object. ---------------------------------------------------------- */

static bool spec_to_v1(kl__edit *edit, kl__node *object, kl__node *spec)
{
    kl__node *all = kl__node_remove(spec, "metrics");
    kl__node *behavior = kl__node_remove(spec, "behavior");
    kl__node *others = kl__edit_array(edit), *turned;
    const kl__node *use = NULL, *metric;
    kl__node_iter iter = {0};

    while (others != NULL &&
           (metric = kl__node_next(all, &iter, NULL, NULL)) != NULL) {
        if (use == NULL && cpu_use(metric) != NULL) {
            use = cpu_use(metric);
        } else if (!kl__node_append(others, metric_to_v1(edit, metric))) {
            return false;
        }
    }
    turned = behavior != NULL ? in_other_case(edit, behavior, true) : NULL;
    return others != NULL &&
           put_copy(edit, spec, "targetCPUUtilizationPercentage", use) &&
           (kl__node_size(others) == 0 ||
            put_annotation(edit, object, NOTE "metrics", others)) &&
           (behavior == NULL ||
            (turned != NULL &&
             put_annotation(edit, object, NOTE "behavior", turned)));
}

static bool status_to_v1(kl__edit *edit, kl__node *object, kl__node *status)
{
    static const char *const name[] = {"resource", "name", NULL};
    static const char *const use[] = {"resource", "current",
                                      "averageUtilization", NULL};
    kl__node *all = kl__node_remove(status, "currentMetrics");
    kl__node *conditions = kl__node_remove(status, "conditions");
    kl__node_iter iter = {0};
    const kl__node *metric;

    if (kl__node_size(conditions) > 0 &&
        !put_annotation(edit, object, NOTE "conditions", conditions)) {
        return false;
    }
    while ((metric = kl__node_next(all, &iter, NULL, NULL)) != NULL) {
        const char *of = kl__node_string(kl__node_find(metric, name), NULL);

        if (of != NULL && strcmp(of, "cpu") == 0) {
            return put_copy(edit, status, "currentCPUUtilizationPercentage",
                            kl__node_find(metric, use));
        }
    }
    return true;
}

bool kl__autoscaler_to_v1(kl__edit *edit, kl__node *object)
{
    kl__node *spec = kl__node_get(object, "spec");
    kl__node *status = kl__node_get(object, "status");

    if (!kl__node_is(spec, KL_OBJECT)) {
        return true;
    }
    if (!spec_to_v1(edit, object, spec) ||
        (kl__node_is(status, KL_OBJECT) &&
         !status_to_v1(edit, object, status))) {
        return false;
    }
    if (!kl__node_is(status, KL_OBJECT) ||
        kl__node_get(status, "currentReplicas") != NULL) {
        return true;
    }
    return kl__node_put(edit, status, "currentReplicas",
                        kl__edit_integer(edit, 0));
}

static bool use_to_v2(kl__edit *edit, kl__node *all, const kl__node *use)
{
    static const char cpu[] =
        "{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\","
        "\"target\":{\"type\":\"Utilization\"}}}";
    kl__node *metric = kl__edit_parse(edit, cpu, sizeof(cpu) - 1, NULL);
    kl__node *target = kl__node_get(kl__node_get(metric, "resource"), "target");

    return metric != NULL &&
           put_copy(edit, target, "averageUtilization", use) &&
           kl__node_append(all, metric);
}

bool kl__autoscaler_to_v2(kl__edit *edit, kl__node *object)
{
    kl__node *spec = kl__node_get(object, "spec");
    kl__node *status = kl__node_get(object, "status");
    kl__node *use = kl__node_remove(spec, "targetCPUUtilizationPercentage");
    kl__node *all = kl__edit_array(edit);
    bool good = all != NULL;
    kl__node *others = take_note(edit, object, NOTE "metrics", &good);
    kl__node *behavior = take_note(edit, object, NOTE "behavior", &good);
    kl__node *conditions = take_note(edit, object, NOTE "conditions", &good);
    kl__node_iter iter = {0};
    const kl__node *metric;

    kl__node_remove(status, "currentCPUUtilizationPercentage");
    while (good &&
           (metric = kl__node_next(others, &iter, NULL, NULL)) != NULL) {
        good = kl__node_append(all, metric_to_v2(edit, metric));
    }
    if (good && kl__node_type(use) != KL_NULL) {
        good = use_to_v2(edit, all, use);
    }
    if (good && kl__node_size(all) > 0) {
        good = kl__node_put(edit, spec, "metrics", all);
    }
    if (good && kl__node_is(behavior, KL_OBJECT)) {
        good = kl__node_put(edit, spec, "behavior",
                            in_other_case(edit, behavior, false));
    }
    if (good && kl__node_is(status, KL_OBJECT) &&
        kl__node_size(conditions) > 0) {
        good = kl__node_put(edit, status, "conditions", conditions);
    }
    return good;
}
