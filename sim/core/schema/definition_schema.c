/*
 * definition_schema.c - see definition_parts.h: checks each keyword of a schema
 * by itself: unsupported keywords, lists and maps, rules.
 */
#include "sim/core/schema/definition_parts.h"

#include "sim/core/schema/custom.h"

#include <stdio.h>
#include <string.h>

/* The place of a schema in the whole schema of a version. */
typedef struct place {
    const char *no_defaults; /* why defaults are not allowed; NULL: they are */
    bool in_meta;            /* in metadata, kind or apiVersion */
    bool is_root;
} place;

/* --- Unsupported keywords. ------------------------------------------------ */

static void check_unsupported(kl__definition *self, const kl_value *schema)
{
    static const char *const names[] = {
        "id",          "additionalItems", "patternProperties",
        "definitions", "dependencies",    "$ref"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const kl_value *value = kl_value_get(schema, names[i]);
        kl_type type = kl_value_type(value);
        char member[40], why[60];

        if (type == KL_NULL ||
            (type == KL_STRING && *kl_value_string(value, NULL) == '\0') ||
            (type == KL_OBJECT && kl_value_size(value) == 0 &&
             strcmp(names[i], "additionalItems") != 0)) {
            continue;
        }
        snprintf(member, sizeof(member), ".%s", names[i]);
        snprintf(why, sizeof(why), "%s is not supported", names[i]);
        kl__definition_forbid(self, member, why);
    }
}

static void check_basics(kl__definition *self, const kl_value *schema,
                         const place *at)
{
    static const char types[] = "\"array\", \"boolean\", \"integer\", "
                                "\"number\", \"object\", \"string\"";
    const char *type = kl__definition_text(schema, "type");
    char quoted[64], why[100];

    snprintf(quoted, sizeof(quoted), "\"%.40s\"", type);
    if (*type != '\0' && strstr(types, quoted) == NULL) {
        kl__definition_unsupported(self, ".type", type, types);
    }
    if (kl_value_type(kl_value_get(schema, "default")) != KL_NULL &&
        at->no_defaults != NULL) {
        snprintf(why, sizeof(why), "must not be set %s", at->no_defaults);
        kl__definition_forbid(self, ".default", why);
    }
    check_unsupported(self, schema);
    if (strcmp(type, "null") == 0) {
        kl__definition_forbid(
            self, ".type",
            "type cannot be set to null, use nullable as an alternative");
    }
    if (kl_value_type(kl_value_get(schema, "items")) == KL_ARRAY) {
        kl__definition_forbid(self, ".items",
                              "items must be a schema object and not an array");
    }
    if (at->in_meta &&
        kl__definition_says(schema, "x-kubernetes-embedded-resource")) {
        kl__definition_forbid(self, ".x-kubernetes-embedded-resource",
                              "must not be used inside of resource meta");
    }
    if (kl__definition_says(schema, "uniqueItems")) {
        kl__definition_forbid(
            self, ".uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity "
            "becomes quadratic");
    }
}

/* --- Lists and maps. ------------------------------------------------------ */

/* Adds "must be WHAT if NAME is specified", if the schema has NAME and another
 * type than WHAT. */
static void check_kind_of(kl__definition *self, const kl_value *schema,
                          const char *what, const char *name)
{
    const char *type = kl__definition_text(schema, "type");
    char why[100];

    if (kl_value_get(schema, name) == NULL || strcmp(type, what) == 0) {
        return;
    }
    snprintf(why, sizeof(why), "must be %s if %s is specified", what, name);
    if (*type == '\0') {
        kl__definition_require(self, ".type", why);
    } else {
        kl__definition_refuse(self, ".type", type, why);
    }
}

