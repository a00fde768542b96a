/*
 * custom_validate.c - see custom.h: validates a value by a structural schema:
 * types and members, and drops the errors of unchanged values. Messages and
 * their order are those of kube-apiserver; but it visits the members of an
 * object in random order.
 */
#include "sim/core/schema/custom_check.h"

#include <stdio.h>
#include <string.h>

/* --- Types. --------------------------------------------------------------- */

static const char *schema_text(const kl_value *schema, const char *name)
{
    const char *text = kl_value_string(kl_value_get(schema, name), NULL);

    return text != NULL ? text : "";
}

static bool is_true(const kl_value *schema, const char *name)
{
    return kl_value_bool(kl_value_get(schema, name));
}

/* The JSON type of a value, and the format that a number has. */
static const char *type_of(const kl__node *value, const char **format)
{
    *format = "";
    switch (kl__node_type(value)) {
    case KL_BOOL:
        return "boolean";
    case KL_STRING:
        return "string";
    case KL_ARRAY:
        return "array";
    case KL_OBJECT:
        return "object";
    case KL_INTEGER:
        *format = "int64";
        return "integer";
    case KL_NULL:
        return "null";
    default:
        *format = "float64";
        return "number";
    }
}

/* The types that a schema allows, as messages show them; "": any. */
static const char *types_of(const kl_value *schema)
{
    return is_true(schema, "x-kubernetes-int-or-string")
               ? "integer,string"
               : schema_text(schema, "type");
}

static bool has_type(const char *types, const char *type)
{
    return strcmp(types, type) == 0 ||
           (strcmp(types, "integer,string") == 0 &&
            (strcmp(type, "integer") == 0 || strcmp(type, "string") == 0));
}

/* The format of a schema if it applies to that type, else "". */
static const char *format_of(const kl_value *schema, const char *types)
{
    const char *format = schema_text(schema, "format");
    bool counts =
        *types == '\0' || strcmp(types, "string") == 0
            ? kl__custom_format_is_known(format)
        : strcmp(types, "integer") == 0
            ? strcmp(format, "int32") == 0 || strcmp(format, "int64") == 0
        : strcmp(types, "number") == 0
            ? strcmp(format, "float") == 0 || strcmp(format, "double") == 0
            : false;

    return counts ? format : "";
}

static void refuse_type(kl__check *check, const char *expected,
                        const char *given)
{
    char shown[32];

    snprintf(shown, sizeof(shown), "\"%s\"", given);
    kl__check_add(check, KL__FIELD_TYPE, shown,
                  "%s in body must be of type %s: %s", kl__check_name(check),
                  expected, shown);
}

static void check_schema_type(kl__check *check, const kl_value *schema,
                              const kl__node *value)
{
    const char *types = types_of(schema), *given_format;
    const char *format = format_of(schema, types);
    const char *given = type_of(value, &given_format);
    bool is_number = has_type(types, "number") || has_type(types, "integer");
    bool is_texty =
        kl__node_is(value, KL_STRING) || kl__node_is(value, KL_ARRAY);
    bool fits = has_type(types, given) ||
                (strcmp(given, "number") == 0 && has_type(types, "integer") &&
                 kl__number_is_whole(kl__node_real(value))) ||
                (strcmp(given, "integer") == 0 && has_type(types, "number"));

    if (*types == '\0' && *format == '\0') {
        return;
    }
    if (!is_texty && *format != '\0' && !fits &&
        strcmp(format, given_format) != 0) {
        refuse_type(check, format, given_format);
    } else if ((is_number || *format == '\0' || !is_texty) && !fits) {
        refuse_type(check, types, given);
    } else {
        check->outcome->matches++;
    }
    check->outcome->matches++;
}

static void check_null(kl__check *check, const kl_value *schema)
{
    const char *types = types_of(schema);

    if (*types != '\0' && !is_true(schema, "nullable")) {
        refuse_type(check, types, "null");
    } else {
        check->outcome->matches++;
    }
    kl__check_enum(check, schema, NULL);
}

/* --- Children. ------------------------------------------------------------ */

void kl__check_child(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old)
{
    size_t before = check->outcome->errors.count;

    kl__check_value(check, schema, value, old);
    if (check->outcome->errors.count > before && old != NULL &&
        kl__node_equal(value, old)) {
        kl__field_errors_cut(&check->outcome->errors, before);
    }
}

static size_t enter_path(kl__check *check, const char *name, size_t length)
{
    size_t before = check->name.length;

    if (before != 0) {
        kl__buf_putc(&check->name, '.');
    }
    kl__buf_append(&check->name, name, length);
    return before;
}

void kl__check_leave(kl__check *check, size_t before)
{
    check->name.length = before;
    if (check->name.bytes != NULL) {
        check->name.bytes[before] = '\0';
    }
}

/* The value that a member had before the write; NULL: none, or kube-apiserver
 * does not compare it. */
