/*
 * processor_errors_spec.c - which handlers get an error of the stream, and how
 * often.
 */
#include "informer/processor.h"

#include "failing_alloc.h"
#include "pods.h"
#include "processor_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
