/*
 * index_spec.c - indexes by path and by function, early and late, follow the
 * objects of the cache.
 */
#include "cache/indexer.h"

#include "base/mem.h"
#include "cache_rig.h"
#include "kubelua/log.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
static void an_index_follows_changes_of_its_objects(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n1", 1));
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "c", NULL, 1));
    assert_string_equal(cache_by(indexer, "node", "n1"), "web/a web/b");
    cache_apply_one(indexer, KL__DELTA_UPDATED, pod_on("web", "a", "n2", 2));
    cache_apply_one(indexer, KL__DELTA_UPDATED, pod_on("web", "c", "n2", 2));
    assert_string_equal(cache_by(indexer, "node", "n1"), "web/b");
    assert_string_equal(cache_by(indexer, "node", "n2"), "web/a web/c");
    cache_apply_one(indexer, KL__DELTA_DELETED, pod_on("web", "b", "n1", 3));
    assert_string_equal(cache_by(indexer, "node", "n1"), "");
    cache_end(indexer);
}

static void a_value_without_objects_is_removed(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n2", 1));
    assert_string_equal(cache_values(indexer, "node"), "n1 n2");
    cache_apply_one(indexer, KL__DELTA_UPDATED, pod_on("web", "a", "n3", 2));
    assert_string_equal(cache_values(indexer, "node"), "n2 n3");
    cache_replace(indexer, (kl_object_list){0}, "9");
    assert_string_equal(cache_values(indexer, "node"), "");
    cache_end(indexer);
}

static void two_objects_swap_their_index_values_in_one_batch(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta deltas[] = {
        cache_delta(KL__DELTA_UPDATED, pod_on("web", "a", "n2", 2)),
        cache_delta(KL__DELTA_UPDATED, pod_on("web", "b", "n1", 3)),
    };

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n2", 1));
    cache_apply(indexer, deltas, 2);
    assert_string_equal(cache_by(indexer, "node", "n1"), "web/b");
    assert_string_equal(cache_by(indexer, "node", "n2"), "web/a");
    cache_end(indexer);
}

static void an_unknown_index_error_lists_the_indexes(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl_object_list list;
    kl_string_list values;
    kl_error err;

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    cache_add_path(indexer, "uid", "metadata.uid");
    assert_int_equal(kl__indexer_by_index(indexer, "nod", "x", &list, &err),
                     KL_ENOT_FOUND);
    assert_string_equal(err.message, "no index \"nod\": there are node, uid");
    assert_int_equal(kl__indexer_by_index(indexer, "", "web", &list, &err),
                     KL_ENOT_FOUND);
    assert_int_equal(kl__indexer_index_values(indexer, "x", &values, &err),
                     KL_ENOT_FOUND);
    cache_end(indexer);
}

static void an_index_added_late_finds_what_is_stored(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    cache_add_path(indexer, "node", "spec.nodeName");
    assert_string_equal(cache_by(indexer, "node", "n1"), "web/a");
    cache_end(indexer);
}

static void every_type_of_scalar_is_a_value(void **state)
{
    static const char json[] =
        "{\"kind\":\"X\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"},"
        "\"v\":[\"s\",true,-7,18446744073709551615,0.5,"
        "123456789012345678901234567890,null,{},[],\"s\",\"a\\u0000b\","
        "\"\\u0041\\\"z\"]}";
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_add_path(indexer, "v", "v[*]");
    cache_apply_one(indexer, KL__DELTA_ADDED,
                    kl_object_parse(json, sizeof(json) - 1, NULL, NULL));
    assert_string_equal(cache_values(indexer, "v"),
                        "-7 0.5 123456789012345678901234567890 "
                        "18446744073709551615 A\"z s true");
    cache_end(indexer);
}

