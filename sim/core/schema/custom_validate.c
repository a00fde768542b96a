/*
 * custom_validate.c - see custom.h and custom_check.h: validates a value by a
 * structural schema: types, members, elements, allOf, anyOf, oneOf and not; and
 * drops the errors of unchanged values. Messages and their order are those of
 * kube-apiserver; but it visits the members of an object in random order.
 *
 * If a value fits no schema of anyOf or oneOf, the errors are those of the
 * schema of which it passes the most checks.
 */
#include "sim/core/schema/custom_check.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void check_child(kl__check *check, const kl_value *schema,
                        const kl__node *value, const kl__node *old);

static void check_leave(kl__check *check, size_t length);

static void check_count(kl__check *check, const kl_value *schema, size_t count,
                        const kl__count_words *words);

static void check_value(kl__check *check, const kl_value *schema,
                        const kl__node *value, const kl__node *old);

const char *kl__check_name(const kl__check *check)
{
    return check->name.bytes != NULL ? check->name.bytes : "";
}

/* The path of the current value, or of a member of it (not NULL), as causes
 * name it. Freed by the caller; NULL: out of memory. */
static char *field_of(const kl__check *check, const char *member)
{
    const char *name = kl__check_name(check);
    kl__buf field = {0};

    kl__buf_puts(&field, check->prefix);
    if (*name != '\0') {
        kl__buf_puts(&field, *check->prefix != '\0' ? "." : "");
        kl__buf_puts(&field, name);
    }
    if (member != NULL) {
        kl__buf_puts(&field, field.length != 0 ? "." : "");
        kl__buf_puts(&field, member);
    }
    if (field.length == 0) {
        kl__buf_puts(&field, "<nil>");
    }
    if (field.failed) {
        kl__buf_deinit(&field);
        return NULL;
    }
    return kl__buf_take(&field, NULL);
}

static void add_check_error(kl__check *check, kl__field_fault fault,
                            const char *value, const char *text)
{
    char *field = field_of(check, NULL);

    if (field == NULL) {
        check->outcome->errors.failed = true;
        return;
    }
    kl__field_add(&check->outcome->errors, fault, field, value, text);
    kl__free(field);
}

void kl__check_add(kl__check *check, kl__field_fault fault, const char *value,
                   const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    add_check_error(check, fault, value, text);
}

void kl__check_refuse(kl__check *check, const kl__node *value,
                      const char *format, ...)
{
    char *shown = kl__field_value(value), text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    check->outcome->errors.failed |= shown == NULL;
    add_check_error(check, KL__FIELD_INVALID, shown, text);
    kl__free(shown);
}

void kl__check_complain(kl__check *check, const char *format, ...)
{
    char text[4096];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    kl__field_add(&check->outcome->errors, KL__FIELD_INVALID,
                  *check->prefix != '\0' ? check->prefix : "<nil>", "\"\"",
                  text);
}

/* Adds the error that a member of the current value is missing. */
static void check_miss(kl__check *check, const char *member)
{
    char *field = field_of(check, member);

    if (field == NULL) {
        check->outcome->errors.failed = true;
        return;
    }
    kl__field_add(&check->outcome->errors, KL__FIELD_REQUIRED, field, NULL, "");
    kl__free(field);
}

/* ---- lists ---- */

static const char *schema_text(const kl_value *schema, const char *name)
{
    const char *text = kl_value_string(kl_value_get(schema, name), NULL);

    return text != NULL ? text : "";
}

static bool has_keys_of(const kl_value *keys, const kl__node *a,
                        const kl__node *b)
{
    kl_value_iter iter = {0};
    const kl_value *key;

    while ((key = kl_value_next(keys, &iter, NULL)) != NULL) {
        const char *name = kl_value_string(key, NULL);

        if (name == NULL ||
            !kl__node_equal(kl__node_get(a, name), kl__node_get(b, name))) {
            return false;
        }
    }
    return true;
}

/* For lists of type map: the element of the old list with the same keys, or
 * NULL. The search begins at `hint`, after the last result. */
static const kl__node *old_element(const kl_value *schema, const kl__node *old,
                                   const kl__node *element, kl__node_iter *hint)
{
    const kl_value *keys = kl_value_get(schema, "x-kubernetes-list-map-keys");
    const kl__node *candidate;

    if (!kl__node_is(old, KL_ARRAY) || !kl__node_is(element, KL_OBJECT) ||
        strcmp(schema_text(schema, "x-kubernetes-list-type"), "map") != 0) {
        return NULL;
    }
    for (int round = 0; round < 2; round++) {
        while ((candidate = kl__node_next(old, hint, NULL, NULL)) != NULL) {
            if (has_keys_of(keys, candidate, element)) {
                return candidate;
            }
        }
        memset(hint, 0, sizeof(*hint));
    }
    return NULL;
}

