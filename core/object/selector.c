/*
 * selector.c - matches objects' labels with a compiled label selector. It
 * selects the same objects as an API server does with ?labelSelector=
 * (docs/KUBERNETES.md#label-selectors).
 */
#include "object/selector.h"

#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void kl_selector_free(kl_selector *selector)
{
    if (selector != NULL) {
        kl__free(selector->requirements);
        kl__free(selector->values);
        kl__free(selector->text);
        kl__free(selector);
    }
}

bool kl_selector_is_empty(const kl_selector *selector)
{
    return selector->count == 0;
}

bool kl__label_integer(const char *text, int64_t *number)
{
    const char *digits = text + (*text == '-' || *text == '+' ? 1 : 0);
    char *end;
    long long parsed;

    if (*digits < '0' || *digits > '9') {
        return false;
    }
    errno = 0;
    parsed = strtoll(text, &end, 10);
    *number = parsed;
    return *end == '\0' && errno == 0;
}

static bool is_one_of(const kl_selector *selector,
                      const kl__requirement *requirement, const char *label)
{
    for (size_t i = 0; i < requirement->count; i++) {
        if (strcmp(selector->values[requirement->first + i], label) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_beyond_bound(const kl_selector *selector,
                            const kl__requirement *requirement,
                            const char *label)
{
    int64_t bound, number;

    if (!kl__label_integer(selector->values[requirement->first], &bound) ||
        !kl__label_integer(label, &number)) {
        return false;
    }
    return requirement->op == KL__LABEL_GREATER ? number > bound
                                                : number < bound;
}

/* A label that is not a string counts as absent; API servers have no such
 * labels. */
static bool is_met(const kl_selector *selector,
                   const kl__requirement *requirement, const kl_value *labels)
{
    const kl_value *value = kl_value_get(labels, requirement->key);
    const char *label =
        kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL) : NULL;

    switch (requirement->op) {
    case KL__LABEL_IN:
        return label != NULL && is_one_of(selector, requirement, label);
    case KL__LABEL_NOT_IN: /* an object without the label matches */
        return label == NULL || !is_one_of(selector, requirement, label);
    case KL__LABEL_EXISTS:
        return label != NULL;
    case KL__LABEL_MISSING:
        return label == NULL;
    case KL__LABEL_GREATER:
    case KL__LABEL_LESS:
        return label != NULL && is_beyond_bound(selector, requirement, label);
    }
    return false;
}

bool kl_selector_matches(const kl_selector *selector, const kl_value *labels)
{
    for (size_t i = 0; i < selector->count; i++) {
        if (!is_met(selector, &selector->requirements[i], labels)) {
            return false;
        }
    }
    return true;
}
