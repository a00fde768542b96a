/*
 * processor_spec.c - which events handlers get: early or late, one handler or
 * many, changes, resyncs and errors.
 */
#include "informer/processor.h"

#include "failing_alloc.h"
#include "pods.h"
#include "processor_rig.h"

#include "base/mem.h"
#include "informer/processor_members.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void an_early_registration_sees_the_first_list_then_synced(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    assert_string_equal(rig_pull(handler), "");
    assert_false(kl_registration_has_synced(handler));
    rig_replace(&rig, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    rig_apply(&rig, KL__DELTA_ADDED, pod("c", "3", 6));
    assert_false(kl_registration_has_synced(handler));
    assert_string_equal(rig_pull(handler), "i+a@1 i+b@2 synced +c@6");
    assert_true(kl_registration_has_synced(handler));
    kl_registration_remove(handler);
    rig_end(&rig);
}

static void a_late_registration_is_replayed_the_cache(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler;

    (void)state;
    rig_replace(&rig, pod_list(2, pod("b", "2", 2), pod("a", "1", 1)), "5");
    handler = rig_subscribe(&rig, &rig, NULL);
    rig_apply(&rig, KL__DELTA_UPDATED, pod("a", "1", 7));
    assert_string_equal(rig_pull(handler), "i+a@1 i+b@2 synced ~a@1>7");
    rig_end(&rig);
}

static void an_empty_list_is_synced_at_once(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *early = rig_subscribe(&rig, &rig, NULL);
    kl_registration *late;

    (void)state;
    rig_replace(&rig, (kl_object_list){0}, "5");
    late = rig_subscribe(&rig, &rig, NULL);
    assert_true(kl_registration_has_synced(early));
    assert_true(kl_registration_has_synced(late));
    assert_string_equal(rig_pull(early), "synced");
    assert_string_equal(rig_pull(late), "synced");
    rig_end(&rig);
}

static void a_relist_delivers_only_the_differences(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    rig_replace(
        &rig, pod_list(3, pod("a", "1", 1), pod("b", "2", 2), pod("c", "3", 3)),
        "5");
    rig_pull(handler);
    rig_replace(
        &rig, pod_list(3, pod("a", "1", 1), pod("c", "9", 8), pod("d", "4", 9)),
        "9");
    assert_string_equal(rig_pull(handler), "?b@2 ?c@3 +c@8 +d@9");
    rig_end(&rig);
}

static void a_handler_finds_the_cache_not_older_than_its_event(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl_event event;
    kl_object *now;

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    rig_apply(&rig, KL__DELTA_UPDATED, pod("a", "1", 6));
    assert_true(kl_registration_next(handler, &event));
    now = kl__indexer_get(rig.indexer, "web/a");
    assert_string_equal(kl_object_resource_version(now), "6");
    kl_object_unref(now);
    kl_registration_done(handler, &event);
    rig_end(&rig);
}

static void each_registration_has_its_own_events(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *first = rig_subscribe(&rig, &rig, NULL);
    kl_registration *again = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_string_equal(rig_pull(first), "i+a@1 synced");
    kl_registration_remove(first);
    rig_apply(&rig, KL__DELTA_DELETED, pod("a", "1", 6));
    assert_int_equal(kl_registration_backlog(again), 3);
    assert_string_equal(rig_pull(again), "i+a@1 synced -a@6");
    rig_end(&rig);
}

static void
a_mark_parts_what_a_later_snapshot_has_from_what_comes_after(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *first = rig_subscribe(&rig, &rig, NULL);
    kl_handler_options options = {.takes_over = true};
    kl_registration *taker;
    kl_event event;
    size_t count = 7;

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_string_equal(rig_pull(first), "i+a@1 synced");
    assert_false(kl_registration_marked(first, &count));
    rig_apply(&rig, KL__DELTA_DELETED, pod("a", "1", 6));
    rig_apply(&rig, KL__DELTA_ADDED, pod("b", "2", 7));
    taker = rig_subscribe(&rig, &rig, &options);
    rig_apply(&rig, KL__DELTA_DELETED, pod("b", "2", 8));
    (void)rig_subscribe(&rig, &rig, &options);
    assert_true(kl_registration_marked(first, &count));
    assert_int_equal(count, 2);
    assert_true(kl_registration_next(first, &event));
    assert_string_equal(rig_describe(&event), "-a@6");
    kl_registration_done(first, &event);
    assert_true(kl_registration_marked(first, &count));
    assert_int_equal(count, 1);
    assert_string_equal(rig_pull(first), "+b@7 -b@8");
    assert_true(kl_registration_marked(first, &count));
    assert_int_equal(count, 0);
    assert_string_equal(rig_pull(taker), "i+b@7 synced -b@8");
    kl_registration_unmark(first);
    assert_false(kl_registration_marked(first, &count));
    rig_end(&rig);
}

