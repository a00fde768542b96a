/*
 * reflector_list_spec.c - paged lists: what is asked, what becomes visible,
 * what a page that fails does not do; lists that are still coming in, and what
 * a fuzzy one knows better.
 */
#include "cache_rig.h"
#include "failing_alloc.h"
#include "pods.h"
#include "reflector_world.h"

#include "informer/reflector_stage.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Plays a script with paged lists, and compares what was asked and queued. */
static void expect(void **state, const char *script, const char *requests,
                   const char *deltas)
{
    reflector_world *world = *state;

    world->options.no_streaming_list = true;
    reflector_world_play(world, script);
    assert_string_equal(reflector_world_requests(world), requests);
    assert_string_equal(reflector_world_deltas(world), deltas);
}

static void the_first_list_asks_for_the_newest_state_in_pages(void **state)
{
    expect(state, "a@1 b@2 =10", "resolve; list limit=500; watch rv=10",
           "[a@1 b@2]=10");
}

static void an_empty_list_replaces_too(void **state)
{
    expect(state, "=7", "resolve; list limit=500; watch rv=7", "[]=7");
}

static void pages_become_visible_together(void **state)
{
    expect(state, "a@1 b@2 =10>C1; c@3 =10>C2; d@4 =10",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list continue=C2 limit=500; watch rv=10",
           "[a@1 b@2 c@3 d@4]=10");
}

static void a_page_size_is_sent_with_every_page(void **state)
{
    reflector_world *world = *state;

    world->options.page_size = 4;
    expect(state, "a@1 =10>C1; b@3 =10; !gone; a@1 =20",
           "resolve; list limit=4; list continue=C1 limit=4; watch rv=10; "
           "list rv=10 match=NotOlderThan limit=4; watch rv=20",
           "[a@1 b@3]=10 !gone [a@1]=20");
}

static void a_relist_is_not_older_than_the_last_version(void **state)
{
    expect(state, "a@1 =10; +b@15 !gone; a@1 b@15 =20",
           "resolve; list limit=500; watch rv=10; "
           "list rv=15 match=NotOlderThan; watch rv=20",
           "[a@1]=10 +b@15 !gone [a@1 b@15]=20");
}

static void a_page_that_fails_half_way_never_truncates(void **state)
{
    expect(state, "a@1 b@2 =10>C1; c@3 !unavailable; a@1 b@2 =11>C2; c@3 =11",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list limit=500; list continue=C2 limit=500; watch rv=11",
           "!unavailable [a@1 b@2 c@3]=11");
}

static void a_failed_list_leaves_the_cache_unchanged(void **state)
{
    reflector_world *world = *state;

    expect(state, "a@1 =10; !gone; !internal:500; !internal:500; a@1 =30",
           "resolve; list limit=500; watch rv=10; "
           "list rv=10 match=NotOlderThan; list rv=10 match=NotOlderThan; "
           "list rv=10 match=NotOlderThan; watch rv=30",
           "[a@1]=10 !gone !internal [a@1]=30");
    assert_int_equal(world->status.failures, 3);
    assert_int_equal(world->status.lists, 2);
}

/* Such a server obeys `limit`, but ignores `continue`: each page that it sends
 * is the first page, with a new token. */
static void a_repeated_page_is_an_error(void **state)
{
    expect(state, "a@1 =10>C1; a@1 =11>C2; a@1 =12",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list limit=500; watch rv=12",
           "!parse [a@1]=12");
}

static void a_page_without_items_is_a_page(void **state)
{
    expect(state, "a@1 =10>C1; =10>C2; b@2 =10",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list continue=C2 limit=500; watch rv=10",
           "[a@1 b@2]=10");
}

/* A server that takes too long for one whole list would do so each time. */
static void a_list_that_times_out_is_retried_in_pages(void **state)
{
    expect(state,
           "a@1 =10; !gone; !timeout; a@1 =20>C; b@2 =20; ~b@21 !gone; "
           "a@1 b@21 =30; ok",
           "resolve; list limit=500; watch rv=10; "
           "list rv=10 match=NotOlderThan; "
           "list rv=10 match=NotOlderThan limit=500; "
           "list continue=C limit=500; watch rv=20; "
           "list rv=21 match=NotOlderThan; watch rv=30",
           "[a@1]=10 !gone !timeout [a@1 b@2]=20 ~b@21 !gone [a@1 b@21]=30");
}