static const kl__node *old_member(kl__check *check, const kl_value *schema,
                                  const kl__node *old, const char *name)
{
    bool is_root = *check->prefix == '\0' && check->name.length == 0;

    if (!kl__node_is(old, KL_OBJECT) ||
        strcmp(schema_text(schema, "x-kubernetes-map-type"), "atomic") == 0 ||
        (is_root &&
         (strcmp(name, "kind") == 0 || strcmp(name, "apiVersion") == 0))) {
        return NULL;
    }
    return kl__lookup_node(&check->lookup, old, name, strlen(name));
}

static void check_members(kl__check *check, const kl_value *schema,
                          const kl__node *value, const kl__node *old)
{
    const kl_value *properties = kl_value_get(schema, "properties");
    const kl_value *others = kl_value_get(schema, "additionalProperties");
    kl__node_iter iter = {0};
    const char *name;
    size_t length, before;
    const kl__node *member;

    while ((member = kl__node_next(value, &iter, &name, &length)) != NULL) {
        const kl_value *property =
            kl__lookup_value(&check->lookup, properties, name, length);
        const kl_value *known = property != NULL ? property : others;

        if (property == NULL && kl_value_type(others) == KL_BOOL &&
            !kl_value_bool(others)) {
            kl__buf shown = {0};

            kl__go_quote(&shown, name, length);
            check->outcome->errors.failed |= shown.failed;
            kl__check_add(check, KL__FIELD_INVALID, shown.bytes,
                          "%s.%s in body is a forbidden property",
                          kl__check_name(check), name);
            kl__buf_deinit(&shown);
        } else if (kl_value_type(known) == KL_OBJECT) {
            before = enter_path(check, name, length);
            kl__check_child(check, known, member,
                            old_member(check, schema, old, name));
            kl__check_leave(check, before);
        }
    }
}

static void check_required(kl__check *check, const kl_value *schema,
                           const kl__node *value)
{
    const kl_value *required = kl_value_get(schema, "required"), *element;
    kl_value_iter iter = {0};

    while ((element = kl_value_next(required, &iter, NULL)) != NULL) {
        size_t length;
        const char *name = kl_value_string(element, &length);

        if (name != NULL &&
            kl__lookup_node(&check->lookup, value, name, length) == NULL) {
            kl__check_miss(check, name);
        }
    }
}

void kl__check_count(kl__check *check, const kl_value *schema, size_t count,
                     const kl__count_words *words)
{
    const kl_value *least = kl_value_get(schema, words->least);
    const kl_value *most = kl_value_get(schema, words->most);
    char shown[32];

    snprintf(shown, sizeof(shown), "%zu", count);
    if (least != NULL && (int64_t)count < kl_value_integer(least)) {
        kl__check_add(check, KL__FIELD_INVALID, shown,
                      "%s in body should have at least %lld %s",
                      kl__check_name(check), (long long)kl_value_integer(least),
                      words->what);
    }
    if (most != NULL && (int64_t)count > kl_value_integer(most)) {
        kl__check_add(check, KL__FIELD_TOO_MANY, shown,
                      "must have at most %lld item%s",
                      (long long)kl_value_integer(most),
                      kl_value_integer(most) == 1 ? "" : "s");
    }
}

static void check_object(kl__check *check, const kl_value *schema,
                         const kl__node *value, const kl__node *old)
{
    static const kl__count_words words = {"minProperties", "maxProperties",
                                          "properties"};

    kl__check_count(check, schema, kl__node_size(value), &words);
    check_members(check, schema, value, old);
    check_required(check, schema, value);
    check->outcome->matches++;
}

void kl__check_value(kl__check *check, const kl_value *schema,
                     const kl__node *value, const kl__node *old)
{
    kl_type type = kl__node_type(value);

    if (type == KL_NULL) {
        check_null(check, schema);
        return;
    }
    check_schema_type(check, schema, value);
    kl__check_logic(check, schema, value, old);
    if (type == KL_STRING) {
        kl__check_text(check, schema, value);
    } else if (type == KL_ARRAY) {
        kl__check_array(check, schema, value, old);
    } else if (type != KL_OBJECT && type != KL_BOOL) {
        kl__check_number(check, schema, value);
    }
    kl__check_enum(check, schema, value);
    if (type == KL_OBJECT) {
        check_object(check, schema, value, old);
    }
    check->outcome->matches++;
}

void kl__custom_validate(const kl_value *source, const kl__node *value,
                         const kl__node *old, const char *prefix,
                         kl__field_errors *errors)
{
    kl__outcome outcome = {{0}, 0};
    kl__check check = {.outcome = &outcome, .prefix = prefix};

    kl__check_value(&check, source, value, NULL);
    if (outcome.errors.count != 0 && old != NULL) {
        /* To look for old values takes time, so this is a second pass, after an
         * error only. */
        kl__field_errors_cut(&outcome.errors, 0);
        kl__check_child(&check, source, value, old);
    }
    outcome.errors.failed |= check.name.failed;
    kl__field_errors_merge(errors, &outcome.errors);
    kl__field_errors_deinit(&outcome.errors);
    kl__lookup_deinit(&check.lookup);
    kl__buf_deinit(&check.name);
}
