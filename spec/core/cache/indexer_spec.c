/*
 * indexer_spec.c - what a batch or a list changes, and what readers then find.
 */
#include "cache/indexer.h"

#include "base/mem.h"
#include "cache_rig.h"
#include "failing_alloc.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void the_cache_decides_between_add_and_update(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_UPDATED, pod("a", "u", 1)), "+a@1");
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 2)), "~a@1>2");
    assert_string_equal(cache_stored(indexer, "web/a"), "2");
    assert_int_equal(kl__indexer_count(indexer), 1);
    cache_end(indexer);
}

static void an_equal_resource_version_is_no_change(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl_object *first, *now;

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 1));
    first = kl__indexer_get(indexer, "web/a");
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_UPDATED, pod("a", "u", 1)), "");
    now = kl__indexer_get(indexer, "web/a");
    assert_ptr_equal(first, now);
    kl_object_unref(first);
    kl_object_unref(now);
    cache_end(indexer);
}

static void without_a_resource_version_every_event_is_a_change(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 0));
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_UPDATED, pod("a", "u", 0)), "~a@>");
    cache_end(indexer);
}

static void a_delete_carries_the_final_state(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 1));
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_DELETED, pod("a", "u", 5)),
        "-a@1>5");
    assert_null(cache_stored(indexer, "web/a"));
    assert_string_equal(cache_version(indexer), "5");
    cache_end(indexer);
}

static void a_delete_of_an_unknown_key_is_ignored(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_DELETED, pod("a", "u", 5)), "");
    assert_string_equal(cache_version(indexer), "5");
    cache_end(indexer);
}

static void a_uid_change_is_a_delete_and_an_add(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("a", "u1", 1));
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_UPDATED, pod("a", "u2", 9)),
        "?a@1>1 +a@9");
    assert_string_equal(cache_stored(indexer, "web/a"), "9");
    cache_end(indexer);
}

static void a_late_delete_of_an_old_uid_is_ignored(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("a", "u2", 9));
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_DELETED, pod("a", "u1", 8)), "");
    assert_string_equal(cache_stored(indexer, "web/a"), "9");
    cache_end(indexer);
}

static void a_delete_of_a_newer_uid_deletes_the_known_object(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("a", "u1", 1));
    assert_string_equal(
        cache_apply_one(indexer, KL__DELTA_DELETED, pod("a", "u2", 9)),
        "?a@1>1");
    assert_null(cache_stored(indexer, "web/a"));
    cache_end(indexer);
}

static void a_batch_reports_every_change_and_stores_the_last(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta deltas[] = {
        cache_delta(KL__DELTA_ADDED, pod("a", "u", 1)),
        cache_delta(KL__DELTA_UPDATED, pod("a", "u", 2)),
        cache_delta(KL__DELTA_ADDED, pod("b", "v", 3)),
        cache_delta(KL__DELTA_DELETED, pod("a", "u", 4)),
        cache_delta(KL__DELTA_ADDED, pod("a", "w", 5)),
        cache_delta(KL__DELTA_DELETED, pod("b", "v", 6)),
    };

    (void)state;
    assert_string_equal(cache_apply(indexer, deltas, 6),
                        "+a@1 ~a@1>2 +b@3 -a@2>4 +a@5 -b@3>6");
    assert_string_equal(cache_stored(indexer, "web/a"), "5");
    assert_null(cache_stored(indexer, "web/b"));
    assert_int_equal(kl__indexer_count(indexer), 1);
    cache_end(indexer);
}

static void a_relist_deletes_missing_objects_then_adds_and_updates(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    assert_string_equal(
        cache_replace(indexer,
                      pod_list(4, pod("d", "1", 1), pod("c", "2", 1),
                               pod("b", "3", 1), pod("a", "4", 1)),
                      "7"),
        "+d@1 +c@1 +b@1 +a@1");
    assert_string_equal(cache_version(indexer), "7");
    assert_string_equal(
        cache_replace(indexer,
                      pod_list(4, pod("e", "5", 8), pod("c", "2", 9),
                               pod("b", "3", 1), pod("a", "new", 9)),
                      "9"),
        "?a@1>1 ?d@1>1 +e@8 ~c@1>9 +a@9");
    assert_int_equal(kl__indexer_count(indexer), 4);
    assert_string_equal(cache_stored(indexer, "web/a"), "9");
    cache_end(indexer);
}

static void the_last_object_of_a_key_in_a_list_counts(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    assert_string_equal(
        cache_replace(
            indexer,
            pod_list(3, pod("a", "1", 1), pod("b", "2", 1), pod("a", "1", 2)),
            "7"),
        "+b@1 +a@2");
    cache_end(indexer);
}