static void another_path_under_an_existing_name_is_a_conflict(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__index_options other = {.name = "node"};
    kl_error err;

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    cache_add_path(indexer, "node", "spec.nodeName");
    other.path = kl_path_parse("metadata.uid", NULL);
    assert_int_equal(kl__indexer_add_index(indexer, &other, &err),
                     KL_ECONFLICT);
    assert_non_null(strstr(err.message, "spec.nodeName"));
    kl_path_free(other.path);
    other = (kl__index_options){.name = ""};
    assert_int_equal(kl__indexer_add_index(indexer, &other, &err), KL_EINVAL);
    cache_end(indexer);
}

/* An index function that fails for "bad", and counts its calls. */
typedef struct counted {
    int calls;
    int dropped;
} counted;

static kl_code index_name(void *context, const kl_object *object,
                          const kl_value *root, kl_index_sink *sink)
{
    counted *self = context;
    const char *name = kl_object_name(object);

    assert_non_null(root);
    self->calls++;
    kl_index_emit(sink, name, strlen(name));
    kl_index_emit(sink, name, strlen(name));
    return strcmp(name, "bad") == 0 ? KL_EINTERNAL : KL_OK;
}

static void drop_counted(void *context)
{
    ((counted *)context)->dropped++;
}

static kl__index_options by_function(counted *context)
{
    return (kl__index_options){.name = "name",
                               .fn = index_name,
                               .context = context,
                               .drop_context = drop_counted};
}

static int lines;

static void count_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
    lines++;
}

static void
a_failing_index_function_skips_the_object_and_logs_once(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    counted calls = {0};
    kl__index_options options = by_function(&calls);

    (void)state;
    lines = 0;
    kl_set_log(count_line, NULL, KL_LOG_DEBUG);
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("bad", "u", 1));
    cache_apply_one(indexer, KL__DELTA_UPDATED, pod("bad", "u", 2));
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("good", "v", 3));
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_int_equal(lines, 1);
    assert_string_equal(cache_values(indexer, "name"), "good");
    assert_string_equal(cache_by(indexer, "name", "good"), "web/good");
    assert_string_equal(cache_stored(indexer, "web/bad"), "2");
    assert_int_equal(calls.dropped, 0);
    cache_end(indexer);
    assert_int_equal(calls.dropped, 1);
}

static void the_transport_thread_calls_no_index_function(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    counted calls = {0};
    kl__index_options options = by_function(&calls);
    kl__delta delta = cache_delta(KL__DELTA_ADDED, pod("good", "v", 3));
    kl__delta_batch batch = {.items = &delta, .count = 1, .capacity = 1};

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    kl__thread_set_role(KL__ROLE_TRANSPORT);
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("first", "u", 1));
    kl__thread_set_role(KL__ROLE_ANY);
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    assert_true(kl__indexer_calls_functions(indexer));
    assert_string_equal(cache_values(indexer, "name"), "first");
    kl__thread_set_role(KL__ROLE_TRANSPORT);
    assert_null(kl__indexer_prepare(indexer, &batch));
    kl__thread_set_role(KL__ROLE_ANY);
    cache_apply(indexer, &delta, 1);
    assert_string_equal(cache_values(indexer, "name"), "first good");
    cache_end(indexer);
}

static void a_failed_add_index_leaves_the_context_to_the_caller(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    counted first = {0}, second = {0};
    kl__index_options options = by_function(&first);

    (void)state;
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    options.context = &second;
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL),
                     KL_ECONFLICT);
    cache_end(indexer);
    assert_int_equal(first.dropped, 1);
    assert_int_equal(second.dropped, 0);
}

/* More objects than are changed in place. */
enum { MANY = 3000 };

static kl_object_list many_pods(int from, int version)
{
    kl_object_list list = {kl__calloc(MANY, sizeof(kl_object *)), MANY};

    for (int i = 0; i < MANY; i++) {
        char name[16], node[16];

        snprintf(name, sizeof(name), "p%05d", from + i);
        snprintf(node, sizeof(node), "n%d", (from + i) % 3);
        list.items[i] = pod_on("web", name, node, version);
    }
    return list;
}

