/*
 * definition_structural.c - see definition_parts.h: checks that a schema is
 * structural. Each part that describes a value must have a type; schemas inside
 * allOf, anyOf, oneOf and not must not have one.
 */
#include "sim/core/schema/definition_parts.h"

#include "sim/core/schema/pattern.h"

#include <stdio.h>
#include <string.h>

typedef enum level { AT_ROOT, AT_ITEM, AT_FIELD } level;

/* --- Within allOf, anyOf, oneOf, not. ------------------------------------- */

static void check_values(kl__definition *self, const kl_value *schema);

/* Adds errors for keywords that are not allowed inside allOf, anyOf, oneOf and
 * not. */
static void check_forbidden(kl__definition *self, const kl_value *schema)
{
    static const struct {
        const char *name;
        const char *why;
    } rules[] = {
        {"type", "must be empty to be structural"},
        {"additionalProperties", "must be undefined to be structural"},
        {"default", "must be undefined to be structural"},
        {"title", "must be empty to be structural"},
        {"description", "must be empty to be structural"},
        {"nullable", "must be false to be structural"},
        {"x-kubernetes-preserve-unknown-fields",
         "must be false to be structural"},
        {"x-kubernetes-embedded-resource", "must be false to be structural"},
        {"x-kubernetes-int-or-string", "must be false to be structural"},
        {"x-kubernetes-list-map-keys", "must be empty to be structural"},
        {"x-kubernetes-list-type", "must be undefined to be structural"},
        {"x-kubernetes-map-type", "must be undefined to be structural"},
        {"x-kubernetes-validations", "must be empty to be structural"}};

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const kl_value *value = kl_value_get(schema, rules[i].name);
        kl_type type = kl_value_type(value);
        bool is_defined = strstr(rules[i].why, "undefined") != NULL;
        char member[64];

        if (type == KL_NULL ||
            (type == KL_BOOL && !kl_value_bool(value) && !is_defined) ||
            (type == KL_STRING && !is_defined &&
             *kl_value_string(value, NULL) == '\0') ||
            (type == KL_ARRAY && kl_value_size(value) == 0)) {
            continue;
        }
        snprintf(member, sizeof(member), ".%s", rules[i].name);
        kl__definition_forbid(self, member, rules[i].why);
    }
}

static void check_nested(kl__definition *self, const kl_value *schema)
{
    const kl_value *properties = kl__definition_object(schema, "properties");
    const kl_value *items = kl_value_get(schema, "items"), *property, *name;
    kl_value_iter iter = {0};
    size_t before;

    if (!kl__definition_is_object(schema)) {
        return;
    }
    check_values(self, schema);
    check_forbidden(self, schema);
    if (kl__definition_is_object(items)) {
        before = kl__definition_enter(self, ".items");
        check_nested(self, items);
        kl__definition_leave(self, before);
    }
    while ((property = kl_value_next(properties, &iter, &name)) != NULL) {
        const char *text = kl_value_string(name, NULL);

        before = kl__definition_enter(self, ".properties[%s]", text);
        check_nested(self, property);
        if (strcmp(text, "metadata") == 0) {
            kl__definition_forbid(self, "",
                                  "must not be specified in a nested context");
        }
        kl__definition_leave(self, before);
    }
}

/* True for exactly [{type: integer}, {type: string}]. */
static bool is_int_or_string(const kl_value *any)
{
    const kl_value *first = kl_value_at(any, 0), *second = kl_value_at(any, 1);

    return kl_value_size(any) == 2 && kl_value_size(first) == 1 &&
           kl_value_size(second) == 1 &&
           strcmp(kl__definition_text(first, "type"), "integer") == 0 &&
           strcmp(kl__definition_text(second, "type"), "string") == 0;
}

