/*
 * schema_default.c - see schema_default.h and schema_normal.h: sets the
 * defaults of an object. Those of its kind come first. Then each struct gets
 * its constants from the table, then the structs in it are completed, and at
 * last it gets the defaults that depend on other fields: the parameters of a
 * strategy on its type, the pull policy on the tag of the image.
 */
#include "sim/core/schema/schema_default.h"

#include "base/map.h"
#include "sim/core/schema/quantity.h"
#include "sim/core/schema/schema_normal.h"

#include <string.h>

bool kl__default_is(const kl__node *node, const char *name, const char *text)
{
    const char *given = kl__node_text(node, name);

    return given != NULL && strcmp(given, text) == 0;
}

/* True if an image has no tag or digest, or the tag "latest". */
static bool is_latest(const char *image)
{
    const char *name = image != NULL ? strrchr(image, '/') : NULL;
    const char *colon;

    if (image == NULL || *image == '\0' || strchr(image, '@') != NULL) {
        return false;
    }
    name = name != NULL ? name + 1 : image;
    colon = strchr(name, ':');
    return colon == NULL || strcmp(colon, ":latest") == 0;
}

static bool default_container(kl__edit *edit, kl__node *node)
{
    return kl__default_text(
        edit, node, "imagePullPolicy",
        is_latest(kl__node_text(node, "image")) ? "Always" : "IfNotPresent");
}

static bool image_volume(kl__edit *edit, kl__node *node)
{
    return kl__default_text(edit, node, "pullPolicy",
                            is_latest(kl__node_text(node, "reference"))
                                ? "Always"
                                : "IfNotPresent");
}

static bool default_volume(kl__edit *edit, kl__node *node)
{
    kl__node_iter iter = {0};
    const char *name;
    const kl__node *member;

    while ((member = kl__node_next(node, &iter, &name, NULL)) != NULL) {
        if (strcmp(name, "name") != 0 && kl__node_type(member) != KL_NULL) {
            return true;
        }
    }
    return kl__node_put(edit, node, "emptyDir", kl__edit_object(edit));
}

static bool default_rolling(kl__edit *edit, kl__node *node, const char *initial)
{
    return !kl__default_is(node, "type", "RollingUpdate") ||
           kl__default_json(edit, node, "rollingUpdate", initial);
}

static bool deployment_strategy(kl__edit *edit, kl__node *node)
{
    return default_rolling(edit, node,
                           "{\"maxUnavailable\":\"25%\",\"maxSurge\":\"25%\"}");
}

static bool daemon_set_strategy(kl__edit *edit, kl__node *node)
{
    return default_rolling(edit, node, "{\"maxUnavailable\":1,\"maxSurge\":0}");
}

static bool device_request(kl__edit *edit, kl__node *node)
{
    return !kl__default_is(node, "allocationMode", "ExactCount") ||
           kl__node_integer(kl__node_get(node, "count")) != 0 ||
           kl__node_put(edit, node, "count", kl__edit_integer(edit, 1));
}

static bool default_subject(kl__edit *edit, kl__node *node)
{
    bool person = kl__default_is(node, "kind", "User") ||
                  kl__default_is(node, "kind", "Group");

    return !person || kl__default_text(edit, node, "apiGroup",
                                       "rbac.authorization.k8s.io");
}

static bool limit_range_item(kl__edit *edit, kl__node *node)
{
    kl__node *limits, *requests;

    if (!kl__default_is(node, "type", "Container")) {
        return true;
    }
    limits = kl__node_ensure(edit, node, "default");
    requests = kl__node_ensure(edit, node, "defaultRequest");
    return kl__default_members(edit, limits, kl__node_get(node, "max")) &&
           kl__default_members(edit, requests, limits) &&
           kl__default_members(edit, requests, kl__node_get(node, "min"));
}

/* Sets podIP and podIPs from each other. If the first of podIPs is not podIP,
 * then podIP replaces the list. */