static void each_registration_marks_one_of_its_name(void **state)
{
    processor_rig rig = rig_begin();
    kl_handler_options named = {.name = "b"};
    kl_handler_options taker = {.takes_over = true};
    kl_handler_options named_taker = {.name = "b", .takes_over = true};
    kl_handler nothing = {.context = &rig};
    kl_registration *with_a_thread = rig_handle(&rig, &nothing, NULL);
    kl_registration *first = rig_subscribe(&rig, &rig, NULL);
    kl_registration *second = rig_subscribe(&rig, &rig, NULL);
    kl_registration *third = rig_subscribe(&rig, &rig, &named);
    size_t count;

    (void)state;
    (void)rig_subscribe(&rig, &rig, &taker);
    assert_true(kl_registration_marked(first, &count));
    assert_false(kl_registration_marked(second, &count));
    (void)rig_subscribe(&rig, &rig, &taker);
    assert_true(kl_registration_marked(second, &count));
    assert_false(kl_registration_marked(third, &count));
    (void)rig_subscribe(&rig, &rig, &named_taker);
    assert_true(kl_registration_marked(third, &count));
    assert_false(kl_registration_marked(with_a_thread, &count));
    rig_end(&rig);
}

static void has_synced_waits_for_the_handler_not_for_the_queue(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl_event first, second, none;

    (void)state;
    rig_replace(&rig, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    assert_true(kl_registration_next(handler, &first));
    assert_true(kl_registration_next(handler, &second));
    assert_false(kl_registration_next(handler, &none));
    assert_ptr_equal(kl_event_queue_next(rig.queue), &rig);
    assert_null(kl_event_queue_next(rig.queue));
    kl_registration_done(handler, &second);
    assert_false(kl_registration_has_synced(handler));
    kl_registration_done(handler, &first);
    assert_true(kl_registration_has_synced(handler));
    assert_ptr_equal(kl_event_queue_next(rig.queue), &rig);
    assert_string_equal(rig_pull(handler), "synced");
    rig_end(&rig);
}

static void an_initial_object_deleted_unseen_counts_as_handled(void **state)
{
    processor_rig rig = rig_begin();
    kl_handler_options options = {.backlog = 1};
    kl_registration *handler = rig_subscribe(&rig, &rig, &options);

    (void)state;
    rig_replace(&rig, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    rig_apply(&rig, KL__DELTA_DELETED, pod("a", "1", 6));
    rig_apply(&rig, KL__DELTA_UPDATED, pod("b", "2", 7));
    assert_string_equal(rig_pull(handler), "i+b@7 synced");
    assert_true(kl_registration_has_synced(handler));
    rig_end(&rig);
}

static void the_log_names_a_coalescing_handler_once(void **state)
{
    processor_rig rig = rig_begin();
    kl_handler_options options = {.backlog = 2, .name = "slow"};
    kl_registration *slow = rig_subscribe(&rig, &rig, &options);
    kl_registration *fast = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    rig_log();
    rig_replace(&rig, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    assert_int_equal(rig_log_lines(), 0);
    for (int version = 6; version < 9; version++) {
        rig_apply(&rig, KL__DELTA_UPDATED, pod("a", "1", version));
    }
    assert_int_equal(rig_log_lines(), 1);
    assert_non_null(strstr(rig_log_line(), "slow"));
    assert_string_equal(rig_pull(slow), "i+a@8 i+b@2 synced");
    assert_string_equal(rig_pull(fast),
                        "i+a@1 i+b@2 synced ~a@1>6 ~a@6>7 ~a@7>8");
    rig_end(&rig);
}

static void each_handler_is_resynced_at_its_own_period(void **state)
{
    processor_rig rig = rig_begin();
    kl_handler_options two = {.resync_ms = 2000};
    kl_handler_options three = {.resync_ms = 3000};
    kl_registration *often = rig_subscribe(&rig, &rig, &two);
    kl_registration *seldom = rig_subscribe(&rig, &rig, &three);
    kl_registration *never = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    rig_pull(often);
    rig_pull(seldom);
    rig_pull(never);
    assert_int_equal(kl__processor_next_resync(rig.processor), 2000);
    kl__clock_advance(rig.clock, 2000);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_string_equal(rig_pull(often), "=a@1>1");
    assert_string_equal(rig_pull(seldom), "");
    assert_int_equal(kl__processor_next_resync(rig.processor), 3000);
    kl__clock_advance(rig.clock, 1000);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_string_equal(rig_pull(often), "");
    assert_string_equal(rig_pull(seldom), "=a@1>1");
    assert_int_equal(kl__processor_next_resync(rig.processor), 4000);
    /* Two that were missed are not made up for. */
    kl__clock_advance(rig.clock, 5500);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_string_equal(rig_pull(often), "=a@1>1");
    assert_string_equal(rig_pull(seldom), "=a@1>1");
    assert_int_equal(kl__processor_next_resync(rig.processor), 9000);
    assert_string_equal(rig_pull(never), "");
    rig_end(&rig);
}

static void a_resync_skips_objects_with_waiting_events(void **state)
{
    processor_rig rig = rig_begin();
    kl_handler_options options = {.resync_ms = 1000, .every_change = true};
    kl_registration *handler = rig_subscribe(&rig, &rig, &options);

    (void)state;
    rig_replace(&rig, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    rig_pull(handler);
    rig_apply(&rig, KL__DELTA_UPDATED, pod("a", "1", 6));
    kl__clock_advance(rig.clock, 1000);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    kl__clock_advance(rig.clock, 1000);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    rig_apply(&rig, KL__DELTA_UPDATED, pod("b", "2", 7));
    assert_string_equal(rig_pull(handler), "~a@1>6 =b@2>2 ~b@2>7");
    rig_end(&rig);
}

static void a_resync_before_the_first_list_does_nothing(void **state)
{
    processor_rig rig = rig_begin();
    kl_handler_options options = {.resync_ms = 1000};
    kl_registration *handler = rig_subscribe(&rig, &rig, &options);

    (void)state;
    kl__clock_advance(rig.clock, 1000);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_string_equal(rig_pull(handler), "");
    assert_int_equal(kl__processor_next_resync(rig.processor), 2000);
    rig_end(&rig);
}

static void a_handler_can_disable_resync(void **state)
{
    processor_rig rig = rig_begin();
    const kl_handler_options none = {.resync_ms = -1};
    const kl_handler_options some = {.resync_ms = 1000};

    (void)state;
    rig_subscribe(&rig, &rig, &none);
    rig_subscribe(&rig, &rig, NULL);
    assert_int_equal(kl__processor_next_resync(rig.processor), -1);
    rig_subscribe(&rig, &rig, &some);
    assert_int_equal(kl__processor_next_resync(rig.processor), 1000);
    rig_end(&rig);
}

static void after_close_no_handler_is_added_and_no_event_comes(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl__subscriber subscriber = {.queue = rig.queue};
    kl__listed listed = {.objects = pod_list(1, pod("a", "1", 1))};
    kl_error err;

    (void)state;
    rig_replace(&rig, (kl_object_list){0}, "5");
    kl__processor_close(rig.processor);
    assert_int_equal(kl__processor_replace(rig.processor, &listed, "6"),
                     KL_ECLOSED);
    kl__listed_clear(&listed);
    assert_null(kl__processor_add(rig.processor, &subscriber, &err));
    assert_int_equal(err.code, KL_ECLOSED);
    assert_string_equal(rig_pull(handler), "");
    assert_true(kl_registration_has_synced(handler));
    kl_registration_remove(handler);
    rig_end(&rig);
}

static void closing_a_handle_removes_its_registrations(void **state)
{
    processor_rig rig = rig_begin();
    int one, other;
    kl_registration *stays = rig_subscribe(&rig, &one, NULL);

    (void)state;
    rig_subscribe(&rig, &other, NULL);
    rig_subscribe(&rig, &other, NULL);
    kl__processor_remove_owner(rig.processor, &other, NULL);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 1);
    rig_replace(&rig, (kl_object_list){0}, "5");
    assert_string_equal(rig_pull(stays), "synced");
    rig_end(&rig);
}

static void an_event_that_was_pulled_outlives_its_registration(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl_event event;

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_true(kl_registration_next(handler, &event));
    kl_registration_remove(handler);
    assert_string_equal(rig_describe(&event), "i+a@1");
    kl_registration_done(handler, &event);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
    rig_end(&rig);
}

static void applying_now_does_not_wait_for_a_handler_that_is_added(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl__delta delta = {.type = KL__DELTA_ADDED, .object = pod("a", "1", 6)};
    kl__delta_batch batch = {.items = &delta, .count = 1, .capacity = 1};

    (void)state;
    kl__mutex_lock(&rig.processor->distribute);
    assert_int_equal(kl__processor_apply_now(rig.processor, &batch),
                     KL_ETIMEOUT);
    kl__mutex_unlock(&rig.processor->distribute);
    assert_int_equal(kl__indexer_count(rig.indexer), 0);
    assert_string_equal(rig_pull(handler), "");
    assert_int_equal(kl__processor_apply_now(rig.processor, &batch), KL_OK);
    assert_string_equal(rig_pull(handler), "+a@6");
    kl__delta_clear(&delta);
    kl_registration_remove(handler);
    rig_end(&rig);
}

/* What a registration is told of one delta; the store and the handler must
 * agree whatever happens. */
static kl_code change(kl__processor *processor, kl__indexer *indexer,
                      kl_registration *handler, kl__delta *delta)
{
    kl__delta_batch batch = {.items = delta, .count = 1, .capacity = 1};
    size_t before = kl__indexer_count(indexer);
    kl_code code = kl__processor_apply(processor, &batch);
    kl_event event;

    if (code != KL_OK) {
        assert_int_equal(code, KL_ENOMEM);
        assert_int_equal(kl__indexer_count(indexer), before);
        assert_false(kl_registration_next(handler, &event));
        return code;
    }
    assert_int_not_equal(kl__indexer_count(indexer), before);
    assert_true(kl_registration_next(handler, &event));
    kl_registration_done(handler, &event);
    return KL_OK;
}

/* The lives of a few registrations, in which each allocation fails once. */
static kl_code live(void *context)
{
    kl__delta delta = {.type = KL__DELTA_ADDED, .object = context};
    kl_handler_options options = {.backlog = 1, .resync_ms = 1};
    kl__listed listed = {.objects = {&delta.object, 1}};
    kl_error error = {.code = KL_EGONE};
    kl__indexer *indexer = kl__indexer_new();
    kl__clock *clock = kl__clock_fake(0);
    kl_event_queue *queue = kl_event_queue_new(NULL);
    kl__subscriber subscriber = {.queue = queue, .options = &options};
    kl__health health;
    kl__processor *processor =
        indexer != NULL && clock != NULL && queue != NULL
            ? kl__processor_new(indexer, &health, clock, "pods")
            : NULL;
    kl_registration *early = NULL, *late = NULL;
    kl_code code = KL_ENOMEM;

    kl__health_init(&health, clock);
    if (processor == NULL) {
        goto end;
    }
    early = kl__processor_add(processor, &subscriber, NULL);
    if (early == NULL) {
        goto end;
    }
    code = change(processor, indexer, early, &delta);
    delta.type = KL__DELTA_DELETED;
    code = code == KL_OK ? change(processor, indexer, early, &delta) : code;
    code =
        code == KL_OK ? kl__processor_replace(processor, &listed, "5") : code;
    if (code != KL_OK) {
        goto end;
    }
    assert_int_equal(kl_registration_backlog(early), 2);
    late = kl__processor_add(processor, &subscriber, NULL);
    if (late == NULL) {
        code = KL_ENOMEM;
        goto end;
    }
    rig_pull(early);
    kl__clock_advance(clock, 1);
    code = kl__processor_resync(processor);
    kl__processor_error(processor, &error, 1);

end:
    kl_registration_remove(early);
    kl_registration_remove(late);
    if (processor != NULL) {
        kl__processor_close(processor);
    }
    kl__processor_free(processor);
    kl__health_deinit(&health);
    kl__indexer_free(indexer);
    kl_event_queue_free(queue);
    kl__clock_fake_free(clock);
    return code;
}

static void out_of_memory_never_leaves_a_handler_behind_the_cache(void **state)
{
    kl_object *object = pod("a", "1", 1);

    (void)state;
    failing_alloc_each(live, object);
    kl_object_unref(object);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
}

static kl_error reason(kl_code code, const char *message)
{
    kl_error error = {0};

    kl_error_set(&error, code, "%s", message);
    return error;
}

static void break_off(processor_rig *rig, kl_code code, const char *message)
{
    kl_error error = reason(code, message);

    rig_fail(rig, &error);
}

static void an_error_is_delivered_once_per_change_of_reason(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl_registration *late;

    (void)state;
    rig_log();
    break_off(&rig, KL_EFORBIDDEN, "no");
    break_off(&rig, KL_EFORBIDDEN, "no");
    late = rig_subscribe(&rig, &rig, NULL);
    break_off(&rig, KL_EFORBIDDEN, "no");
    break_off(&rig, KL_EUNAVAILABLE, "gone away");
    assert_string_equal(rig_pull(handler), "error:no error:gone away");
    assert_string_equal(rig_pull(late), "error:gone away");
    kl__health_recover(rig.health, NULL);
    break_off(&rig, KL_EUNAVAILABLE, "gone away");
    assert_string_equal(rig_pull(handler), "error:gone away");
    assert_int_equal(rig_log_lines(), 0);
    rig_end(&rig);
}

static void a_late_handler_gets_the_standing_error(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *early = rig_subscribe(&rig, &rig, NULL);
    kl_registration *late, *later;

    (void)state;
    rig_log();
    break_off(&rig, KL_EFORBIDDEN, "no");
    late = rig_subscribe(&rig, &rig, NULL);
    kl__processor_error_again(rig.processor);
    kl__processor_error_again(rig.processor);
    assert_string_equal(rig_pull(early), "error:no");
    assert_string_equal(rig_pull(late), "error:no");
    kl__health_recover(rig.health, NULL);
    rig_replace(&rig, (kl_object_list){0}, "5");
    later = rig_subscribe(&rig, &rig, NULL);
    kl__processor_error_again(rig.processor);
    assert_string_equal(rig_pull(early), "synced");
    assert_string_equal(rig_pull(later), "synced");
    rig_end(&rig);
}

/* After an event, a new handler is not told the earlier error, but the event
 * does not prove that the error is over: when the error comes again, only a
 * handler that joined in between is told. */
static void
an_error_that_comes_again_is_told_to_who_joined_between(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *early = rig_subscribe(&rig, &rig, NULL);
    kl_registration *late;

    (void)state;
    break_off(&rig, KL_EFORBIDDEN, "no");
    kl__health_forget(rig.health);
    rig_apply(&rig, KL__DELTA_ADDED, pod("a", "1", 6));
    late = rig_subscribe(&rig, &rig, NULL);
    kl__processor_error_again(rig.processor);
    assert_string_equal(rig_pull(late), "");
    break_off(&rig, KL_EFORBIDDEN, "no");
    assert_string_equal(rig_pull(early), "error:no +a@6");
    assert_string_equal(rig_pull(late), "error:no");
    rig_end(&rig);
}

static void a_queued_error_is_not_delivered_early(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl_error error = reason(KL_EFORBIDDEN, "no");
    uint64_t number = kl__health_fail(rig.health, &error, false);

    (void)state;
    kl__processor_error_again(rig.processor);
    assert_string_equal(rig_pull(handler), "");
    kl__processor_error(rig.processor, &error, number);
    kl__processor_error_again(rig.processor);
    assert_string_equal(rig_pull(handler), "error:no");
    rig_end(&rig);
}

static void an_error_without_a_handler_is_logged_once(void **state)
{
    processor_rig rig = rig_begin();
    kl_handler_options options = {.ignores_errors = true};
    kl_registration *handler = rig_subscribe(&rig, &rig, &options);

    (void)state;
    rig_log();
    break_off(&rig, KL_EFORBIDDEN, "no");
    kl__health_forget(rig.health);
    break_off(&rig, KL_EFORBIDDEN, "no");
    assert_int_equal(rig_log_lines(), 1);
    assert_string_equal(rig_log_line(), "informer pods: no (forbidden)");
    break_off(&rig, KL_EGONE, "expired");
    assert_int_equal(rig_log_lines(), 2);
    assert_string_equal(rig_pull(handler), "");
    rig_end(&rig);
}

static void errors_keep_their_place_among_the_events(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    break_off(&rig, KL_EGONE, "expired");
    rig_apply(&rig, KL__DELTA_DELETED, pod("a", "1", 6));
    assert_string_equal(rig_pull(handler), "i+a@1 synced error:expired -a@6");
    rig_end(&rig);
}

static kl__unreadable *unreadable_pod(void)
{
    kl__remains remains = {.name = "b", .name_space = "web"};
    kl_error why = reason(KL_EPARSE, "not JSON");
    kl__unreadable *made = kl__unreadable_new(&remains, "Pod", &why);

    assert_non_null(made);
    return made;
}

/* The handler was to be told again of the object when there is memory. */
static void an_error_does_not_hide_an_unreadable_object(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);
    kl__delta delta = {.type = KL__DELTA_UNREADABLE};
    kl__delta_batch batch = {.items = &delta, .count = 1, .capacity = 1};
    kl_code code = KL_ENOMEM;

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_string_equal(rig_pull(handler), "i+a@1 synced");
    failing_alloc_install();
    delta.unreadable = unreadable_pod();
    for (long i = 1; code == KL_ENOMEM; i++) {
        failing_alloc_fail_at(i, 1);
        code = kl__processor_apply(rig.processor, &batch);
    }
    failing_alloc_fail_at(0, 0);
    assert_int_equal(code, KL_OK);
    assert_string_equal(rig_pull(handler), "");
    break_off(&rig, KL_EUNAVAILABLE, "no answer");
    kl__clock_advance(rig.clock, 60000);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_string_equal(rig_pull(handler),
                        "error:no answer "
                        "error:Pod web/b cannot be read: not JSON");
    rig_end(&rig);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            applying_now_does_not_wait_for_a_handler_that_is_added),
        cmocka_unit_test(an_early_registration_sees_the_first_list_then_synced),
        cmocka_unit_test(a_late_registration_is_replayed_the_cache),
        cmocka_unit_test(an_empty_list_is_synced_at_once),
        cmocka_unit_test(a_relist_delivers_only_the_differences),
        cmocka_unit_test(a_handler_finds_the_cache_not_older_than_its_event),
        cmocka_unit_test(each_registration_has_its_own_events),
        cmocka_unit_test(
            a_mark_parts_what_a_later_snapshot_has_from_what_comes_after),
        cmocka_unit_test(each_registration_marks_one_of_its_name),
        cmocka_unit_test(has_synced_waits_for_the_handler_not_for_the_queue),
        cmocka_unit_test(an_initial_object_deleted_unseen_counts_as_handled),
        cmocka_unit_test(the_log_names_a_coalescing_handler_once),
        cmocka_unit_test(each_handler_is_resynced_at_its_own_period),
        cmocka_unit_test(a_resync_skips_objects_with_waiting_events),
        cmocka_unit_test(a_resync_before_the_first_list_does_nothing),
        cmocka_unit_test(a_handler_can_disable_resync),
        cmocka_unit_test(after_close_no_handler_is_added_and_no_event_comes),
        cmocka_unit_test(closing_a_handle_removes_its_registrations),
        cmocka_unit_test(an_event_that_was_pulled_outlives_its_registration),
        cmocka_unit_test(out_of_memory_never_leaves_a_handler_behind_the_cache),
        cmocka_unit_test(an_error_is_delivered_once_per_change_of_reason),
        cmocka_unit_test(a_late_handler_gets_the_standing_error),
        cmocka_unit_test(
            an_error_that_comes_again_is_told_to_who_joined_between),
        cmocka_unit_test(a_queued_error_is_not_delivered_early),
        cmocka_unit_test(an_error_without_a_handler_is_logged_once),
        cmocka_unit_test(errors_keep_their_place_among_the_events),
        cmocka_unit_test(an_error_does_not_hide_an_unreadable_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