static void an_expired_continue_token_is_renewed(void **state)
{
    expect(state, "a@1 b@2 =10>C1; !gone:410>R1; c@3 =90>R2; d@4 =95",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list continue=R1 limit=500; list continue=R2 limit=500; "
           "watch rv=10",
           "[a@1 b@2 c@3 d@4]=10");
}

static void events_already_in_a_fuzzy_list_are_not_replayed(void **state)
{
    expect(state,
           "a@1 =10>C1; !gone:410>R1; b#new@60 c@40 =90; "
           "+x@20 ~c@30 -b#old@50 +b#new@60 ~c@70 ~b#new@80",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list continue=R1 limit=500; watch rv=10",
           "[a@1 b@60 c@40]=10 +x@20 +b@60 ~c@70 ~b@80");
}

static void a_restored_cluster_forgets_a_fuzzy_snapshot(void **state)
{
    expect(state,
           "a@1 =10>C1; !gone:410>R1; c@40 =90; !gone; a@1 c@3 =5; ~c@20",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list continue=R1 limit=500; watch rv=10; list limit=500; "
           "watch rv=5",
           "[a@1 c@40]=10 !gone [a@1 c@3]=5 ~c@20");
}

/* What made the token expire made the version expire as well: the watch from
 * there is refused. A list that is no older than that version may be older than
 * the later pages were. */
static void a_relist_after_a_fuzzy_list_asks_for_the_newest(void **state)
{
    expect(state, "a@1 =10>C1; !gone:410>R1; b@40 =90; !gone; b@40 =95; ok",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list continue=R1 limit=500; watch rv=10; list limit=500; "
           "watch rv=95",
           "[a@1 b@40]=10 !gone [b@40]=95");
}

/* The later pages lack the objects that were deleted meanwhile: their content
 * is newer than the version, too. */
static void a_relist_after_fuzzy_deletes_asks_for_the_newest(void **state)
{
    expect(state, "a@1 =10>C1; !gone:410>R1; =90; !gone; a@1 =95; ok",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list continue=R1 limit=500; watch rv=10; list limit=500; "
           "watch rv=95",
           "[a@1]=10 !gone [a@1]=95");
}

static void an_expired_token_without_a_new_one_starts_over(void **state)
{
    expect(state, "a@1 =10>C1; !gone:410; a@1 =20",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list limit=500; watch rv=20",
           "!gone [a@1]=20");
}

static void a_renewed_token_that_is_refused_starts_over(void **state)
{
    expect(state, "a@1 =10>C1; !gone:410>R1; !gone:410>R2; a@1 =20",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list continue=R1 limit=500; list limit=500; watch rv=20",
           "!gone [a@1]=20");
}

static void a_410_to_a_relist_asks_at_once_for_the_newest(void **state)
{
    reflector_world *world = *state;

    expect(state, "a@1 =10; !gone; !gone:410; a@1 =20",
           "resolve; list limit=500; watch rv=10; "
           "list rv=10 match=NotOlderThan; list limit=500; watch rv=20",
           "[a@1]=10 !gone [a@1]=20");
    assert_int_equal(reflector_world_delay(world, 4), 0);
}

static void the_newest_is_asked_for_until_a_list_succeeds(void **state)
{
    expect(state,
           "a@1 =10; !gone; !gone:410; !unavailable; a@1 =20; ok +b@21 !gone; "
           "a@1 =30",
           "resolve; list limit=500; watch rv=10; "
           "list rv=10 match=NotOlderThan; list limit=500; list limit=500; "
           "watch rv=20; list rv=21 match=NotOlderThan; watch rv=30",
           "[a@1]=10 !gone !unavailable [a@1]=20 +b@21 !gone [a@1]=30");
}

static void a_version_ahead_waits_for_retry_after(void **state)
{
    reflector_world *world = *state;

    expect(state, "a@1 =10; !gone; !version_ahead:504/4000; a@1 =20",
           "resolve; list limit=500; watch rv=10; "
           "list rv=10 match=NotOlderThan; list limit=500; watch rv=20",
           "[a@1]=10 !gone !version_ahead [a@1]=20");
    assert_in_range(reflector_world_delay(world, 4), 4000, 5599);
}

static void a_410_to_a_list_of_the_newest_backs_off(void **state)
{
    reflector_world *world = *state;

    expect(state, "!gone:410; !gone:410; a@1 =20",
           "resolve; list limit=500; list limit=500; list limit=500; "
           "watch rv=20",
           "!gone [a@1]=20");
    assert_in_range(reflector_world_delay(world, 2), 800, 1599);
    assert_in_range(reflector_world_delay(world, 3), 1600, 3199);
}

