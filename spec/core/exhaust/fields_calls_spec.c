/*
 * fields_calls_spec.c - the calls of kubelua/fields.h, each with each of its
 * allocations failing.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubelua/fields.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static kl_code read_fields(void *world, kl_error *err)
{
    static const char *const paths[] = {"metadata.name", "spec.containers"};
    kl_fields *fields = kl_fields_new(paths, 2, err);

    if (fields != NULL && kl_fields_read(fields, world, err) == KL_OK &&
        kl_fields_value(fields, 1) == NULL) {
        kl_error_set(err, KL_EINVAL, "a field is missing");
    }
    kl_fields_free(fields);
    return err->code;
}

static const every_call calls[] = {
    REFUSES(kl_fields_new, read_fields),
    REFUSES(kl_fields_read, read_fields),
    REFUSES(kl_fields_value, read_fields),
    REFUSES(kl_fields_free, read_fields),
};

static void each_call_on_fields_survives_each_failed_allocation(void **state)
{
    kl_object *pod;

    (void)state;
    failing_alloc_install();
    pod = object_of("{\"metadata\":{\"name\":\"web\"},"
                    "\"spec\":{\"containers\":[{\"image\":\"x\"}]}}",
                    NULL);
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = pod});
    kl_object_unref(pod);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_on_fields_survives_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
