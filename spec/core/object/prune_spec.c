/*
 * prune_spec.c - the parts that an informer drops or does not keep are removed
 * from an object's text, all else stays as it was; of a PartialObjectMetadata,
 * and of a whole object of which metadata alone is kept, is made the same.
 */
#include "object/prune.h"

#include "client_rig.h"
#include "pods.h"

#include "kubelua/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PATHS(...) ((const char *const[]){__VA_ARGS__, NULL})

static kl__prune *rules_of(const char *const *drop, const char *const *keep)
{
    kl__prune *rules;
    kl_error err = {0};

    if (kl__prune_new(drop, keep, &rules, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
    return rules;
}

static void becomes(const char *const *drop, const char *const *keep,
                    const char *json, const char *expected)
{
    kl__prune *rules = rules_of(drop, keep);
    kl__buf out = {0};

    assert_int_equal(kl__prune_text(rules, json, strlen(json), &out), KL_OK);
    assert_string_equal(out.bytes, expected);
    kl__buf_deinit(&out);
    kl__prune_unref(rules);
}

static void a_dropped_member_is_removed(void **state)
{
    (void)state;
    becomes(PATHS("a"), NULL, "{\"a\":1}", "{}");
    becomes(PATHS("a"), NULL, "{\"a\":1,\"b\":2}", "{\"b\":2}");
    becomes(PATHS("a"), NULL, "{\"b\":2,\"a\":[{},\"}\",\"\\\"\"]}",
            "{\"b\":2}");
    becomes(PATHS("b.c"), NULL, "{\"b\":{\"c\":{\"c\":1},\"d\":2},\"c\":3}",
            "{\"b\":{\"d\":2},\"c\":3}");
    becomes(PATHS("b.c", "b.d", "x.y"), NULL,
            "{\"b\":{\"c\":1,\"d\":2,\"e\":{\"c\":5}},\"x\":\"y\"}",
            "{\"b\":{\"e\":{\"c\":5}},\"x\":\"y\"}");
    becomes(PATHS("metadata.annotations[\"a.b/c\"]"), NULL,
            "{\"metadata\":{\"annotations\":{\"a.b/c\":\"1\",\"d\":\"2\"}}}",
            "{\"metadata\":{\"annotations\":{\"d\":\"2\"}}}");
}

static void a_name_with_escapes_is_the_same_name(void **state)
{
    (void)state;
    becomes(PATHS("data.key"), NULL,
            "{\"d\\u0061ta\":{\"k\\u0065y\":1,\"key\":2,\"k\\u0065ys\":3}}",
            "{\"d\\u0061ta\":{\"k\\u0065ys\":3}}");
    becomes(PATHS("[\"a\\\"b\"]"), NULL, "{\"a\\\"b\":1,\"a\\\\b\":2}",
            "{\"a\\\\b\":2}");
    becomes(NULL, PATHS("data"),
            "{\"k\\u0069nd\":\"X\",\"met\\u0061data\":{\"name\":\"a\"},"
            "\"\\u0064ata\":1,\"\\ud83d\\ude00\":2}",
            "{\"k\\u0069nd\":\"X\",\"met\\u0061data\":{\"name\":\"a\"},"
            "\"\\u0064ata\":1}");
}

static void dropped_members_of_elements_are_removed_from_each(void **state)
{
    (void)state;
    becomes(PATHS("c[*].env"), NULL,
            "{\"c\":[{\"env\":[1],\"n\":1},{\"n\":2},{\"env\":[]}],\"env\":1}",
            "{\"c\":[{\"n\":1},{\"n\":2},{}],\"env\":1}");
    becomes(PATHS("c[*]"), NULL, "{\"c\":[1,[2],{\"a\":3}],\"d\":4}",
            "{\"c\":[],\"d\":4}");
    becomes(PATHS("c[*]"), NULL, "{\"c\":{\"a\":1,\"b\":2},\"d\":4}",
            "{\"c\":{},\"d\":4}");
    becomes(PATHS("c[*].x", "c.b.y"), NULL,
            "{\"c\":{\"a\":{\"x\":1,\"y\":2},\"b\":{\"x\":3,\"y\":4,\"z\":5}}}",
            "{\"c\":{\"a\":{\"y\":2},\"b\":{\"z\":5}}}");
    becomes(PATHS("c.env"), NULL, "{\"c\":[{\"env\":1}]}",
            "{\"c\":[{\"env\":1}]}");
}

static void keep_removes_all_but_its_paths_and_the_identity(void **state)
{
    static const char pod[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
        "\"notes\":{}},\"spec\":{\"nodeName\":\"n\",\"x\":1,\"containers\":["
        "{\"image\":\"i\",\"env\":[1]},{\"image\":\"j\"}]},\"status\":{\"a\":1}"
        "}";
    static const char head[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
        "\"notes\":{}}";
    char expected[512];

    (void)state;
    snprintf(expected, sizeof(expected), "%s,%s}", head,
             "\"spec\":{\"nodeName\":\"n\"}");
    becomes(NULL, PATHS("spec.nodeName"), pod, expected);
    snprintf(expected, sizeof(expected), "%s,%s}", head,
             "\"spec\":{\"containers\":[{\"image\":\"i\"},{\"image\":\"j\"}]},"
             "\"status\":{\"a\":1}");
    becomes(NULL, PATHS("spec.containers[*].image", "status"), pod, expected);
    snprintf(expected, sizeof(expected), "%s}", head);
    becomes(NULL, PATHS("nothing"), pod, expected);
    becomes(PATHS("metadata.notes", "spec.containers[*].env"), PATHS("spec"),
            pod,
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
            "\"a\"},\"spec\":{\"nodeName\":\"n\",\"x\":1,\"containers\":["
            "{\"image\":\"i\"},{\"image\":\"j\"}]}}");
    becomes(NULL, PATHS("spec.a.b"), "{\"spec\":{\"a\":\"text\",\"b\":1}}",
            "{\"spec\":{\"a\":\"text\"}}");
}

static void whitespace_is_removed_where_a_path_leads_only(void **state)
{
    (void)state;
    becomes(PATHS("a"), NULL, " { \"a\" : 1 , \"b\" : [ 1, 2 ] } ",
            "{\"b\":[ 1, 2 ]}");
    becomes(PATHS("b[*].a"), NULL, "{\"b\" : [ {\"a\" : 1 } , 2 ] }",
            "{\"b\":[{},2]}");
}

static void bytes_that_are_no_json_are_refused_or_cut(void **state)
{
    static const char *const broken[] = {"",
                                         "x",
                                         "[1]",
                                         "{",
                                         "{\"a",
                                         "{\"a\"",
                                         "{\"a\":",
                                         "{\"a\":{",
                                         "{\"a\":{\"",
                                         "{\"a\":\"\\",
                                         "{\"a\":1 2",
                                         "{\"a\":[1}",
                                         "{\"\\u00\"",
                                         "{\"\\ud83d\"",
                                         "{\"\\ud83d\\ude0\"",
                                         "{\"b\":[1 2]",
                                         "{1:2}",
                                         "{\"a\":1,"};
    kl__prune *rules = rules_of(PATHS("a.b", "b[*].c"), NULL);
    kl__buf out = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        size_t length = strlen(broken[i]);
        char *exact = malloc(length + 1); /* for the sanitizer to see */

        assert_non_null(exact);
        memcpy(exact, broken[i], length);
        if (kl__prune_text(rules, exact, length, &out) != KL_EPARSE) {
            fail_msg("%s", broken[i]);
        }
        free(exact);
    }
    kl__buf_deinit(&out);
    kl__prune_unref(rules);
}

static void paths_that_make_no_sense_are_refused(void **state)
{
    static const struct {
        const char *drop, *keep, *message;
    } wrong[] = {
        {"a..b", NULL, "path"},
        {NULL, "{.a}", "kubectl"},
        {"spec.containers[1]", NULL, "write [*]"},
        {NULL, "spec.containers[1].image", "write [*]"},
        {"[*]", NULL, "begins with a field"},
        {"metadata", NULL, "cannot be dropped"},
        {"metadata[*]", NULL, "cannot be dropped"},
        {"metadata.name", NULL, "cannot be dropped"},
        {"metadata.uid", NULL, "cannot be dropped"},
        {"metadata.namespace", NULL, "cannot be dropped"},
        {"metadata.resourceVersion", NULL, "cannot be dropped"},
        {"metadata.ownerReferences", NULL, "cannot be dropped"},
        {"metadata.ownerReferences[*].uid", NULL, "cannot be dropped"},
        {"metadata.finalizers", NULL, "cannot be dropped"},
        {"metadata.generation", NULL, "cannot be dropped"},
        {"metadata.labels", NULL, "cannot be dropped"},
        {"metadata.labels.app", NULL, "cannot be dropped"},
        {"metadata.deletionTimestamp", NULL, "cannot be dropped"},
        {"kind", NULL, "cannot be dropped"},
        {"apiVersion", NULL, "cannot be dropped"},
    };
    kl__prune *rules;
    kl_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *const drop[] = {wrong[i].drop, NULL};
        const char *const keep[] = {wrong[i].keep, NULL};

        assert_int_equal(kl__prune_new(drop, keep, &rules, &err), KL_EINVAL);
        assert_null(rules);
        if (strstr(err.message, wrong[i].message) == NULL) {
            fail_msg("%zu: %s", i, err.message);
        }
    }
}

static void at_most_64_paths_are_taken(void **state)
{
    char names[KL__PRUNE_MAX + 1][8];
    const char *drop[KL__PRUNE_MAX + 2] = {NULL};
    kl__prune *rules;
    kl_error err;
    kl__buf out = {0};

    (void)state;
    for (int i = 0; i <= KL__PRUNE_MAX; i++) {
        snprintf(names[i], sizeof(names[i]), "a%d", i);
        drop[i] = names[i];
    }
    assert_int_equal(kl__prune_new(drop, NULL, &rules, &err), KL_EINVAL);
    assert_non_null(strstr(err.message, "more than 64 paths"));
    drop[KL__PRUNE_MAX] = NULL;
    rules = rules_of(drop, NULL);
    assert_int_equal(
        kl__prune_text(rules, "{\"a0\":1,\"a63\":2,\"a64\":3}", 26, &out),
        KL_OK);
    assert_string_equal(out.bytes, "{\"a64\":3}");
    kl__buf_deinit(&out);
    kl__prune_unref(rules);
}

static void the_order_of_paths_does_not_matter(void **state)
{
    kl__prune *a = rules_of(PATHS("a", "b", "a"), PATHS("c"));
    kl__prune *b = rules_of(PATHS("b", "a"), PATHS("c", "c"));
    kl__prune *c = rules_of(PATHS("b", "a"), NULL);
    kl__prune *none = rules_of(PATHS(NULL), NULL);

    (void)state;
    assert_true(kl__prune_equals(a, b));
    assert_false(kl__prune_equals(a, c));
    assert_null(none);
    assert_true(kl__prune_equals(none, NULL));
    assert_false(kl__prune_equals(a, NULL));
    kl__prune_unref(a);
    kl__prune_unref(b);
    kl__prune_unref(c);
    kl__prune_unref(none);
}

static bool hides(const kl__prune *rules, const char *text)
{
    kl_path *path = kl_path_parse(text, NULL);
    bool result;

    assert_non_null(path);
    result = kl__prune_hides(rules, path);
    kl_path_free(path);
    return result;
}

static void a_path_into_what_is_removed_is_hidden(void **state)
{
    kl__prune *drop = rules_of(PATHS("spec.a", "c[*].env"), NULL);
    kl__prune *keep = rules_of(NULL, PATHS("spec.a", "c[*].env"));

    (void)state;
    assert_true(hides(drop, "spec.a"));
    assert_true(hides(drop, "spec.a.b[*]"));
    assert_true(hides(drop, "c[*].env[1].x"));
    assert_true(hides(drop, "c[2].env"));
    assert_false(hides(drop, "spec"));
    assert_false(hides(drop, "spec.b"));
    assert_false(hides(drop, "c[*]"));
    assert_false(hides(keep, "spec.a.b"));
    assert_false(hides(keep, "spec"));
    assert_false(hides(keep, "metadata.labels.x"));
    assert_false(hides(keep, "c[1].env"));
    assert_true(hides(keep, "spec.b"));
    assert_true(hides(keep, "status"));
    assert_true(hides(keep, "c[*].image"));
    assert_false(hides(NULL, "status"));
    kl__prune_unref(drop);
    kl__prune_unref(keep);
}

/* ---- random documents, beside a second way ---- */

static const char *const letters[] = {"a", "b", "c"};

static void put_random(kl__buf *out, int depth)
{
    int parts = depth > 0 ? rand() % 4 : 0;
    int kind = depth == 4 ? 0 : rand() % 3;

    if (depth == 0 || kind == 2) {
        kl__buf_puts(out, rand() % 2 != 0 ? "\"}{,\"" : "12");
        return;
    }
    kl__buf_putc(out, kind == 0 ? '{' : '[');
    for (int i = 0, first = rand() % 3; i < parts && i < 3; i++) {
        kl__buf_puts(out, i > 0 ? "," : "");
        if (kind == 0) {
            kl__buf_printf(out, "\"%s\":", letters[(first + i) % 3]);
        }
        put_random(out, depth - 1);
    }
    kl__buf_putc(out, kind == 0 ? '}' : ']');
}

/* "a.b[*].c": at most three steps, so some paths meet on the way. */
static void make_random_path(char out[32])
{
    int length = snprintf(out, 32, "%s", letters[rand() % 3]);

    for (int i = rand() % 3; i > 0; i--) {
        length += rand() % 3 == 0
                      ? snprintf(out + length, 32 - (size_t)length, "[*]")
                      : snprintf(out + length, 32 - (size_t)length, ".%s",
                                 letters[rand() % 3]);
    }
}

/* What a path leads to, as a list of values; they are compared by address. */
typedef struct found {
    const kl_value *values[256];
    size_t count;
} found;

static kl_code note_value(void *context, const kl_value *value)
{
    found *all = context;

    assert_in_range(all->count, 0, 255);
    all->values[all->count++] = value;
    return KL_OK;
}

static bool has_value(const found *all, const kl_value *value)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->values[i] == value) {
            return true;
        }
    }
    return false;
}

