/*
 * handler_spec.c - callbacks on a thread of their own: in order, without locks,
 * removed from anywhere, slow or quick.
 */
#include "kubelua/handler.h"

#include "gate.h"
#include "kubelua/memory.h"
#include "pods.h"
#include "processor_rig.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* What a handler was shown, and where it can be held up. */
typedef struct recorder {
    char text[4096];
    size_t used;
    gate seen;    /* passed after each callback */
    gate entered; /* passed when a held callback has begun */
    gate release; /* ends a held callback */
    bool holds;
    atomic_int dropped;
    void (*act)(struct recorder *self); /* within an add */
    processor_rig *rig;
    kl_registration *target; /* what `act` removes */
} recorder;

static void record(recorder *self, const kl_event *event)
{
    if (self->holds) {
        gate_pass(&self->entered);
        assert_true(gate_await(&self->release, 1));
    }
    self->used += (size_t)snprintf(
        self->text + self->used, sizeof(self->text) - self->used, "%s%s",
        self->used > 0 ? " " : "", rig_describe(event));
    if (event->type == KL_EVENT_ADD && self->act != NULL) {
        self->act(self);
    }
    gate_pass(&self->seen);
}

static void on_add(void *context, kl_object *object, bool initial)
{
    record(context, &(kl_event){.type = KL_EVENT_ADD,
                                .object = object,
                                .initial = initial});
}

static void on_update(void *context, kl_object *old, kl_object *object)
{
    record(context,
           &(kl_event){.type = KL_EVENT_UPDATE, .old = old, .object = object});
}

static void on_remove(void *context, kl_object *object, bool unknown)
{
    record(context, &(kl_event){.type = KL_EVENT_DELETE,
                                .object = object,
                                .unknown = unknown});
}

static void on_synced(void *context)
{
    record(context, &(kl_event){.type = KL_EVENT_SYNCED});
}

static void on_error(void *context, const kl_error *error)
{
    kl_error copy = *error;

    record(context, &(kl_event){.type = KL_EVENT_ERROR, .error = &copy});
}

static void on_drop(void *context)
{
    recorder *self = context;

    atomic_fetch_add(&self->dropped, 1);
}

static kl_handler handler_of(recorder *self)
{
    return (kl_handler){on_add,   on_update, on_remove, on_synced,
                        on_error, self,      on_drop,   NULL};
}

static void recorder_init(recorder *self, processor_rig *rig)
{
    *self = (recorder){.rig = rig};
    gate_init(&self->seen);
    gate_init(&self->entered);
    gate_init(&self->release);
}

static void recorder_deinit(recorder *self)
{
    gate_deinit(&self->seen);
    gate_deinit(&self->entered);
    gate_deinit(&self->release);
}

static void a_thread_shows_every_event_in_order(void **state)
{
    processor_rig rig = rig_begin();
    recorder self;
    kl_handler handler;
    kl_registration *registration;
    kl_error error = {.code = KL_EGONE, .message = "expired"};

    (void)state;
    recorder_init(&self, &rig);
    handler = handler_of(&self);
    registration = rig_handle(&rig, &handler, NULL);
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    rig_apply(&rig, KL__DELTA_UPDATED, pod("a", "1", 6));
    kl__processor_error(rig.processor, &error, 1);
    rig_apply(&rig, KL__DELTA_DELETED, pod("a", "1", 7));
    assert_true(gate_await(&self.seen, 5));
    assert_string_equal(self.text, "i+a@1 synced ~a@1>6 error:expired -a@7");
    assert_true(kl_registration_has_synced(registration));
    assert_int_equal(atomic_load(&self.dropped), 0);
    kl_registration_remove(registration);
    assert_int_equal(atomic_load(&self.dropped), 1);
    rig_end(&rig);
    recorder_deinit(&self);
}

static void null_callbacks_are_skipped(void **state)
{
    processor_rig rig = rig_begin();
    recorder self;
    kl_handler handler;

    (void)state;
    recorder_init(&self, &rig);
    handler = (kl_handler){.synced = on_synced, .context = &self};
    rig_handle(&rig, &handler, NULL);
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_true(gate_await(&self.seen, 1));
    assert_string_equal(self.text, "synced");
    rig_end(&rig);
    recorder_deinit(&self);
}

static void remove_self(recorder *self)
{
    kl_registration_remove(self->target);
}