static void check_set(kl__definition *self, const kl_value *items)
{
    static const char why[] =
        "must be atomic as item of a list with x-kubernetes-list-type=set";
    const char *type = kl__definition_text(items, "type");
    const kl_value *list = kl_value_get(items, "x-kubernetes-list-type");
    bool is_list = strcmp(type, "array") == 0 && list != NULL &&
                   strcmp(kl__definition_text(items, "x-kubernetes-list-type"),
                          "atomic") != 0;
    bool is_map = strcmp(type, "object") == 0 &&
                  strcmp(kl__definition_text(items, "x-kubernetes-map-type"),
                         "atomic") != 0;

    if (is_list || is_map) {
        kl__definition_refuse_value(self,
                                    is_list ? ".items.x-kubernetes-list-type"
                                            : ".items.x-kubernetes-map-type",
                                    list, why);
    }
}

static bool is_text(const kl_value *value, const char *text)
{
    const char *given = kl_value_string(value, NULL);

    return given != NULL && strcmp(given, text) == 0;
}

/* The keys of a list of type map must be scalar properties of its items. */
static void check_map_keys(kl__definition *self, const kl_value *schema,
                           const kl_value *items)
{
    const kl_value *keys = kl_value_get(schema, "x-kubernetes-list-map-keys");
    const kl_value *properties = kl__definition_object(items, "properties");
    const char *of_items = kl__definition_text(items, "type");

    for (size_t i = 0; i < kl_value_size(keys); i++) {
        const char *key = kl_value_string(kl_value_at(keys, i), NULL);
        const kl_value *property =
            key != NULL ? kl_value_get(properties, key) : NULL;
        const char *type = kl__definition_text(property, "type");
        size_t before, first = 0;

        while (first < i &&
               !is_text(kl_value_at(keys, first), key != NULL ? key : "")) {
            first++;
        }
        if (property == NULL) {
            kl__definition_refuse_value(
                self, ".x-kubernetes-list-map-keys", keys,
                "entries must all be names of item properties");
        } else if (strcmp(type, "array") == 0 || strcmp(type, "object") == 0) {
            before = kl__definition_enter(self, ".items.properties[%s]", key);
            kl__definition_refuse(self, ".type", of_items,
                                  "must be a scalar type if parent array's "
                                  "x-kubernetes-list-type is map");
            kl__definition_leave(self, before);
        }
        if (key != NULL && first < i) {
            kl__definition_refuse_value(self, ".x-kubernetes-list-map-keys",
                                        keys,
                                        "must not contain duplicate entries");
        }
    }
}

static void check_map_list(kl__definition *self, const kl_value *schema)
{
    const kl_value *items = kl_value_get(schema, "items");
    const char *type = kl__definition_text(items, "type");

    if (kl_value_size(kl_value_get(schema, "x-kubernetes-list-map-keys")) ==
        0) {
        kl__definition_require(
            self, ".x-kubernetes-list-map-keys",
            "must not be empty if x-kubernetes-list-type is map");
    }
    if (items == NULL) {
        kl__definition_require(
            self, ".items",
            "must have a schema if x-kubernetes-list-type is map");
    } else if (kl__definition_is_object(items) && strcmp(type, "object") != 0) {
        kl__definition_refuse(self, ".items.type", type,
                              "must be object if parent array's "
                              "x-kubernetes-list-type is map");
    } else if (kl__definition_is_object(items)) {
        check_map_keys(self, schema, items);
    }
}

/* The elements of a set or map must not be nullable. The keys of a map must not
 * be nullable, and must be required or have a default. */