static void find_all(found *all, const char *const *paths, const kl_value *root)
{
    for (size_t i = 0; paths[i] != NULL; i++) {
        kl_path *path = kl_path_parse(paths[i], NULL);

        assert_non_null(path);
        assert_int_equal(kl_path_each(path, root, note_value, all), KL_OK);
        kl_path_free(path);
    }
}

/* Writes the tree without the values that were found. */
static void put_without(kl__buf *out, const kl_value *value, const found *gone)
{
    bool is_object = kl_value_type(value) == KL_OBJECT;
    kl_value_iter iter = {0};
    const kl_value *key, *item;
    size_t count = 0;

    if (!is_object && kl_value_type(value) != KL_ARRAY) {
        char *text = kl_value_json(value, NULL, NULL);

        kl__buf_puts(out, text);
        free(text);
        return;
    }
    kl__buf_putc(out, is_object ? '{' : '[');
    while ((item = kl_value_next(value, &iter, &key)) != NULL) {
        if (has_value(gone, item)) {
            continue;
        }
        kl__buf_puts(out, count++ > 0 ? "," : "");
        if (is_object) {
            kl__buf_printf(out, "\"%s\":", kl_value_string(key, NULL));
        }
        put_without(out, item, gone);
    }
    kl__buf_putc(out, is_object ? '}' : ']');
}

