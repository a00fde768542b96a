/*
 * processor_memory_spec.c - what handlers are told without memory they are told
 * later, and one that is removed while it joins never begins.
 */
#include "informer/processor_members.h"

#include "base/clock.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "pods.h"
#include "processor_rig.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void begin_to_fail(void)
{
    failing_alloc_install();
    failing_plan_follow((failing_plan){.nth = 1, .forever = true});
}

static void end_failing(void)
{
    failing_plan_pause();
    failing_alloc_uninstall();
}

static void a_resync_without_memory_stays_due(void **state)
{
    const kl_handler_options options = {.resync_ms = 1000};
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, &options);

    (void)state;
    rig_apply(&rig, KL__DELTA_ADDED, pod("a", "1", 1));
    rig_replace(&rig, (kl_object_list){0}, "5");
    rig_apply(&rig, KL__DELTA_ADDED, pod("b", "1", 6));
    (void)rig_pull(handler);
    kl__clock_advance(rig.clock, 1000);
    begin_to_fail();
    assert_int_equal(kl__processor_resync(rig.processor), KL_ENOMEM);
    end_failing();
    assert_int_equal(kl__processor_next_resync(rig.processor), 1500);
    kl__clock_advance(rig.clock, 500);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_int_equal(kl__processor_next_resync(rig.processor), 2500);
    assert_string_equal(rig_pull(handler), "=b@6>6");
    rig_end(&rig);
}

static void an_error_without_memory_is_delivered_later(void **state)
{
    kl_error error = {0};
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    kl_error_set(&error, KL_EFORBIDDEN, "no");
    begin_to_fail();
    rig_fail(&rig, &error);
    assert_int_equal(kl__processor_next_resync(rig.processor), 500);
    kl__clock_advance(rig.clock, 500);
    assert_int_equal(kl__processor_resync(rig.processor), KL_ENOMEM);
    end_failing();
    assert_string_equal(rig_pull(handler), "");
    kl__clock_advance(rig.clock, 500);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_int_equal(kl__processor_next_resync(rig.processor), -1);
    assert_string_equal(rig_pull(handler), "error:no");
    rig_end(&rig);
}

static void an_error_that_is_over_is_not_delivered_later(void **state)
{
    kl_error error = {0};
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    kl_error_set(&error, KL_EFORBIDDEN, "no");
    begin_to_fail();
    rig_fail(&rig, &error);
    end_failing();
    kl__health_forget(rig.health);
    rig_replace(&rig, (kl_object_list){0}, "5");
    kl__clock_advance(rig.clock, 500);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_int_equal(kl__processor_next_resync(rig.processor), -1);
    assert_string_equal(rig_pull(handler), "synced");
    rig_end(&rig);
}

/* A thread that removes a registration before it has got its first events. */
typedef struct remover {
    processor_rig *rig;
    kl__thread thread;
    atomic_bool has_begun;
} remover;

static void *remove_all(void *arg)
{
    remover *self = arg;

    kl__processor_remove_owner(self->rig->processor, self->rig, NULL);
    return NULL;
}

static bool has_members(kl__processor *processor)
{
    bool has_any;

    kl__mutex_lock(&processor->listeners);
    has_any = !kl__list_empty(&processor->registrations);
    kl__mutex_unlock(&processor->listeners);
    return has_any;
}

/* Runs on the joining thread, once it is a member and lacks memory. */
static void remove_meanwhile(void *arg)
{
    remover *self = arg;

    if (atomic_exchange(&self->has_begun, true)) {
        return;
    }
    failing_plan_pause();
    assert_int_equal(
        kl__thread_start(&self->thread, "remover", remove_all, self, NULL),
        KL_OK);
    while (has_members(self->rig->processor)) {
        sched_yield();
    }
}

static void count_drop(void *context)
{
    (void)context;
    fail();
}

static void try_to_join(processor_rig *rig, const kl__subscriber *subscriber,
                        long nth)
{
    remover removing = {.rig = rig};
    kl_error err = {0};

    failing_alloc_install();
    failing_plan_on_failure(remove_meanwhile, &removing);
    failing_plan_follow(
        (failing_plan){.nth = nth, .forever = true, .only_here = true});
    assert_null(kl__processor_add(rig->processor, subscriber, &err));
    assert_int_equal(err.code, KL_ENOMEM);
    kl__thread_join(&removing.thread);
    failing_plan_on_failure(NULL, NULL);
    end_failing();
}

/* Allocations of a registration, its name and, with a handler, its thread; the
 * one after them is of its first events. */
enum { TO_SUBSCRIBE = 2, TO_HANDLE = 3 };

static void a_removal_while_adding_fails_ends_it_once(void **state)
{
    processor_rig rig = rig_begin();
    const kl_handler handler = {.drop_context = count_drop};
    const kl__subscriber subscriber = {.queue = rig.queue, .owner = &rig};
    const kl__subscriber handling = {.handler = &handler, .owner = &rig};

    (void)state;
    rig_replace(&rig, (kl_object_list){0}, "5");
    rig_apply(&rig, KL__DELTA_ADDED, pod("a", "1", 6));
    try_to_join(&rig, &subscriber, TO_SUBSCRIBE + 2);
    try_to_join(&rig, &handling, TO_HANDLE + 2);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
    rig_end(&rig);
}

/* The remover that runs while this thread joins, once it is a member. */
static _Thread_local remover *meanwhile;

static void *allocate(size_t size)
{
    if (meanwhile != NULL && has_members(meanwhile->rig->processor)) {
        remover *removing = meanwhile;

        meanwhile = NULL;
        remove_meanwhile(removing);
    }
    return malloc(size);
}

/* Memory for its first events is there, but its owner closes before it gets
 * them. */
static void is_removed_while_it_joins(processor_rig *rig,
                                      const kl__subscriber *subscriber)
{
    const kl_allocator allocator = {allocate, realloc, free};
    remover removing = {.rig = rig};
    kl_error err = {0};

    kl_set_allocator(&allocator);
    meanwhile = &removing;
    assert_null(kl__processor_add(rig->processor, subscriber, &err));
    assert_null(meanwhile);
    assert_int_equal(err.code, KL_ECLOSED);
    kl__thread_join(&removing.thread);
    kl_set_allocator(NULL);
}

static void a_registration_removed_while_added_runs_no_callback(void **state)
{
    processor_rig rig = rig_begin();
    const kl_handler handler = {.drop_context = count_drop};
    const kl__subscriber subscriber = {.queue = rig.queue, .owner = &rig};
    const kl__subscriber handling = {.handler = &handler, .owner = &rig};

    (void)state;
    rig_replace(&rig, pod_list(1, pod("a", "1", 1)), "5");
    is_removed_while_it_joins(&rig, &subscriber);
    is_removed_while_it_joins(&rig, &handling);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
    assert_null(kl_event_queue_next(rig.queue));
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resync_without_memory_stays_due),
        cmocka_unit_test(an_error_without_memory_is_delivered_later),
        cmocka_unit_test(an_error_that_is_over_is_not_delivered_later),
        cmocka_unit_test(a_removal_while_adding_fails_ends_it_once),
        cmocka_unit_test(a_registration_removed_while_added_runs_no_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