static void check_presence(kl__definition *self, const kl_value *schema,
                           const char *list)
{
    const kl_value *keys = kl_value_get(schema, "x-kubernetes-list-map-keys");
    const kl_value *items = kl_value_get(schema, "items");
    char why[80];

    snprintf(why, sizeof(why),
             "cannot be nullable when x-kubernetes-list-type is %s", list);
    if (kl__definition_says(items, "nullable")) {
        kl__definition_forbid(self, ".items.nullable", why);
    }
    for (size_t i = 0; strcmp(list, "map") == 0 && i < kl_value_size(keys);
         i++) {
        const char *key = kl_value_string(kl_value_at(keys, i), NULL);
        const kl_value *property =
            key != NULL
                ? kl_value_get(kl__definition_object(items, "properties"), key)
                : NULL;
        size_t before;

        if (property == NULL) {
            continue;
        }
        before = kl__definition_enter(self, ".items.properties[%s]", key);
        if (!kl__schema_requires(items, key) &&
            kl_value_type(kl_value_get(property, "default")) == KL_NULL) {
            kl__definition_require(
                self, ".default",
                "this property is in x-kubernetes-list-map-keys, so it "
                "must have a default or be a required property");
        }
        if (kl__definition_says(property, "nullable")) {
            kl__definition_forbid(
                self, ".nullable",
                "this property is in x-kubernetes-list-map-keys, so it "
                "cannot be nullable");
        }
        kl__definition_leave(self, before);
    }
}

static void check_list_schema(kl__definition *self, const kl_value *schema)
{
    const kl_value *items = kl_value_get(schema, "items");
    const char *list = kl__definition_text(schema, "x-kubernetes-list-type");
    bool is_map = strcmp(list, "map") == 0, is_set = strcmp(list, "set") == 0;
    size_t keys =
        kl_value_size(kl_value_get(schema, "x-kubernetes-list-map-keys"));

    check_kind_of(self, schema, "array", "x-kubernetes-list-type");
    if (is_set && kl__definition_is_object(items) &&
        strcmp(kl__definition_text(schema, "type"), "array") == 0) {
        check_set(self, items);
    }
    if (*list != '\0' && !is_map && !is_set && strcmp(list, "atomic") != 0) {
        kl__definition_unsupported(self, ".x-kubernetes-list-type", list,
                                   "\"atomic\", \"set\", \"map\"");
    }
    if (keys != 0 && *list == '\0') {
        kl__definition_require(
            self, ".x-kubernetes-list-type",
            "must be map if x-kubernetes-list-map-keys is non-empty");
    } else if (keys != 0 && !is_map) {
        kl__definition_refuse(
            self, ".x-kubernetes-list-type", list,
            "must be map if x-kubernetes-list-map-keys is non-empty");
    }
    if (is_map) {
        check_map_list(self, schema);
    }
    if ((is_map || is_set) && kl__definition_is_object(items)) {
        check_presence(self, schema, list);
    }
}

static void check_map(kl__definition *self, const kl_value *schema)
{
    const char *type = kl__definition_text(schema, "x-kubernetes-map-type");
    const kl_value *preserve =
        kl_value_get(schema, "x-kubernetes-preserve-unknown-fields");

    if (kl_value_type(preserve) == KL_BOOL && !kl_value_bool(preserve)) {
        kl__definition_refuse_value(self,
                                    ".x-kubernetes-preserve-unknown-fields",
                                    preserve, "must be true or undefined");
    }
    check_kind_of(self, schema, "object", "x-kubernetes-map-type");
    if (*type != '\0' && strcmp(type, "atomic") != 0 &&
        strcmp(type, "granular") != 0) {
        kl__definition_unsupported(self, ".x-kubernetes-map-type", type,
                                   "\"atomic\", \"granular\"");
    }
}