static void a_list_older_than_the_cache_is_rejected(void **state)
{
    expect(state, "a@1 =10; !gone; a@1 =9; a@1 b@11 =12",
           "resolve; list limit=500; watch rv=10; "
           "list rv=10 match=NotOlderThan; list limit=500; watch rv=12",
           "[a@1]=10 !gone [a@1 b@11]=12");
}

static void a_cluster_restored_from_a_backup_is_accepted(void **state)
{
    expect(state, "a@1 z@9 =100; !gone; a@1 =9; a@1 =9; +b@10",
           "resolve; list limit=500; watch rv=100; "
           "list rv=100 match=NotOlderThan; list limit=500; watch rv=9",
           "[a@1 z@9]=100 !gone [a@1]=9 +b@10");
}

static void a_404_to_a_list_resolves_the_resource_again(void **state)
{
    reflector_world *world = *state;

    expect(state,
           "!not_found:404; resolve !unknown_kind; resolve !unknown_kind; "
           "a@1 =10",
           "resolve; list limit=500; resolve; resolve; resolve; "
           "list limit=500; watch rv=10",
           "!not_found !unknown_kind [a@1]=10");
    assert_in_range(reflector_world_delay(world, 2), 800, 1599);
}

static void an_unknown_kind_is_asked_for_every_ten_seconds(void **state)
{
    reflector_world *world = *state;

    expect(state,
           "resolve !unknown_kind; resolve !unknown_kind; "
           "resolve !unknown_kind; resolve !unknown_kind; "
           "resolve !unknown_kind; resolve !unknown_kind; =1",
           "resolve; resolve; resolve; resolve; resolve; resolve; resolve; "
           "list limit=500; watch rv=1",
           "!unknown_kind []=1");
    assert_in_range(reflector_world_delay(world, 6), 5000, 9999);
}

static void a_403_is_reported_once_and_retried_with_backoff(void **state)
{
    reflector_world *world = *state;

    expect(state, "!forbidden:403; !forbidden:403; !forbidden:403; =5",
           "resolve; list limit=500; list limit=500; list limit=500; "
           "list limit=500; watch rv=5",
           "!forbidden []=5");
    assert_in_range(reflector_world_delay(world, 2), 800, 1599);
    assert_in_range(reflector_world_delay(world, 3), 1600, 3199);
    assert_in_range(reflector_world_delay(world, 4), 3200, 6399);
}

static void each_change_of_reason_is_reported(void **state)
{
    expect(state,
           "!forbidden:403; !unavailable:503; !unavailable:503; "
           "!forbidden:403; =5",
           "resolve; list limit=500; list limit=500; list limit=500; "
           "list limit=500; list limit=500; watch rv=5",
           "!forbidden !unavailable !forbidden []=5");
}

static void retry_after_is_honoured(void **state)
{
    reflector_world *world = *state;

    expect(state, "!too_many_requests:429/20000; =5",
           "resolve; list limit=500; list limit=500; watch rv=5",
           "!too_many_requests []=5");
    assert_in_range(reflector_world_delay(world, 2), 20000, 20799);
}

static void a_list_that_falls_silent_is_given_up(void **state)
{
    reflector_world *world = *state;

    expect(state, "a@1; a@1 =10",
           "resolve; list limit=500; list limit=500; watch rv=10",
           "!timeout [a@1]=10");
    assert_in_range(reflector_world_delay(world, 2), 30800, 31599);
}

/* OpenShift's ProjectList. The events of what was listed are in no order. */
static void a_list_without_a_resource_version_is_watched_from_none(void **state)
{
    expect(state, "a@1 b@2 =; +b@2 +a@1 ~a@3 $; ok",
           "resolve; list limit=500; watch; watch rv=3",
           "[a@1 b@2]= +b@2 +a@1 ~a@3");
}

/* a was changed to a@8 between the list and the watch, and the watch ended
 * before it told that. */
static void a_watch_from_none_is_not_resumed_before_all_has_come(void **state)
{
    expect(state, "a@1 b@2 =; +b@9 $; a@8 b@9 =; +b@9 +a@8 ^10 $; ok",
           "resolve; list limit=500; watch; list limit=500; watch; "
           "watch rv=10",
           "[a@1 b@2]= +b@9 [a@8 b@9]= +b@9 +a@8 ^10");
}

static void a_watch_from_no_version_that_ends_so_leads_to_a_list(void **state)
{
    expect(state, "a@1 =; $; b@2 =; ok",
           "resolve; list limit=500; watch; list limit=500; watch",
           "[a@1]= [b@2]=");
}