static bool has_duplicates(const kl__node *value)
{
    kl__node_iter iter = {0};
    const kl__node *element;

    while ((element = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        kl__node_iter rest = iter;
        const kl__node *other;

        while ((other = kl__node_next(value, &rest, NULL, NULL)) != NULL) {
            if (kl__node_equal(element, other)) {
                return true;
            }
        }
    }
    return false;
}

static void check_array(kl__check *check, const kl_value *schema,
                        const kl__node *value, const kl__node *old)
{
    static const kl__count_words words = {"minItems", "maxItems", "items"};
    const kl_value *items = kl_value_get(schema, "items");
    kl__node_iter iter = {0}, hint = {0};
    size_t before = check->name.length;
    const kl__node *element;
    char index[32];

    for (size_t i = 0;
         kl_value_type(items) == KL_OBJECT &&
         (element = kl__node_next(value, &iter, NULL, NULL)) != NULL;
         i++) {
        snprintf(index, sizeof(index), "[%zu]", i);
        kl__buf_puts(&check->name, index);
        check_child(check, items, element,
                    old != NULL ? old_element(schema, old, element, &hint)
                                : NULL);
        check_leave(check, before);
    }
    check_count(check, schema, kl__node_size(value), &words);
    /* A definition cannot have uniqueItems, as this check takes quadratic
     * time. */
    if (kl_value_bool(kl_value_get(schema, "uniqueItems")) &&
        kl__node_size(value) <= 1000 && has_duplicates(value)) {
        kl__check_add(check, KL__FIELD_INVALID, "\"\"",
                      "%s in body shouldn't contain duplicates",
                      kl__check_name(check));
    }
    check->outcome->matches += 2;
}

/* ---- allOf, anyOf, oneOf and not ---- */

static void clear_outcome(kl__outcome *outcome)
{
    kl__field_errors_deinit(&outcome->errors);
    outcome->matches = 0;
}

static void merge_outcomes(kl__outcome *outcome, kl__outcome *from)
{
    kl__field_errors_merge(&outcome->errors, &from->errors);
    outcome->matches += from->matches;
    clear_outcome(from);
}

/* Keeps in `best` the failure with more passed checks; clears the other. */
static void keep_best(kl__outcome *best, bool *has_best, kl__outcome *other)
{
    if (!*has_best || other->matches > best->matches) {
        clear_outcome(best);
        *best = *other;
        *has_best = true;
        memset(other, 0, sizeof(*other));
    }
    clear_outcome(other);
}

/* The schemas of a keyword (of "not": one), and the value to check by them. */
typedef struct alternatives {
    const kl_value *schemas;
    const kl__node *value;
    const kl__node *old;
} alternatives;

/* Checks the value by one schema, into an outcome of its own. */
static kl__outcome try_schema(kl__check *check, const kl_value *schema,
                              const alternatives *of)
{
    kl__outcome outcome = {{0}, 0}, *before = check->outcome;

    check->outcome = &outcome;
    check_value(check, schema, of->value, of->old);
    check->outcome = before;
    return outcome;
}

/* Checks the value by each schema; with `one`, only until it fits one. Returns
 * how many schemas it fits. `found` gets the outcome of the first that fits, or
 * else of the best failure. */
static size_t try_each(kl__check *check, const alternatives *of, bool one,
                       kl__outcome *found)
{
    kl_value_iter iter = {0};
    const kl_value *schema;
    size_t fitting = 0;
    bool has_best = false;

    while ((schema = kl_value_next(of->schemas, &iter, NULL)) != NULL &&
           (fitting == 0 || !one)) {
        kl__outcome outcome = try_schema(check, schema, of);

        if (outcome.errors.count == 0 && !outcome.errors.failed) {
            if (fitting++ == 0) {
                clear_outcome(found);
                *found = outcome;
            }
            continue;
        }
        found->errors.failed |= outcome.errors.failed;
        if (fitting == 0) {
            keep_best(found, &has_best, &outcome);
        }
        clear_outcome(&outcome);
    }
    return fitting;
}

static void check_any(kl__check *check, const alternatives *of)
{
    kl__outcome found = {{0}, 0};

    if (try_each(check, of, true, &found) == 0) {
        kl__check_complain(check,
                           "\"%s\" must validate at least one schema (anyOf)",
                           kl__check_name(check));
    }
    merge_outcomes(check->outcome, &found);
}

static void check_one(kl__check *check, const alternatives *of)
{
    kl__outcome found = {{0}, 0};
    size_t fitting = try_each(check, of, false, &found);

    if (fitting == 0) {
        kl__check_complain(check,
                           "\"%s\" must validate one and only one schema "
                           "(oneOf). Found none valid",
                           kl__check_name(check));
    } else if (fitting > 1) {
        kl__check_complain(check,
                           "\"%s\" must validate one and only one schema "
                           "(oneOf). Found %zu valid alternatives",
                           kl__check_name(check), fitting);
        clear_outcome(&found);
    }
    merge_outcomes(check->outcome, &found);
}

static void check_all(kl__check *check, const alternatives *of)
{
    kl_value_iter iter = {0};
    const kl_value *schema;
    size_t fitting = 0;

    while ((schema = kl_value_next(of->schemas, &iter, NULL)) != NULL) {
        kl__outcome one = try_schema(check, schema, of);

        fitting += one.errors.count == 0;
        merge_outcomes(check->outcome, &one);
    }
    if (fitting != kl_value_size(of->schemas)) {
        kl__check_complain(
            check, "\"%s\" must validate all the schemas (allOf)%s",
            kl__check_name(check), fitting == 0 ? ". None validated" : "");
    }
}

static void check_not(kl__check *check, const alternatives *of)
{
    kl__outcome found = try_schema(check, of->schemas, of);

    if (found.errors.failed) {
        check->outcome->errors.failed = true;
    } else if (found.errors.count == 0) {
        kl__check_complain(check, "\"%s\" must not validate the schema (not)",
                           kl__check_name(check));
    }
    clear_outcome(&found);
}

static void check_logic(kl__check *check, const kl_value *schema,
                        const kl__node *value, const kl__node *old)
{
    static const struct {
        const char *keyword;
        void (*check)(kl__check *check, const alternatives *of);
    } families[] = {{"anyOf", check_any},
                    {"oneOf", check_one},
                    {"allOf", check_all},
                    {"not", check_not}};

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        const alternatives of = {kl_value_get(schema, families[i].keyword),
                                 value, old};
        bool is_not = families[i].check == check_not;

        if (is_not ? kl_value_type(of.schemas) == KL_OBJECT
                   : kl_value_size(of.schemas) != 0) {
            families[i].check(check, &of);
        }
    }
    check->outcome->matches += 2;
}

