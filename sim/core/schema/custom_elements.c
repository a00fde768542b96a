/*
 * custom_elements.c - see custom_check.h: checks lists by a structural schema.
 */
#include "sim/core/schema/custom_check.h"

#include <stdio.h>
#include <string.h>

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

void kl__check_array(kl__check *check, const kl_value *schema,
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
        kl__check_child(check, items, element,
                        old != NULL ? old_element(schema, old, element, &hint)
                                    : NULL);
        kl__check_leave(check, before);
    }
    kl__check_count(check, schema, kl__node_size(value), &words);
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