static bool pod_status(kl__edit *edit, kl__node *node)
{
    const char *address = kl__node_text(node, "podIP");
    const char *first =
        kl__node_text(kl__node_at(kl__node_get(node, "podIPs"), 0), "ip");
    kl__node *list, *entry;

    if (address == NULL || *address == '\0') {
        return first == NULL || kl__default_text(edit, node, "podIP", first);
    }
    if (first != NULL && strcmp(first, address) == 0) {
        return true;
    }
    list = kl__edit_array(edit);
    entry = kl__edit_object(edit);
    return list != NULL && entry != NULL &&
           kl__default_text(edit, entry, "ip", address) &&
           kl__node_append(list, entry) &&
           kl__node_put(edit, node, "podIPs", list);
}

static bool node_status(kl__edit *edit, kl__node *node)
{
    return kl__default_copy(edit, node, "allocatable",
                            kl__node_get(node, "capacity"));
}

bool kl__default_members(kl__edit *edit, kl__node *to, const kl__node *from)
{
    kl__node_iter had = {0}, iter = {0};
    kl__map names = {0};
    const char *name;
    size_t length;
    const kl__node *member;
    bool good = to != NULL;

    while (good && kl__node_next(to, &had, &name, &length) != NULL) {
        good = kl__map_put_n(&names, name, length, to, NULL);
    }
    while (good &&
           (member = kl__node_next(from, &iter, &name, &length)) != NULL) {
        good =
            kl__map_get_n(&names, name, length) != NULL ||
            kl__node_add_n(edit, to, name, length, kl__edit_copy(edit, member));
    }
    kl__map_deinit(&names);
    return good;
}

#define CORE "io.k8s.api.core.v1."

typedef struct rule {
    const char *type;
    bool (*complete)(kl__edit *edit, kl__node *node);
} rule;

static const rule rules[] = {
    {CORE "Container", default_container},
    {CORE "EphemeralContainer", default_container},
    {CORE "ImageVolumeSource", image_volume},
    {CORE "Volume", default_volume},
    {CORE "LimitRangeItem", limit_range_item},
    {CORE "NodeStatus", node_status},
    {CORE "PodStatus", pod_status},
    {"io.k8s.api.apps.v1.DeploymentStrategy", deployment_strategy},
    {"io.k8s.api.apps.v1.DaemonSetUpdateStrategy", daemon_set_strategy},
    {"io.k8s.api.resource.v1.ExactDeviceRequest", device_request},
    {"io.k8s.api.resource.v1.DeviceSubRequest", device_request},
    {"io.k8s.api.rbac.v1.Subject", default_subject},
};

/* Rounds an amount of a resource away from 0 to thousandths. NULL: out of
 * memory. */
static kl__node *round_amount(kl__edit *edit, const kl__node *amount)
{
    size_t length = 0;
    const char *text = kl__node_string(amount, &length);
    char out[KL__QUANTITY_SIZE];

    if (text == NULL || kl__quantity_canonical(text, length, -3, out) != NULL) {
        return kl__edit_copy(edit, amount);
    }
    return kl__edit_text(edit, out);
}

/* True if an amount in the list may have to be rounded to thousandths. */
static bool is_fine(const kl__node *list)
{
    kl__node_iter iter = {0};
    const kl__node *amount;

    while ((amount = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(amount, NULL);

        if (text != NULL && strpbrk(text, "nu.-") != NULL) {
            return true;
        }
    }
    return false;
}

static bool round_list(kl__edit *edit, kl__node *node, const char *name)
{
    kl__node *list = kl__node_get(node, name);
    kl__node *to;
    kl__node_iter iter = {0};
    const char *resource;
    size_t length;
    const kl__node *amount;

    if (!is_fine(list)) {
        return true;
    }
    to = kl__edit_object(edit);
    while (to != NULL &&
           (amount = kl__node_next(list, &iter, &resource, &length)) != NULL) {
        if (!kl__node_add_n(edit, to, resource, length,
                            round_amount(edit, amount))) {
            return false;
        }
    }
    return kl__node_put(edit, node, name, to);
}

static bool round_resources(kl__edit *edit, kl__node *node,
                            const kl__schema *schema)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const kl__schema *field = schema->fields[i].schema;

        if (field->type == KL__SCHEMA_MAP && field->go != NULL &&
            strcmp(field->go, "v1.ResourceList") == 0 &&
            !round_list(edit, node, schema->fields[i].name)) {
            return false;
        }
    }
    return true;
}

