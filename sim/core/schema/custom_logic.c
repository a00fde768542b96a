/*
 * custom_logic.c - see custom_check.h: allOf, anyOf, oneOf and not. If a value
 * fits no schema of anyOf or oneOf, the errors are those of the schema of which
 * it passes the most checks.
 */
#include "sim/core/schema/custom_check.h"

#include <string.h>

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
    kl__check_value(check, schema, of->value, of->old);
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

void kl__check_logic(kl__check *check, const kl_value *schema,
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