static void a_relist_computes_only_what_changed(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    counted calls = {0};
    kl__index_options options = by_function(&calls);
    kl_object_list list;

    (void)state;
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    cache_add_path(indexer, "node", "spec.nodeName");
    list = many_pods(0, 1);
    for (int round = 0; round < 2; round++) {
        kl__change_list changes = {0};

        assert_int_equal(cache_transact_list(indexer, &list, "1", &changes),
                         KL_OK);
        assert_int_equal(changes.count, round == 0 ? MANY : 0);
        kl__change_list_clear(&changes);
    }
    kl_object_list_clear(&list);
    assert_int_equal(calls.calls, MANY);
    cache_end(indexer);
}

/* What index "node" must hold, computed the plain way. */
static void assert_indexed(kl__indexer *indexer)
{
    static const char *const nodes[] = {"n0", "n1", "n2", "n3"};
    kl_object_list all, some;
    size_t total = 0;

    assert_int_equal(kl__indexer_list(indexer, NULL, NULL, &all, NULL), KL_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(
            kl__indexer_by_index(indexer, "node", nodes[i], &some, NULL),
            KL_OK);
        for (size_t k = 0; k < some.count; k++) {
            const kl_value *root = kl_object_open(some.items[k], NULL);
            kl_object *now =
                kl__indexer_get(indexer, kl_object_key(some.items[k]));

            assert_ptr_equal(now, some.items[k]);
            assert_string_equal(
                kl_value_string(
                    kl_value_get(kl_value_get(root, "spec"), "nodeName"), NULL),
                nodes[i]);
            kl_object_unref(now);
            kl_object_close(some.items[k]);
        }
        total += some.count;
        kl_object_list_clear(&some);
    }
    assert_int_equal(total, all.count);
    kl_object_list_clear(&all);
}

static void a_large_relist_swaps_store_and_indexes(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__change_list changes = {0};
    kl_object_list list;

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    list = many_pods(0, 1);
    assert_int_equal(cache_transact_list(indexer, &list, "1", &changes), KL_OK);
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    list = many_pods(MANY / 2, 2);
    assert_int_equal(cache_transact_list(indexer, &list, "2", &changes), KL_OK);
    assert_int_equal(changes.count, MANY + MANY / 2);
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_count(indexer), MANY);
    assert_indexed(indexer);
    cache_end(indexer);
}

/* While an index is built, its function changes the store, as the writer on
 * another thread would. */
typedef struct meddler {
    kl__indexer *indexer;
    int calls;
} meddler;

static kl_code index_and_meddle(void *context, const kl_object *object,
                                const kl_value *root, kl_index_sink *sink)
{
    meddler *self = context;
    const kl_value *node = kl_value_get(kl_value_get(root, "spec"), "nodeName");
    const char *text = kl_value_string(node, NULL);

    (void)object;
    if (self->calls++ == 1) {
        cache_apply_one(self->indexer, KL__DELTA_UPDATED,
                        pod_on("web", "a", "n3", 5));
        cache_apply_one(self->indexer, KL__DELTA_DELETED,
                        pod_on("web", "b", "n1", 6));
        cache_apply_one(self->indexer, KL__DELTA_ADDED,
                        pod_on("web", "z", "n2", 7));
    }
    return kl_index_emit(sink, text, strlen(text));
}

static void an_index_catches_up_with_changes_during_its_build(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    meddler other = {.indexer = indexer};
    kl__index_options options = {
        .name = "node", .fn = index_and_meddle, .context = &other};

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n1", 1));
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "c", "n1", 1));
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    assert_string_equal(cache_values(indexer, "node"), "n1 n2 n3");
    assert_indexed(indexer);
    cache_end(indexer);
}