static void a_repeated_continue_token_is_an_error(void **state)
{
    expect(state, "a@1 =10>C1; b@2 =10>C1; a@1 =10",
           "resolve; list limit=500; list continue=C1 limit=500; "
           "list limit=500; watch rv=10",
           "!parse [a@1]=10");
}

static void an_object_that_comes_twice_counts_once(void **state)
{
    expect(state, "a@1 b@2 a@3 =10", "resolve; list limit=500; watch rv=10",
           "[a@3 b@2]=10");
}

static void unchanged_objects_are_shared_with_the_cache(void **state)
{
    static const char json[] = "{\"metadata\":{\"name\":\"a\",\"uid\":"
                               "\"uid-a\",\"resourceVersion\":\"1\"}}";
    reflector_world *world = *state;
    kl__change_list changes = {0};
    kl__delta_batch batch = {0};
    kl_object *cached = kl_object_parse(json, strlen(json), NULL, NULL);
    kl_object_list list = {.items = &cached, .count = 1};

    world->known = kl__indexer_new();
    assert_int_equal(cache_transact_list(world->known, &list, "1", &changes),
                     KL_OK);
    world->options.no_streaming_list = true;
    reflector_world_play(world, "a@1 b@2 =10");
    assert_int_equal(kl__delta_fifo_pop(world->fifo, &batch, 1, 0), KL_OK);
    assert_int_equal(batch.items[0].listed->objects.count, 2);
    assert_ptr_equal(batch.items[0].listed->objects.items[0], cached);
    kl__delta_batch_clear(&batch);
    kl__change_list_clear(&changes);
    kl_object_unref(cached);
}

#define WORLD_TEST(name)                                         \
    cmocka_unit_test_setup_teardown(name, reflector_world_setup, \
                                    reflector_world_teardown)

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
        WORLD_TEST(the_first_list_asks_for_the_newest_state_in_pages),
        WORLD_TEST(an_empty_list_replaces_too),
        WORLD_TEST(pages_become_visible_together),
        WORLD_TEST(a_page_size_is_sent_with_every_page),
        WORLD_TEST(a_relist_is_not_older_than_the_last_version),
        WORLD_TEST(a_page_that_fails_half_way_never_truncates),
        WORLD_TEST(a_failed_list_leaves_the_cache_unchanged),
        WORLD_TEST(a_repeated_page_is_an_error),
        WORLD_TEST(a_page_without_items_is_a_page),
        WORLD_TEST(a_list_that_times_out_is_retried_in_pages),
        WORLD_TEST(an_expired_continue_token_is_renewed),
        WORLD_TEST(events_already_in_a_fuzzy_list_are_not_replayed),
        WORLD_TEST(a_restored_cluster_forgets_a_fuzzy_snapshot),
        WORLD_TEST(a_relist_after_a_fuzzy_list_asks_for_the_newest),
        WORLD_TEST(a_relist_after_fuzzy_deletes_asks_for_the_newest),
        WORLD_TEST(an_expired_token_without_a_new_one_starts_over),
        WORLD_TEST(a_renewed_token_that_is_refused_starts_over),
        WORLD_TEST(a_410_to_a_relist_asks_at_once_for_the_newest),
        WORLD_TEST(the_newest_is_asked_for_until_a_list_succeeds),
        WORLD_TEST(a_version_ahead_waits_for_retry_after),
        WORLD_TEST(a_410_to_a_list_of_the_newest_backs_off),
        WORLD_TEST(a_list_older_than_the_cache_is_rejected),
        WORLD_TEST(a_cluster_restored_from_a_backup_is_accepted),
        WORLD_TEST(a_404_to_a_list_resolves_the_resource_again),
        WORLD_TEST(an_unknown_kind_is_asked_for_every_ten_seconds),
        WORLD_TEST(a_403_is_reported_once_and_retried_with_backoff),
        WORLD_TEST(each_change_of_reason_is_reported),
        WORLD_TEST(retry_after_is_honoured),
        WORLD_TEST(a_list_that_falls_silent_is_given_up),
        WORLD_TEST(a_list_without_a_resource_version_is_watched_from_none),
        WORLD_TEST(a_watch_from_none_is_not_resumed_before_all_has_come),
        WORLD_TEST(a_watch_from_no_version_that_ends_so_leads_to_a_list),
        WORLD_TEST(a_repeated_continue_token_is_an_error),
        WORLD_TEST(an_object_that_comes_twice_counts_once),
        WORLD_TEST(unchanged_objects_are_shared_with_the_cache),
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