/* --- Rules. --------------------------------------------------------------- */

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Checks what can be checked of a rule without CEL. */
static void check_rule(kl__definition *self, const kl_value *rule)
{
    const char *text = kl__definition_text(rule, "rule");
    const char *message = kl__definition_text(rule, "message");
    const char *reason = kl__definition_text(rule, "reason");
    static const char reasons[] =
        "\"FieldValueDuplicate\", \"FieldValueForbidden\", "
        "\"FieldValueInvalid\", \"FieldValueRequired\"";
    char quoted[64];

    if (is_blank(text)) {
        kl__definition_require(self, ".rule", "rule is not specified");
    } else if (*message != '\0' && is_blank(message)) {
        kl__definition_refuse(self, ".message", message,
                              "must be non-empty if specified");
    } else if (strpbrk(message, "\r\n") != NULL) {
        kl__definition_refuse(self, ".message", message,
                              "must not contain line breaks");
    } else if (strpbrk(text, "\r\n") != NULL && *message == '\0') {
        kl__definition_require(
            self, ".message",
            "message must be specified if rule contains line breaks");
    }
    snprintf(quoted, sizeof(quoted), "\"%.40s\"", reason);
    if (*reason != '\0' && strstr(reasons, quoted) == NULL) {
        kl__definition_unsupported(self, ".reason", reason, reasons);
    }
}

static void check_rules(kl__definition *self, const kl_value *schema)
{
    const kl_value *rules = kl_value_get(schema, "x-kubernetes-validations");
    kl_value_iter iter = {0};
    const kl_value *rule;

    for (size_t i = 0; (rule = kl_value_next(rules, &iter, NULL)) != NULL;
         i++) {
        size_t before =
            kl__definition_enter(self, ".x-kubernetes-validations[%zu]", i);

        check_rule(self, rule);
        kl__definition_leave(self, before);
    }
}

/* --- All nested schemas. -------------------------------------------------- */

static void check_schema_at(kl__definition *self, const kl_value *schema,
                            const place *at);

static void check_properties(kl__definition *self, const kl_value *schema,
                             const place *at)
{
    const kl_value *properties = kl__definition_object(schema, "properties");
    bool is_resource =
        at->is_root ||
        kl__definition_says(schema, "x-kubernetes-embedded-resource");
    const kl_value *property, *name;
    kl_value_iter iter = {0};

    while ((property = kl_value_next(properties, &iter, &name)) != NULL) {
        const char *text = kl_value_string(name, NULL);
        bool is_meta = is_resource && (strcmp(text, "metadata") == 0 ||
                                       strcmp(text, "kind") == 0 ||
                                       strcmp(text, "apiVersion") == 0);
        place below = {at->no_defaults, at->in_meta || is_meta, false};
        size_t before = kl__definition_enter(self, ".properties[%s]", text);

        if (is_meta && at->is_root) {
            below.no_defaults = *text == 'm'   ? "in top-level metadata"
                                : *text == 'k' ? "in top-level kind"
                                               : "in top-level apiVersion";
        }
        check_schema_at(self, property, &below);
        kl__definition_leave(self, before);
    }
}

static void check_others(kl__definition *self, const kl_value *schema,
                         const place *at)
{
    const kl_value *others = kl_value_get(schema, "additionalProperties");
    place below = {at->no_defaults, at->in_meta, false};
    size_t before;

    if (others == NULL) {
        return;
    }
    if (kl_value_size(kl__definition_object(schema, "properties")) != 0 &&
        !kl_value_bool(others)) {
        kl__definition_forbid(
            self, ".additionalProperties",
            "additionalProperties and properties are mutual exclusive");
    }
    if (kl__definition_is_object(others)) {
        if (at->in_meta) {
            below.no_defaults =
                "inside additionalProperties applying to object metadata";
        }
        before = kl__definition_enter(self, ".additionalProperties");
        check_schema_at(self, others, &below);
        kl__definition_leave(self, before);
    }
}

static void check_parts(kl__definition *self, const kl_value *schema,
                        const place *at)
{
    static const char *const lists[] = {"allOf", "oneOf", "anyOf"};
    static const char *const members[] = {"not", "items"};
    place below = {at->no_defaults, at->in_meta, false};
    size_t before;

    for (size_t i = 0; i < 3; i++) {
        const kl_value *list = kl_value_get(schema, lists[i]);

        for (size_t j = 0;
             kl_value_type(list) == KL_ARRAY && j < kl_value_size(list); j++) {
            before = kl__definition_enter(self, ".%s[%zu]", lists[i], j);
            check_schema_at(self, kl_value_at(list, j), &below);
            kl__definition_leave(self, before);
        }
    }
    for (size_t i = 0; i < 2; i++) {
        const kl_value *member = kl_value_get(schema, members[i]);

        if (kl__definition_is_object(member)) {
            before = kl__definition_enter(self, ".%s", members[i]);
            check_schema_at(self, member, &below);
            kl__definition_leave(self, before);
        }
    }
}