/* ---- values ---- */

/* --- Types. --------------------------------------------------------------- */

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

/* Checks a member or element; the path leads to it. If it equals `old` (may be
 * NULL), its errors are dropped: an unchanged value may stay invalid. */
static void check_child(kl__check *check, const kl_value *schema,
                        const kl__node *value, const kl__node *old)
{
    size_t before = check->outcome->errors.count;

    check_value(check, schema, value, old);
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

/* Cuts the path to that length, after a child was checked. */
static void check_leave(kl__check *check, size_t before)
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
            check_child(check, known, member,
                        old_member(check, schema, old, name));
            check_leave(check, before);
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
            check_miss(check, name);
        }
    }
}

static void check_count(kl__check *check, const kl_value *schema, size_t count,
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

    check_count(check, schema, kl__node_size(value), &words);
    check_members(check, schema, value, old);
    check_required(check, schema, value);
    check->outcome->matches++;
}

/* Checks a value by all keywords of a schema. */
static void check_value(kl__check *check, const kl_value *schema,
                        const kl__node *value, const kl__node *old)
{
    kl_type type = kl__node_type(value);

    if (type == KL_NULL) {
        check_null(check, schema);
        return;
    }
    check_schema_type(check, schema, value);
    check_logic(check, schema, value, old);
    if (type == KL_STRING) {
        kl__check_text(check, schema, value);
    } else if (type == KL_ARRAY) {
        check_array(check, schema, value, old);
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

    check_value(&check, source, value, NULL);
    if (outcome.errors.count != 0 && old != NULL) {
        /* To look for old values takes time, so this is a second pass, after an
         * error only. */
        kl__field_errors_cut(&outcome.errors, 0);
        check_child(&check, source, value, old);
    }
    outcome.errors.failed |= check.name.failed;
    kl__field_errors_merge(errors, &outcome.errors);
    kl__field_errors_deinit(&outcome.errors);
    kl__lookup_deinit(&check.lookup);
    kl__buf_deinit(&check.name);
}
