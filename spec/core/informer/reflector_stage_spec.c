/*
 * reflector_stage_spec.c - lists that are still coming in, and what a fuzzy one
 * knows better.
 */
#include "informer/reflector_stage.h"

#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "cache_rig.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void staged_objects_keep_their_order(void **state)
{
    kl__stage stage = {0};
    kl__listed listed = {0};

    (void)state;
    assert_true(kl__stage_put(&stage, pod("c", "u1", 1)));
    assert_true(kl__stage_put(&stage, pod("a", "u2", 2)));
    assert_true(kl__stage_put(&stage, pod("b", "u3", 3)));
    assert_true(kl__stage_put(&stage, pod("c", "u1", 4)));
    kl__stage_remove(&stage, "web/a");
    kl__stage_remove(&stage, "web/none");
    kl__stage_take(&stage, &listed);
    assert_int_equal(listed.objects.count, 2);
    assert_string_equal(kl_object_resource_version(listed.objects.items[0]),
                        "4");
    assert_string_equal(kl_object_key(listed.objects.items[1]), "web/b");
    kl__listed_clear(&listed);
    kl__stage_clear(&stage);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void
a_list_that_is_complete_is_packed_from_its_first_object_on(void **state)
{
    enum { COUNT = 120 };
    kl__packer *packer = kl__packer_new();
    kl__indexer *known = kl__indexer_new();
    kl__stage stage = {.packer = packer, .known = known};
    kl__change_list changes = {0};
    kl__listed listed = {0};

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        assert_true(kl__stage_put(&stage, pack_plain("a", i, PACK_LENGTH)));
    }
    kl__stage_finish(&stage);
    kl__stage_take(&stage, &listed);
    assert_int_equal(listed.objects.count, COUNT);
    for (unsigned i = 0; i < COUNT; i++) {
        kl_object *plain = pack_plain("a", i, PACK_LENGTH);

        assert_true(kl__object_is_packed(listed.objects.items[i]));
        pack_expect_same(listed.objects.items[i], plain);
        kl_object_unref(plain);
    }
    /* What the cache has is neither packed again nor replaced. */
    assert_int_equal(cache_transact_list(known, &listed.objects, "5", &changes),
                     KL_OK);
    for (unsigned i = 0; i < COUNT; i++) {
        assert_true(kl__stage_put(&stage, pack_plain("a", i, PACK_LENGTH)));
        assert_ptr_equal(stage.items[i], listed.objects.items[i]);
    }
    kl__stage_clear(&stage);
    kl__change_list_clear(&changes);
    kl__listed_clear(&listed);
    kl__indexer_free(known);
    kl__packer_free(packer);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void an_object_of_another_uid_is_never_shared(void **state)
{
    kl__indexer *known = kl__indexer_new();
    kl__stage stage = {.known = known};
    kl__change_list changes = {0};
    kl__listed listed = {.objects =
                             pod_list(2, pod("a", "u1", 1), pod("b", "u2", 2))};
    kl_object *same = listed.objects.items[1];

    (void)state;
    assert_int_equal(cache_transact_list(known, &listed.objects, "5", &changes),
                     KL_OK);
    assert_true(kl__stage_put(&stage, pod("a", "other", 1)));
    assert_true(kl__stage_put(&stage, pod("b", "u2", 2)));
    assert_string_equal(kl_object_uid(stage.items[0]), "other");
    assert_ptr_equal(stage.items[1], same);
    kl__stage_clear(&stage);
    kl__change_list_clear(&changes);
    kl__listed_clear(&listed);
    kl__indexer_free(known);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void where_versions_come_again_only_the_same_text_is_shared(void **state)
{
    kl__indexer *known = kl__indexer_new();
    kl__stage stage = {.known = known, .by_text = true};
    kl__change_list changes = {0};
    kl__listed listed = {.objects = pod_list(2, pod_on("web", "a", "n1", 1),
                                             pod_on("web", "b", "n1", 2))};
    kl_object *same = listed.objects.items[1];

    (void)state;
    assert_int_equal(cache_transact_list(known, &listed.objects, "5", &changes),
                     KL_OK);
    assert_true(kl__stage_put(&stage, pod_on("web", "a", "n2", 1)));
    assert_true(kl__stage_put(&stage, pod_on("web", "b", "n1", 2)));
    assert_ptr_not_equal(stage.items[0], listed.objects.items[0]);
    assert_ptr_equal(stage.items[1], same);
    kl__stage_clear(&stage);
    kl__change_list_clear(&changes);
    kl__listed_clear(&listed);
    kl__indexer_free(known);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void note(kl__ahead *ahead, kl_object *object)
{
    assert_true(kl__ahead_note(ahead, object, "10"));
    kl_object_unref(object);
}

static void only_versions_before_a_noted_one_are_covered(void **state)
{
    kl__ahead ahead = {0};

    (void)state;
    assert_false(kl__ahead_covers(&ahead, "web/a", "11"));
    note(&ahead, pod("a", "u1", 9)); /* no newer than the list */
    note(&ahead, pod("b", "u2", 20));
    note(&ahead, pod("c", "u3", 30));
    assert_int_equal(ahead.objects.count, 2);
    assert_false(kl__ahead_covers(&ahead, "web/a", "11"));
    assert_true(kl__ahead_covers(&ahead, "web/b", "19"));
    assert_false(kl__ahead_covers(&ahead, "web/b", "20"));
    assert_false(kl__ahead_covers(&ahead, "web/c", ""));
    assert_true(kl__ahead_covers(&ahead, "web/c", "29"));
    kl__ahead_clear(&ahead);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void a_watch_that_is_past_the_snapshot_frees_it(void **state)
{
    kl__ahead ahead = {0};

    (void)state;
    note(&ahead, pod("b", "u2", 20));
    note(&ahead, pod("c", "u3", 30));
    assert_false(kl__ahead_covers(&ahead, "web/z", "31"));
    assert_int_equal(ahead.objects.count, 0);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static kl_code stage_many(void *context)
{
    kl__stage stage = {0};
    kl__ahead ahead = {0};
    kl_code code = KL_OK;

    (void)context;
    for (int i = 0; i < 200 && code == KL_OK; i++) {
        char name[16];
        kl_object *object;

        snprintf(name, sizeof(name), "p%d", i);
        object = pod(name, "u", i + 1);
        if (object == NULL || !kl__ahead_note(&ahead, object, "10")) {
            code = KL_ENOMEM;
            kl_object_unref(object);
        } else if (!kl__stage_put(&stage, object)) {
            code = KL_ENOMEM;
        }
    }
    kl__stage_clear(&stage);
    kl__ahead_clear(&ahead);
    return code;
}

static void without_memory_nothing_is_lost_and_nothing_leaks(void **state)
{
    (void)state;
    failing_alloc_each(stage_many, NULL);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staged_objects_keep_their_order),
        cmocka_unit_test(
            a_list_that_is_complete_is_packed_from_its_first_object_on),
        cmocka_unit_test(an_object_of_another_uid_is_never_shared),
        cmocka_unit_test(
            where_versions_come_again_only_the_same_text_is_shared),
        cmocka_unit_test(only_versions_before_a_noted_one_are_covered),
        cmocka_unit_test(a_watch_that_is_past_the_snapshot_frees_it),
        cmocka_unit_test(without_memory_nothing_is_lost_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