static void check_each(kl__definition *self, const kl_value *schema,
                       const char *keyword)
{
    const kl_value *list = kl_value_get(schema, keyword), *one;
    kl_value_iter iter = {0};
    bool is_any = strcmp(keyword, "anyOf") == 0;
    bool is_all = strcmp(keyword, "allOf") == 0;

    if (is_any && is_int_or_string(list)) {
        return;
    }
    for (size_t i = 0; (one = kl_value_next(list, &iter, NULL)) != NULL; i++) {
        size_t before = kl__definition_enter(self, ".%s[%zu]", keyword, i);

        /* The first schema of allOf may have exactly this anyOf too. */
        if (!is_all || i != 0 ||
            !is_int_or_string(kl_value_get(one, "anyOf"))) {
            check_nested(self, one);
        }
        kl__definition_leave(self, before);
    }
}

static void check_values(kl__definition *self, const kl_value *schema)
{
    const char *pattern = kl__definition_text(schema, "pattern");
    kl__buf why = {0};
    size_t before;

    check_each(self, schema, "anyOf");
    check_each(self, schema, "allOf");
    check_each(self, schema, "oneOf");
    if (kl__definition_is_object(kl_value_get(schema, "not"))) {
        before = kl__definition_enter(self, ".not");
        check_nested(self, kl_value_get(schema, "not"));
        kl__definition_leave(self, before);
    }
    if (*pattern == '\0') {
        return;
    }
    kl__buf_puts(&why, "must be a valid regular expression, but isn't: ");
    switch (kl__pattern_check(pattern, &why)) {
    case KL__PATTERN_INVALID:
    case KL__PATTERN_TOO_MUCH:
        if (!why.failed) {
            kl__definition_refuse(self, ".pattern", pattern, why.bytes);
        }
        break;
    case KL__PATTERN_ENOMEM:
        self->errors->failed = true;
        break;
    default:
        break;
    }
    self->errors->failed |= why.failed;
    kl__buf_deinit(&why);
}

/* --- Structure. ----------------------------------------------------------- */

static void check_structural_type(kl__definition *self, const kl_value *schema,
                                  level at)
{
    static const char *const missing[] = {
        [AT_ROOT] = "must not be empty at the root",
        [AT_ITEM] = "must not be empty for specified array items",
        [AT_FIELD] = "must not be empty for specified object fields"};
    static const char embedded[] =
        "must be object if x-kubernetes-embedded-resource is true";
    const char *type = kl__definition_text(schema, "type");

    if (kl__definition_says(schema, "x-kubernetes-embedded-resource") &&
        strcmp(type, "object") != 0) {
        if (*type == '\0') {
            kl__definition_require(self, ".type", embedded);
        } else {
            kl__definition_refuse(self, ".type", type, embedded);
        }
    } else if (*type == '\0' &&
               !kl__definition_says(schema, "x-kubernetes-int-or-string") &&
               !kl__definition_says(schema,
                                    "x-kubernetes-preserve-unknown-fields")) {
        kl__definition_require(self, ".type", missing[at]);
    }
    if (at == AT_ROOT && *type != '\0' && strcmp(type, "object") != 0) {
        kl__definition_refuse(self, ".type", type,
                              "must be object at the root");
    }
}

static void check_extensions(kl__definition *self, const kl_value *schema)
{
    static const char both[] =
        "must be false if x-kubernetes-int-or-string is true";
    static const char *const names[] = {"x-kubernetes-preserve-unknown-fields",
                                        "x-kubernetes-embedded-resource"};
    bool embeds = kl__definition_says(schema, "x-kubernetes-embedded-resource");

    for (size_t i = 0; i < 2; i++) {
        char member[64];

        snprintf(member, sizeof(member), ".%s", names[i]);
        if (kl__definition_says(schema, "x-kubernetes-int-or-string") &&
            kl__definition_says(schema, names[i])) {
            kl__definition_refuse_value(self, member,
                                        kl_value_get(schema, names[i]), both);
        }
    }
    if (embeds && kl_value_get(schema, "additionalProperties") != NULL) {
        kl__definition_forbid(
            self, ".additionalProperties",
            "must not be used if x-kubernetes-embedded-resource is set");
    }
    if (embeds &&
        !kl__definition_says(schema, "x-kubernetes-preserve-unknown-fields") &&
        kl_value_size(kl__definition_object(schema, "properties")) == 0) {
        kl__definition_require(
            self, ".properties",
            "must not be empty if x-kubernetes-embedded-resource is true "
            "without x-kubernetes-preserve-unknown-fields");
    }
}