static void a_handler_may_remove_itself(void **state)
{
    processor_rig rig = rig_begin();
    recorder self;
    kl_handler handler;

    (void)state;
    recorder_init(&self, &rig);
    handler = handler_of(&self);
    self.act = remove_self;
    self.target = rig_handle(&rig, &handler, NULL);
    rig_replace(&rig, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    assert_true(gate_await(&self.seen, 1));
    rig_end(&rig);
    assert_string_equal(self.text, "i+a@1");
    assert_int_equal(atomic_load(&self.dropped), 1);
    recorder_deinit(&self);
}

/* Both are in their callbacks before either removes the other. */
static void two_handlers_may_remove_each_other_at_once(void **state)
{
    processor_rig rig = rig_begin();
    recorder one, other;
    kl_handler handler;

    (void)state;
    recorder_init(&one, &rig);
    recorder_init(&other, &rig);
    one.act = other.act = remove_self;
    one.holds = other.holds = true;
    handler = handler_of(&one);
    other.target = rig_handle(&rig, &handler, NULL);
    handler = handler_of(&other);
    one.target = rig_handle(&rig, &handler, NULL);
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_true(gate_await(&one.entered, 1));
    assert_true(gate_await(&other.entered, 1));
    gate_pass(&one.release);
    gate_pass(&other.release);
    assert_true(gate_await(&one.seen, 1));
    assert_true(gate_await(&other.seen, 1));
    rig_end(&rig);
    assert_int_equal(atomic_load(&one.dropped), 1);
    assert_int_equal(atomic_load(&other.dropped), 1);
    recorder_deinit(&one);
    recorder_deinit(&other);
}

static void *remove_target(void *arg)
{
    recorder *self = arg;

    kl_registration_remove(self->target);
    self->used = 1000 + self->used; /* the callback has returned by now */
    return NULL;
}

static void a_removal_on_another_thread_waits_for_the_callback(void **state)
{
    processor_rig rig = rig_begin();
    recorder self;
    kl_handler handler;
    kl__thread thread;

    (void)state;
    recorder_init(&self, &rig);
    self.holds = true;
    handler = handler_of(&self);
    self.target = rig_handle(&rig, &handler, NULL);
    rig_replace(&rig, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    assert_true(gate_await(&self.entered, 1));
    kl__thread_start(&thread, "remover", remove_target, &self, NULL);
    while (kl_registration_backlog(self.target) > 0) {
        sched_yield(); /* until the removal has dropped what waits */
    }
    gate_pass(&self.release);
    kl__thread_join(&thread);
    assert_int_equal(self.used, 1000 + strlen("i+a@1"));
    assert_string_equal(self.text, "i+a@1");
    assert_int_equal(atomic_load(&self.dropped), 1);
    rig_end(&rig);
    recorder_deinit(&self);
}

static void add_another(recorder *self)
{
    kl_object *object = kl__indexer_get(self->rig->indexer, "web/a");

    assert_non_null(object);
    kl_object_unref(object);
    self->target = rig_subscribe(self->rig, self, NULL);
}

static void a_handler_may_read_the_cache_and_register_others(void **state)
{
    processor_rig rig = rig_begin();
    recorder self;
    kl_handler handler;

    (void)state;
    recorder_init(&self, &rig);
    self.act = add_another;
    handler = handler_of(&self);
    rig_handle(&rig, &handler, NULL);
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    assert_true(gate_await(&self.seen, 2));
    assert_string_equal(rig_pull(self.target), "i+a@1 synced");
    rig_end(&rig);
    recorder_deinit(&self);
}

static void closing_ends_threads_and_drops_waiting_events(void **state)
{
    processor_rig rig = rig_begin();
    recorder self;
    kl_handler handler;

    (void)state;
    recorder_init(&self, &rig);
    self.holds = true;
    handler = handler_of(&self);
    rig_handle(&rig, &handler, NULL);
    rig_replace(&rig, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    assert_true(gate_await(&self.entered, 1));
    kl__processor_close(rig.processor);
    gate_pass(&self.release);
    rig_end(&rig);
    assert_string_equal(self.text, "i+a@1");
    assert_int_equal(atomic_load(&self.dropped), 1);
    recorder_deinit(&self);
}

/* The informer's thread, which waits for a handler that wants every change. */
typedef struct waiter {
    processor_rig *rig;
    kl__cancel cancel;
    kl__thread thread;
    kl_code code;
} waiter;

static void *wait_room(void *arg)
{
    waiter *self = arg;

    self->code = kl__processor_wait_room(self->rig->processor, &self->cancel);
    return NULL;
}

static void start_waiter(waiter *self, processor_rig *rig)
{
    self->rig = rig;
    self->code = KL_EINTERNAL;
    kl__cancel_init(&self->cancel);
    kl__thread_start(&self->thread, "informer", wait_room, self, NULL);
    assert_true(kl__clock_await_waiters(rig->clock, 1));
}

static void end_waiter(waiter *self, kl_code expected)
{
    kl__thread_join(&self->thread);
    assert_int_equal(self->code, expected);
    kl__cancel_deinit(&self->cancel);
}

static const kl_handler_options every_change = {
    .name = "exact", .backlog = 2, .every_change = true};

static kl_registration *fill(processor_rig *rig)
{
    kl_registration *registration = rig_subscribe(rig, rig, &every_change);

    rig_replace(rig, (kl_object_list){0}, "5");
    rig_apply(rig, KL__DELTA_ADDED, pod("a", "1", 6));
    rig_apply(rig, KL__DELTA_UPDATED, pod("a", "1", 7));
    rig_apply(rig, KL__DELTA_UPDATED, pod("a", "1", 8));
    return registration;
}

static void the_informer_waits_for_a_full_every_change_handler(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *registration = fill(&rig);
    waiter informer;

    (void)state;
    start_waiter(&informer, &rig);
    assert_string_equal(rig_pull(registration), "synced +a@6 ~a@6>7 ~a@7>8");
    end_waiter(&informer, KL_OK);
    assert_int_equal(kl__processor_wait_room(rig.processor, NULL), KL_OK);
    rig_end(&rig);
}

static void the_informer_stops_waiting_when_it_is_cancelled(void **state)
{
    processor_rig rig = rig_begin();
    waiter informer;

    (void)state;
    fill(&rig);
    start_waiter(&informer, &rig);
    kl__cancel_fire(&informer.cancel);
    end_waiter(&informer, KL_ECANCELED);
    rig_end(&rig);
}

static void the_informer_stops_waiting_for_a_removed_handler(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *registration = fill(&rig);
    waiter informer;

    (void)state;
    start_waiter(&informer, &rig);
    kl_registration_remove(registration);
    end_waiter(&informer, KL_OK);
    rig_end(&rig);
}

static void the_informer_stops_waiting_on_close(void **state)
{
    processor_rig rig = rig_begin();
    waiter informer;

    (void)state;
    fill(&rig);
    start_waiter(&informer, &rig);
    kl__processor_close(rig.processor);
    end_waiter(&informer, KL_ECLOSED);
    rig_end(&rig);
}

static void advance(processor_rig *rig, int64_t ms, int lines)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    kl__clock_advance(rig->clock, ms);
    while (rig_log_lines() < lines &&
           kl__clock_now(kl__clock_real()) < deadline) {
        sched_yield();
    }
    assert_int_equal(rig_log_lines(), lines);
    assert_true(kl__clock_await_waiters(rig->clock, 1));
}

static void the_log_names_the_slow_handler(void **state)
{
    processor_rig rig = rig_begin();
    kl_registration *registration = fill(&rig);
    waiter informer;

    (void)state;
    rig_log();
    start_waiter(&informer, &rig);
    advance(&rig, 999, 0);
    advance(&rig, 1, 1);
    assert_non_null(strstr(rig_log_line(), "handler exact"));
    advance(&rig, 59999, 1);
    advance(&rig, 1, 2);
    kl_registration_remove(registration);
    end_waiter(&informer, KL_OK);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_shows_every_event_in_order),
        cmocka_unit_test(null_callbacks_are_skipped),
        cmocka_unit_test(a_handler_may_remove_itself),
        cmocka_unit_test(two_handlers_may_remove_each_other_at_once),
        cmocka_unit_test(a_removal_on_another_thread_waits_for_the_callback),
        cmocka_unit_test(a_handler_may_read_the_cache_and_register_others),
        cmocka_unit_test(closing_ends_threads_and_drops_waiting_events),
        cmocka_unit_test(the_informer_waits_for_a_full_every_change_handler),
        cmocka_unit_test(the_informer_stops_waiting_when_it_is_cancelled),
        cmocka_unit_test(the_informer_stops_waiting_for_a_removed_handler),
        cmocka_unit_test(the_informer_stops_waiting_on_close),
        cmocka_unit_test(the_log_names_the_slow_handler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