static void dropped_members_are_those_that_the_paths_find(void **state)
{
    (void)state;
    srand(7);
    for (int i = 0; i < 20000; i++) {
        char texts[3][32];
        const char *const drop[] = {texts[0], texts[1], texts[2], NULL};
        kl__buf json = {0}, expected = {0};
        found gone = {.count = 0};
        kl_doc *doc;

        for (size_t j = 0; j < 3; j++) {
            make_random_path(texts[j]);
        }
        put_random(&json, 4);
        doc = kl_doc_parse(json.bytes, json.length, NULL);
        assert_non_null(doc);
        find_all(&gone, drop, kl_doc_root(doc));
        put_without(&expected, kl_doc_root(doc), &gone);
        becomes(drop, NULL, json.bytes, expected.bytes);
        kl_doc_unref(doc);
        kl__buf_deinit(&json);
        kl__buf_deinit(&expected);
    }
}

static int nothing_is_left(void **state)
{
    (void)state;
    assert_nothing_lives();
    return 0;
}

#define SPEC(name) cmocka_unit_test_teardown(name, nothing_is_left)

static void metadata_only_keeps_only_the_metadata(void **state)
{
    static const char expected[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                                   "\"metadata\":{\"name\":\"x\",\"a\":{}}}";
    const kl_object_options pods = {
        .kind = "Pod", .api_version = "v1", .metadata_only = true};
    const kl_object_options all = {.kind = "Pod",
                                   .api_version = "v1",
                                   .metadata_only = true,
                                   .keep_managed_fields = true};

    (void)state;
    object_becomes("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
                   "\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"x\",\"a\":{}}}",
                   &pods, expected);
    object_becomes("{\"metadata\":{\"name\":\"x\",\"a\":{}}}", &pods, expected);
    object_becomes(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"x\",\"a\":{}},\"spec\":{\"a\":1},\"status\":{}}",
        &pods, expected);
    object_becomes(
        " {\"spec\":{\"metadata\":1} , \"metadata\" : {\"name\":\"x\","
        "\"a\": {} } , \"managedFields\":1,\"kind\":\"Pod\" } ",
        &pods, expected);
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":[{}],\"a\":{}},"
        "\"spec\":{}}",
        &pods, expected);
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"a\":{} , \"managedFields\" : 1 } "
        "} ",
        &pods, expected);
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":[1]},\"a\":1}", &all,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
        "\"x\",\"managedFields\":[1]}}");
    object_becomes("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\","
                   "\"metadata\":{\"name\":\"x\"}}",
                   &pods,
                   "{\"apiVersion\":\"meta.k8s.io/v1\",\"kind\":\"Table\","
                   "\"metadata\":{\"name\":\"x\"}}");
    object_becomes("{\"kind\":null,\"metadata\":{\"name\":\"x\"},\"spec\":1}",
                   &(kl_object_options){.metadata_only = true},
                   "{\"metadata\":{\"name\":\"x\"}}");
}