/* Checks the schema of metadata. That of the root may describe name and
 * generateName only. */
static void check_metadata(kl__definition *self, const kl_value *metadata,
                           level at)
{
    const kl_value *properties = kl__definition_object(metadata, "properties");
    const kl_value *name, *member;
    kl_value_iter iter = {0};
    size_t known = 0;
    bool other = false;

    if (strcmp(kl__definition_text(metadata, "type"), "object") != 0) {
        kl__definition_refuse(self, ".type",
                              kl__definition_text(metadata, "type"),
                              "must be object");
    }
    while ((member = kl_value_next(metadata, &iter, &name)) != NULL) {
        const char *text = kl_value_string(name, NULL);

        other = other ||
                (strcmp(text, "type") != 0 && strcmp(text, "properties") != 0 &&
                 strcmp(text, "default") != 0);
    }
    known += kl_value_get(properties, "name") != NULL;
    known += kl_value_get(properties, "generateName") != NULL;
    if (at == AT_ROOT && (other || kl_value_size(properties) != known)) {
        kl__definition_forbid(
            self, "",
            "must not specify anything other than name and generateName, "
            "but metadata is implicitly specified");
    }
}

/* Checks the schemas of apiVersion, kind and metadata, in the root and in
 * embedded resources. */
static void check_resource(kl__definition *self, const kl_value *schema,
                           level at)
{
    static const char *const names[] = {"kind", "apiVersion"};
    const kl_value *properties = kl__definition_object(schema, "properties");
    const kl_value *metadata = kl__definition_object(properties, "metadata");
    size_t before;

    if (at != AT_ROOT &&
        !kl__definition_says(schema, "x-kubernetes-embedded-resource")) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        const kl_value *property = kl_value_get(properties, names[i]);
        const char *type = kl__definition_text(property, "type");

        if (property != NULL && strcmp(type, "string") != 0) {
            before = kl__definition_enter(self, ".properties[%s]", names[i]);
            kl__definition_refuse(self, ".type", type, "must be string");
            kl__definition_leave(self, before);
        }
    }
    if (metadata != NULL) {
        before = kl__definition_enter(self, ".properties[metadata]");
        check_metadata(self, metadata, at);
        kl__definition_leave(self, before);
    }
}

static void check_structure(kl__definition *self, const kl_value *schema,
                            level at);

static void check_children(kl__definition *self, const kl_value *schema,
                           level at)
{
    const kl_value *properties = kl__definition_object(schema, "properties");
    const kl_value *others = kl_value_get(schema, "additionalProperties");
    const kl_value *items = kl_value_get(schema, "items"), *property, *name;
    kl_value_iter iter = {0};
    size_t before;

    if (kl__definition_is_object(items)) {
        before = kl__definition_enter(self, ".items");
        check_structure(self, items, AT_ITEM);
        kl__definition_leave(self, before);
    } else if (strcmp(kl__definition_text(schema, "type"), "array") == 0 &&
               items == NULL) {
        kl__definition_require(self, ".items", "must be specified");
    }
    while ((property = kl_value_next(properties, &iter, &name)) != NULL) {
        before = kl__definition_enter(self, ".properties[%s]",
                                      kl_value_string(name, NULL));
        check_structure(self, property, AT_FIELD);
        kl__definition_leave(self, before);
    }
    if (others != NULL && at == AT_ROOT) {
        kl__definition_forbid(self, ".additionalProperties",
                              "must not be used at the root");
    }
    if (kl__definition_is_object(others)) {
        before = kl__definition_enter(self, ".additionalProperties");
        check_structure(self, others, AT_FIELD);
        kl__definition_leave(self, before);
    }
}

static void check_structure(kl__definition *self, const kl_value *schema,
                            level at)
{
    check_children(self, schema, at);
    check_extensions(self, schema);
    check_values(self, schema);
    check_structural_type(self, schema, at);
    check_resource(self, schema, at);
}

bool kl__definition_structural(kl__definition *self, const kl_value *schema)
{
    size_t before = self->errors->count;

    check_structure(self, schema, AT_ROOT);
    kl__field_errors_sort(self->errors, before);
    return self->errors->count == before;
}
