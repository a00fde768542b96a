/*
 * field_set_spec.c - sets of fields, and the managers of fields after a write,
 * also when memory runs out.
 */
#include "spec_case.h"
#include "patch_check.h"

#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "sim/core/patch/field_set.h"
#include "sim/core/patch/managers.h"
#include "sim/core/patch/typed.h"

static kl__node *set_of(kl__edit *edit, const char *json)
{
    kl__node *set = patch_parse(edit, json);

    assert_int_equal(kl__fields_adopt(edit, set, NULL), KL_OK);
    return set;
}

static void says(const kl__node *node, const char *expected)
{
    char *json = kl__node_json(node, NULL, NULL);

    assert_string_equal(json, expected);
    kl_free(json);
}

#define A "{\"f:a\":{\".\":{},\"f:b\":{},\"f:c\":{\"f:d\":{}}},\"f:e\":{}}"
#define B "{\"f:a\":{\".\":{},\"f:c\":{\".\":{},\"f:d\":{}}},\"f:f\":{}}"

PLAIN_CASE(sets_are_subtracted_united_and_intersected)
{
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *set = set_of(edit, A);

    kl__fields_subtract(set, set_of(edit, B), false);
    says(set, "{\"f:a\":{\"f:b\":{}},\"f:e\":{}}");
    set = set_of(edit, A);
    kl__fields_subtract(set, set_of(edit, B), true);
    says(set, "{\"f:e\":{}}");
    set = set_of(edit, A);
    assert_true(kl__fields_unite(edit, set, set_of(edit, B)));
    says(set, "{\"f:a\":{\".\":{},\"f:b\":{},\"f:c\":{\".\":{},\"f:d\":{}}},"
              "\"f:e\":{},\"f:f\":{}}");
    says(kl__fields_intersect(edit, set_of(edit, A), set_of(edit, B)),
         "{\"f:a\":{\".\":{},\"f:c\":{\"f:d\":{}}}}");
    /* What is in the set alone is not what is below it. */
    set = set_of(edit, "{\"f:a\":{}}");
    kl__fields_subtract(set, set_of(edit, "{\"f:a\":{\"f:b\":{}}}"), false);
    says(set, "{\"f:a\":{}}");
    assert_true(
        kl__fields_unite(edit, set, set_of(edit, "{\"f:a\":{\"f:b\":{}}}")));
    says(set, "{\"f:a\":{\".\":{},\"f:b\":{}}}");
    kl__edit_free(edit);
}

PLAIN_CASE(sets_of_clients_are_made_canonical)
{
    static const char *const bad[] = {"{\"x:a\":{}}", "{\"a\":{}}",
                                      "{\"k:1\":{}}", "{\"k:{\":{}}",
                                      "{\"i:x\":{}}", "{\"f:a\":1}"};
    kl__edit *edit = kl__edit_new(NULL);

    says(set_of(edit, "{\"k:{ \\\"b\\\": 1, \\\"a\\\":\\\"x\\\"}\":{},"
                      "\"i:3\":{},\"f:b\":{},\"f:a\":{},\"v: 1\":{}}"),
         "{\"f:a\":{},\"f:b\":{},\"i:3\":{},"
         "\"k:{\\\"a\\\":\\\"x\\\",\\\"b\\\":1}\":{},\"v:1\":{}}");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        kl_error err = {0};

        assert_int_equal(
            kl__fields_adopt(edit, patch_parse(edit, bad[i]), &err), KL_EPARSE);
    }
    kl__edit_free(edit);
}

PLAIN_CASE(elements_are_put_in_words)
{
    static const char *const cases[][2] = {
        {"f:spec", ".spec"},
        {"k:{\"name\":\"a\",\"port\":80}", "[name=\"a\",port=80]"},
        {"v:\"x\"", "[=\"x\"]"},
        {"i:3", "[3]"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kl__buf out = {0};

        kl__fields_text(&out, cases[i][0], strlen(cases[i][0]));
        assert_string_equal(out.bytes, cases[i][1]);
        kl__buf_deinit(&out);
    }
}

PLAIN_CASE(without_a_schema_maps_are_granular_and_lists_atomic)
{
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *old = patch_parse(edit, "{\"a\":{\"b\":1,\"c\":[1]},\"d\":2}");
    kl__node *new = patch_parse(edit, "{\"a\":{\"b\":1,\"c\":[2]},\"e\":{}}");
    kl__difference difference;

    says(kl__typed_fields(edit, NULL, old),
         "{\"f:a\":{\".\":{},\"f:b\":{},\"f:c\":{}},\"f:d\":{}}");
    assert_true(kl__typed_compare(edit, NULL, old, new, &difference));
    says(difference.changed, "{\"f:a\":{\"f:c\":{}},\"f:e\":{}}");
    says(difference.removed, "{\"f:d\":{}}");
    assert_true(kl__typed_merge(edit, NULL, old, new));
    says(old, "{\"a\":{\"b\":1,\"c\":[2]},\"d\":2,\"e\":{}}");
    assert_true(
        kl__typed_remove(edit, NULL, old, patch_parse(edit, "{\"f:a\":{}}")));
    says(old, "{\"d\":2,\"e\":{}}");
    kl__edit_free(edit);
}

/* A create, an update by another, and applies that take and take back. */
static kl_code write_all(void *context)
{
    static const char object[] =
        "{\"metadata\":{\"name\":\"a\",\"labels\":{\"l\":\"1\"}},\"spec\":{"
        "\"containers\":[{\"name\":\"a\",\"ports\":[{\"containerPort\":1}]}]}}";
    static const char config[] =
        "{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\","
        "\"image\":\"i\"}],\"nodeName\":\"n\"}}";
    static const char less[] = "{\"spec\":{\"containers\":[{\"name\":\"b\"}]}}";
    kl__edit *edit = kl__edit_new(NULL);
    kl__author author = {.edit = edit,
                         .schema = context,
                         .api_version = "v1",
                         .name = "x",
                         .subresource = "",
                         .now = "2026-11-22T00:00:00Z"};
    kl__node *live, *first, *second, *managed = NULL;
    kl__applied applied = {0};
    kl_code code = KL_ENOMEM;
    kl_error err = {0};

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    live = kl__edit_parse(edit, object, sizeof(object) - 1, NULL);
    first = kl__edit_parse(edit, config, sizeof(config) - 1, NULL);
    second = kl__edit_parse(edit, less, sizeof(less) - 1, NULL);
    if (live != NULL && first != NULL && second != NULL) {
        code = kl__track_update(&author, NULL, live, &managed, &err);
    }
    author.name = "y";
    for (int i = 0; i < 3 && code == KL_OK; i++) {
        if (managed != NULL &&
            !kl__node_put(edit, kl__node_get(live, "metadata"), "managedFields",
                          managed)) {
            code = KL_ENOMEM;
            break;
        }
        code = kl__track_apply(&author, live, i == 1 ? second : first, i < 2,
                               &applied, &err);
        kl__conflicts_deinit(&applied.conflicts);
        live = applied.object;
        managed = applied.managed;
    }
    kl__edit_free(edit);
    return code;
}

PLAIN_CASE(managed_fields_survive_each_failed_allocation)
{
    const kl__schema *schema;

    failing_alloc_install();
    kl__schema_hold();
    schema = kl__schema_builtin("", "v1", "Pod", NULL);
    assert_non_null(schema);
    assert_true(failing_alloc_each(write_all, (void *)(uintptr_t)schema) > 0);
    assert_true(failing_alloc_each(write_all, NULL) > 0);
    kl__schema_release();
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}