static void an_object_knows_that_it_has_metadata_only(void **state)
{
    static const char text[] = "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}";
    kl_object *whole = object_of(text, NULL);
    kl_object *part = object_of(
        text, &(kl_object_options){.kind = "Pod", .metadata_only = true});

    (void)state;
    assert_false(kl_object_is_metadata_only(whole));
    assert_true(kl_object_is_metadata_only(part));
    assert_string_equal(kl_object_kind(part), "Pod");
    assert_string_equal(kl_object_key(part), "x");
    kl_object_unref(whole);
    kl_object_unref(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_dropped_member_is_removed),
        SPEC(a_name_with_escapes_is_the_same_name),
        SPEC(dropped_members_of_elements_are_removed_from_each),
        SPEC(keep_removes_all_but_its_paths_and_the_identity),
        SPEC(whitespace_is_removed_where_a_path_leads_only),
        SPEC(bytes_that_are_no_json_are_refused_or_cut),
        SPEC(paths_that_make_no_sense_are_refused),
        SPEC(at_most_64_paths_are_taken),
        SPEC(the_order_of_paths_does_not_matter),
        SPEC(a_path_into_what_is_removed_is_hidden),
        SPEC(dropped_members_are_those_that_the_paths_find),
        cmocka_unit_test(metadata_only_keeps_only_the_metadata),
        cmocka_unit_test(an_object_knows_that_it_has_metadata_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