static void events_only_raise_the_version_and_a_list_sets_it(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta bookmark = {.type = KL__DELTA_BOOKMARK};

    (void)state;
    assert_string_equal(cache_version(indexer), "");
    cache_replace(indexer, (kl_object_list){0}, "10");
    bookmark.version = kl__malloc(3);
    memcpy(bookmark.version, "12", 3);
    cache_apply(indexer, &bookmark, 1);
    assert_string_equal(cache_version(indexer), "12");
    cache_apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 11));
    assert_string_equal(cache_version(indexer), "12");
    cache_replace(indexer, (kl_object_list){0}, "3");
    assert_string_equal(cache_version(indexer), "3");
    cache_end(indexer);
}

/* In a cluster that was restored from a backup versions come again: the same
 * one may be of another write to the same object. */
static void a_list_of_an_older_version_is_compared_by_content(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    cache_replace(
        indexer,
        pod_list(2, pod_on("web", "a", "n1", 7), pod_on("web", "b", "n1", 8)),
        "10");
    assert_string_equal(cache_replace(indexer,
                                      pod_list(2, pod_on("web", "a", "n2", 7),
                                               pod_on("web", "b", "n1", 8)),
                                      "9"),
                        "~a@7>7");
    assert_string_equal(cache_by(indexer, "node", "n2"), "web/a");
    cache_end(indexer);
}

static void lists_are_by_namespace_and_label_sorted_by_key(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl_selector *labels = kl_selector_parse("app in (a,c)", NULL);
    kl_object_list list;

    (void)state;
    cache_replace(
        indexer,
        pod_list(4, pod_on("web", "c", NULL, 1), pod_on("web", "b", NULL, 1),
                 pod_on("db", "a", NULL, 1), pod_on(NULL, "node", NULL, 1)),
        "1");
    assert_int_equal(kl__indexer_list(indexer, NULL, NULL, &list, NULL), KL_OK);
    assert_string_equal(cache_names(&list), "db/a node web/b web/c");
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_list(indexer, "web", NULL, &list, NULL),
                     KL_OK);
    assert_string_equal(cache_names(&list), "web/b web/c");
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_list(indexer, NULL, labels, &list, NULL),
                     KL_OK);
    assert_string_equal(cache_names(&list), "db/a web/c");
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_list(indexer, "none", labels, &list, NULL),
                     KL_OK);
    assert_int_equal(list.count, 0);
    kl_object_list_clear(&list);
    kl_selector_free(labels);
    cache_end(indexer);
}