/* default_struct sets the defaults of a struct that depend on its other
 * fields; the constants of the struct are set already. kl__default_kind sets
 * the defaults that only an object of the kind gets, before all others. False:
 * out of memory. */
static bool default_struct(kl__edit *edit, kl__node *node,
                           const kl__schema *schema)
{
    if (!round_resources(edit, node, schema)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (strcmp(schema->name, rules[i].type) == 0) {
            return rules[i].complete(edit, node);
        }
    }
    return true;
}

/* ---- an object ---- */

/* True if Go takes a member as not set: it is NULL or null; or it is no pointer
 * in Go and has its zero value. */
static bool is_absent(const kl__node *node, const kl__schema *schema)
{
    kl_type type = kl__node_type(node);
    size_t length = 0;

    if (type == KL_NULL || (schema->flags & KL__SCHEMA_POINTER) != 0) {
        return type == KL_NULL;
    }
    switch (type) {
    case KL_STRING:
        kl__node_string(node, &length);
        return length == 0;
    case KL_INTEGER:
        return kl__node_integer(node) == 0;
    case KL_ARRAY:
        return kl__node_size(node) == 0;
    default:
        return false;
    }
}

static bool complete_value(kl__edit *edit, kl__node *node,
                           const kl__schema *schema);

static bool complete_struct(kl__edit *edit, kl__node *node,
                            const kl__schema *schema)
{
    for (size_t i = 0; i < schema->field_count; i++) {
        const kl__schema *field = schema->fields[i].schema;
        const char *name = schema->fields[i].name;
        kl__node *member = kl__node_get(node, name);

        if (field->initial != NULL && is_absent(member, field)) {
            member = kl__edit_value(edit, field->initial);
            if (!kl__node_put(edit, node, name, member)) {
                return false;
            }
        }
        if (member != NULL && !complete_value(edit, member, field)) {
            return false;
        }
    }
    return default_struct(edit, node, schema);
}

static bool complete_value(kl__edit *edit, kl__node *node,
                           const kl__schema *schema)
{
    kl__node_iter iter = {0};
    kl__node *element;

    if (schema->type == KL__SCHEMA_OBJECT) {
        return !kl__node_is(node, KL_OBJECT) ||
               complete_struct(edit, node, schema);
    }
    if ((schema->type != KL__SCHEMA_ARRAY && schema->type != KL__SCHEMA_MAP) ||
        schema->items->type != KL__SCHEMA_OBJECT) {
        return true;
    }
    while ((element = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        if (!complete_value(edit, element, schema->items)) {
            return false;
        }
    }
    return true;
}

bool kl__schema_complete(kl__edit *edit, kl__node *object,
                         const kl__schema *schema)
{
    return kl__default_kind(edit, object, schema) &&
           complete_value(edit, object, schema);
}

bool kl__default_text(kl__edit *edit, kl__node *node, const char *name,
                      const char *text)
{
    const char *given = kl__node_text(node, name);

    return (given != NULL && *given != '\0') ||
           kl__node_put(edit, node, name, kl__edit_text(edit, text));
}

bool kl__default_json(kl__edit *edit, kl__node *node, const char *name,
                      const char *json)
{
    return kl__node_type(kl__node_get(node, name)) != KL_NULL ||
           kl__node_put(edit, node, name,
                        kl__edit_parse(edit, json, strlen(json), NULL));
}

bool kl__default_copy(kl__edit *edit, kl__node *node, const char *name,
                      const kl__node *from)
{
    kl__node *given = kl__node_get(node, name);

    return kl__node_size(from) == 0 || kl__node_size(given) > 0 ||
           kl__node_put(edit, node, name, kl__edit_copy(edit, from));
}