/* The same, but with a relist that swaps the whole store. */
static kl_code index_and_relist(void *context, const kl_object *object,
                                const kl_value *root, kl_index_sink *sink)
{
    meddler *self = context;
    const kl_value *node = kl_value_get(kl_value_get(root, "spec"), "nodeName");
    const char *text = kl_value_string(node, NULL);
    kl__change_list changes = {0};

    (void)object;
    if (self->calls++ == 1) {
        kl_object_list list = many_pods(MANY / 2, 9);

        assert_int_equal(
            cache_transact_list(self->indexer, &list, "9", &changes), KL_OK);
        kl__change_list_clear(&changes);
        kl_object_list_clear(&list);
    }
    return kl_index_emit(sink, text, strlen(text));
}

static void an_index_catches_up_with_a_relist_during_its_build(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    meddler other = {.indexer = indexer};
    kl__index_options options = {
        .name = "node", .fn = index_and_relist, .context = &other};
    kl__change_list changes = {0};
    kl_object_list list = many_pods(0, 1);

    (void)state;
    assert_int_equal(cache_transact_list(indexer, &list, "1", &changes), KL_OK);
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    assert_int_equal(kl__indexer_count(indexer), MANY);
    assert_indexed(indexer);
    cache_end(indexer);
}

static kl_code index_and_take_name(void *context, const kl_object *object,
                                   const kl_value *root, kl_index_sink *sink)
{
    meddler *self = context;

    (void)object;
    (void)root;
    (void)sink;
    if (self->calls++ == 0) {
        cache_add_path(self->indexer, "node", "spec.nodeName");
    }
    return KL_OK;
}

static void a_name_taken_during_the_build_is_a_conflict(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    meddler other = {.indexer = indexer};
    kl__index_options options = {
        .name = "node", .fn = index_and_take_name, .context = &other};

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL),
                     KL_ECONFLICT);
    cache_apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n1", 2));
    assert_string_equal(cache_by(indexer, "node", "n1"), "web/a web/b");
    cache_end(indexer);
}

static void an_index_that_comes_between_prepare_and_commit_is_kept(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta item = cache_delta(KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    kl__delta_batch batch = {.items = &item, .count = 1, .capacity = 1};
    kl__transaction *transaction = kl__indexer_prepare(indexer, &batch);

    (void)state;
    assert_non_null(transaction);
    cache_add_path(indexer, "node", "spec.nodeName");
    assert_false(kl__transaction_commit(transaction));
    assert_int_equal(kl__indexer_count(indexer), 0);
    assert_int_equal(kl__transaction_refresh(transaction), KL_OK);
    assert_true(kl__transaction_commit(transaction));
    kl__transaction_free(transaction);
    kl__delta_clear(&item);
    assert_string_equal(cache_by(indexer, "node", "n1"), "web/a");
    cache_end(indexer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_follows_changes_of_its_objects),
        cmocka_unit_test(a_value_without_objects_is_removed),
        cmocka_unit_test(two_objects_swap_their_index_values_in_one_batch),
        cmocka_unit_test(an_unknown_index_error_lists_the_indexes),
        cmocka_unit_test(an_index_added_late_finds_what_is_stored),
        cmocka_unit_test(every_type_of_scalar_is_a_value),
        cmocka_unit_test(another_path_under_an_existing_name_is_a_conflict),
        cmocka_unit_test(
            a_failing_index_function_skips_the_object_and_logs_once),
        cmocka_unit_test(the_transport_thread_calls_no_index_function),
        cmocka_unit_test(a_failed_add_index_leaves_the_context_to_the_caller),
        cmocka_unit_test(a_relist_computes_only_what_changed),
        cmocka_unit_test(a_large_relist_swaps_store_and_indexes),
        cmocka_unit_test(an_index_catches_up_with_changes_during_its_build),
        cmocka_unit_test(an_index_catches_up_with_a_relist_during_its_build),
        cmocka_unit_test(a_name_taken_during_the_build_is_a_conflict),
        cmocka_unit_test(
            an_index_that_comes_between_prepare_and_commit_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