static void a_transaction_without_commit_changes_nothing(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta item = cache_delta(KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    kl__delta_batch batch = {.items = &item, .count = 1, .capacity = 1};

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    kl__transaction_free(kl__indexer_prepare(indexer, &batch));
    kl__delta_clear(&item);
    assert_int_equal(kl__indexer_count(indexer), 0);
    assert_string_equal(cache_values(indexer, "node"), "");
    assert_string_equal(cache_version(indexer), "");
    cache_end(indexer);
}

/* A life of an indexer, in which each allocation fails once. */
typedef struct life {
    kl_object *objects[3];
    kl_object_list list;
} life;

static kl_code live(void *context)
{
    life *self = context;
    kl__indexer *indexer = kl__indexer_new();
    kl__index_options options = {.name = "node"};
    kl__delta items[3];
    kl__delta_batch batch = {.items = items, .count = 3, .capacity = 3};
    kl__change_list changes = {0};
    kl_object_list list = {0};
    kl_string_list values = {0};
    size_t before;
    kl_code code = KL_ENOMEM;

    for (size_t i = 0; i < 3; i++) {
        items[i] = cache_delta(KL__DELTA_ADDED, self->objects[i]);
    }
    options.path = kl_path_parse("spec.nodeName", NULL);
    if (indexer == NULL || options.path == NULL) {
        kl_path_free(options.path);
        goto end;
    }
    code = kl__indexer_add_index(indexer, &options, NULL);
    if (code != KL_OK) {
        kl_path_free(options.path);
        goto end;
    }
    code = cache_transact_batch(indexer, &batch, &changes);
    assert_int_equal(kl__indexer_count(indexer), code == KL_OK ? 3 : 0);
    if (code != KL_OK) {
        goto end;
    }
    kl__change_list_clear(&changes);
    options = (kl__index_options){.name = "late",
                                  .path = kl_path_parse("spec", NULL)};
    code = options.path != NULL ? kl__indexer_add_index(indexer, &options, NULL)
                                : KL_ENOMEM;
    if (code != KL_OK) {
        kl_path_free(options.path);
        goto end;
    }
    before = kl__indexer_count(indexer);
    code = cache_transact_list(indexer, &self->list, "9", &changes);
    assert_int_equal(kl__indexer_count(indexer),
                     code == KL_OK ? self->list.count : before);
    if (code == KL_OK) {
        code = kl__indexer_list(indexer, "web", NULL, &list, NULL);
    }
    if (code == KL_OK) {
        code = kl__indexer_index_values(indexer, "node", &values, NULL);
    }

end:
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    kl_string_list_clear(&values);
    kl__indexer_free(indexer);
    return code;
}

static void out_of_memory_is_all_or_nothing(void **state)
{
    life self = {.objects = {pod_on("web", "a", "n1", 1),
                             pod_on("web", "b", "n1", 2),
                             pod_on("web", "c", "n2", 3)},
                 .list = pod_list(2, pod_on("web", "a", "n2", 5),
                                  pod_on("web", "d", "n3", 6))};

    (void)state;
    failing_alloc_each(live, &self);
    for (size_t i = 0; i < 3; i++) {
        kl_object_unref(self.objects[i]);
    }
    kl_object_list_clear(&self.list);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

/* More objects than are changed in place. */
enum { MANY = 1500 };

static kl_object_list many_pods(int version)
{
    kl_object_list list = {kl__calloc(MANY, sizeof(kl_object *)), MANY};

    for (int i = 0; i < MANY; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        list.items[i] = pod_on("web", name, "n1", version);
    }
    return list;
}

/* The objects that the deltas of a batch are about are fetched together. */
static void a_batch_is_applied_to_a_large_cache_too(void **state)
{
    enum { DELTAS = 40 };
    kl__indexer *indexer = kl__indexer_new();
    kl__change_list changes = {0};
    kl_object_list list = many_pods(1);
    kl__delta deltas[DELTAS];
    char name[16];

    (void)state;
    assert_int_equal(cache_transact_list(indexer, &list, "1", &changes), KL_OK);
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    for (int i = 0; i < DELTAS; i++) {
        snprintf(name, sizeof(name), "p%d", i * 41); /* the last are new */
        deltas[i] =
            cache_delta(KL__DELTA_UPDATED, pod_on("web", name, "n2", 10 + i));
    }
    kl_object_unref(deltas[3].object);
    deltas[3] = (kl__delta){.type = KL__DELTA_BOOKMARK};
    deltas[20].type = KL__DELTA_DELETED;
    cache_apply(indexer, deltas, DELTAS);
    assert_string_equal(cache_stored(indexer, "web/p0"), "10");
    assert_string_equal(cache_stored(indexer, "web/p123"), "1");
    assert_null(cache_stored(indexer, "web/p820"));
    assert_string_equal(cache_stored(indexer, "web/p1599"), "49");
    assert_int_equal(kl__indexer_count(indexer), MANY - 1 + 3);
    cache_end(indexer);
}

/* Too many allocations to let each of them fail. */
static void a_large_relist_without_memory_changes_nothing(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__change_list changes = {0};
    kl_object_list list = many_pods(1);
    kl_object_list next = many_pods(2);
    kl_code code = KL_ENOMEM;

    (void)state;
    cache_add_path(indexer, "node", "spec.nodeName");
    assert_int_equal(cache_transact_list(indexer, &list, "1", &changes), KL_OK);
    kl__change_list_clear(&changes);
    failing_alloc_install();
    for (long nth = 1; code != KL_OK; nth += nth / 4 + 1) {
        failing_alloc_fail_at(nth, 0);
        code = cache_transact_list(indexer, &next, "2", &changes);
        assert_string_equal(cache_version(indexer), code == KL_OK ? "2" : "1");
        assert_string_equal(cache_stored(indexer, "web/p7"),
                            code == KL_OK ? "2" : "1");
        assert_true(code == KL_OK || code == KL_ENOMEM);
        assert_true((changes.count > 0) == (code == KL_OK));
    }
    failing_alloc_uninstall();
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    kl_object_list_clear(&next);
    cache_end(indexer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_decides_between_add_and_update),
        cmocka_unit_test(an_equal_resource_version_is_no_change),
        cmocka_unit_test(without_a_resource_version_every_event_is_a_change),
        cmocka_unit_test(a_delete_carries_the_final_state),
        cmocka_unit_test(a_delete_of_an_unknown_key_is_ignored),
        cmocka_unit_test(a_uid_change_is_a_delete_and_an_add),
        cmocka_unit_test(a_late_delete_of_an_old_uid_is_ignored),
        cmocka_unit_test(a_delete_of_a_newer_uid_deletes_the_known_object),
        cmocka_unit_test(a_batch_reports_every_change_and_stores_the_last),
        cmocka_unit_test(
            a_relist_deletes_missing_objects_then_adds_and_updates),
        cmocka_unit_test(the_last_object_of_a_key_in_a_list_counts),
        cmocka_unit_test(events_only_raise_the_version_and_a_list_sets_it),
        cmocka_unit_test(a_list_of_an_older_version_is_compared_by_content),
        cmocka_unit_test(lists_are_by_namespace_and_label_sorted_by_key),
        cmocka_unit_test(a_transaction_without_commit_changes_nothing),
        cmocka_unit_test(out_of_memory_is_all_or_nothing),
        cmocka_unit_test(a_batch_is_applied_to_a_large_cache_too),
        cmocka_unit_test(a_large_relist_without_memory_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
