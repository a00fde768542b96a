/*
 * processor_memory_spec.c - what handlers could not be told for want of memory
 * they are told later.
 */
#include "informer/processor.h"

#include "base/clock.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "pods.h"
#include "processor_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void begin_to_fail(void)
{
    failing_alloc_install();
    failing_alloc_follow((failing_plan){.nth = 1, .forever = true});
}

static void end_failing(void)
{
    failing_alloc_pause();
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

static void an_error_without_memory_is_told_later(void **state)
{
    kl_error error = {0};
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    kl_error_set(&error, KL_EFORBIDDEN, "no");
    begin_to_fail();
    kl__processor_error(rig.processor, &error);
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

static void an_error_that_is_over_is_not_told_later(void **state)
{
    kl_error error = {0};
    processor_rig rig = rig_begin();
    kl_registration *handler = rig_subscribe(&rig, &rig, NULL);

    (void)state;
    kl_error_set(&error, KL_EFORBIDDEN, "no");
    begin_to_fail();
    kl__processor_error(rig.processor, &error);
    end_failing();
    rig_replace(&rig, (kl_object_list){0}, "5");
    assert_int_equal(kl__processor_next_resync(rig.processor), -1);
    assert_int_equal(kl__processor_resync(rig.processor), KL_OK);
    assert_string_equal(rig_pull(handler), "synced");
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_resync_without_memory_stays_due),
        cmocka_unit_test(an_error_without_memory_is_told_later),
        cmocka_unit_test(an_error_that_is_over_is_not_told_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