static void check_schema_at(kl__definition *self, const kl_value *schema,
                            const place *at)
{
    check_basics(self, schema, at);
    check_others(self, schema, at);
    check_properties(self, schema, at);
    check_parts(self, schema, at);
    check_map(self, schema);
    check_list_schema(self, schema);
    check_rules(self, schema);
}

void kl__definition_schema(kl__definition *self, const kl_value *schema)
{
    const place root = {NULL, false, true};

    check_schema_at(self, schema, &root);
}

/* ---- the defaults in a schema must be valid by that schema ---- */

/* Adds an error if pruning would change the default. */
static void check_pruned(kl__definition *self, const kl__schema *known,
                         const kl_value *initial)
{
    kl__edit *edit = kl__edit_of(initial, NULL);
    kl__buf unknown = {0};

    if (edit == NULL ||
        kl__custom_prune(known, kl__edit_root(edit), &unknown, NULL) != KL_OK) {
        self->errors->failed = true;
    } else if (unknown.length != 0) {
        kl__definition_refuse_value(self, ".default", initial,
                                    "must not have unknown fields");
    }
    kl__buf_deinit(&unknown);
    kl__edit_free(edit);
}

static void check_default(kl__definition *self, const kl_value *schema,
                          const kl__schema *known)
{
    const kl_value *initial = kl_value_get(schema, "default");
    kl__edit *edit;
    size_t before, count = self->errors->count;

    if (kl_value_type(initial) == KL_NULL) {
        return;
    }
    check_pruned(self, known, initial);
    edit = kl__edit_of(initial, NULL);
    before = kl__definition_enter(self, ".default");
    if (edit == NULL || self->path.failed) {
        self->errors->failed = true;
    } else if (self->errors->count == count) {
        kl__custom_validate(schema, kl__edit_root(edit), NULL, self->path.bytes,
                            self->errors);
    }
    kl__definition_leave(self, before);
    kl__edit_free(edit);
}

static void check_defaults(kl__definition *self, const kl_value *schema,
                           const kl__schema *known)
{
    const kl_value *properties = kl__definition_object(schema, "properties");
    const kl_value *items = kl_value_get(schema, "items"), *property, *name;
    kl_value_iter iter = {0};
    size_t before;

    check_default(self, schema, known);
    if (kl_value_type(items) == KL_OBJECT && known->type == KL__SCHEMA_ARRAY &&
        known->items != NULL) {
        before = kl__definition_enter(self, ".items");
        check_defaults(self, items, known->items);
        kl__definition_leave(self, before);
    }
    while ((property = kl_value_next(properties, &iter, &name)) != NULL) {
        size_t length;
        const char *text = kl_value_string(name, &length);
        const kl__schema *field = kl__custom_field(known, text, length);

        if (field != NULL && (field->flags & KL__SCHEMA_CUSTOM) != 0) {
            before = kl__definition_enter(self, ".properties[%s]", text);
            check_defaults(self, property, field);
            kl__definition_leave(self, before);
        }
    }
}

bool kl__definition_defaults(kl__definition *self, const kl_value *schema)
{
    kl__schema *known = kl__schema_custom(schema, NULL);
    size_t before = self->errors->count;

    if (known == NULL) {
        self->errors->failed = true;
        return false;
    }
    check_defaults(self, schema, known);
    kl__schema_free(known);
    return self->errors->count == before;
}
