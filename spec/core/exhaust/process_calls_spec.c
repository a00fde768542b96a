/*
 * process_calls_spec.c - every public call on programs, with each allocation
 * failing on the thread that makes it: the caller's thread, or the thread that
 * waits for the program.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "kubelua/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const cat[] = {"cat", NULL};

/* Each run has a queue of its own. */
typedef struct world {
    kl_event_queue *queue;
} world;

static kl_code begin(void *world_, kl_error *err)
{
    world *self = world_;

    self->queue = kl_event_queue_new(err);
    return self->queue != NULL ? KL_OK : err->code;
}

static kl_process *start_cat(world *self, kl_error *err)
{
    return kl_process_start(
        &(kl_process_options){.args = cat, .input = "text", .input_length = 4},
        self->queue, self, err);
}

static void await_end(world *self, kl_process *process)
{
    while (kl_event_queue_next(self->queue) != self) {
        assert_int_equal(kl_event_queue_wait(self->queue, 60000), KL_OK);
    }
    assert_true(kl_process_is_complete(process));
}

static kl_code run_cat(void *world_, kl_error *err)
{
    world *self = world_;
    kl_process *process = start_cat(self, err);
    kl_process_outcome outcome;
    kl_code code = err->code;

    if (process != NULL) {
        await_end(self, process);
        code = kl_process_result(process, &outcome, err);
        assert_true(code != KL_OK || strcmp(outcome.output, "text") == 0);
    }
    kl_process_free(process);
    kl_event_queue_free(self->queue);
    return code;
}

static kl_code cancel_cat(void *world_, kl_error *err)
{
    world *self = world_;
    kl_process *process = start_cat(self, err);
    kl_code code = err->code;

    if (process != NULL) {
        kl_process_cancel(process);
        await_end(self, process);
        code = KL_OK;
    }
    kl_process_free(process);
    kl_event_queue_free(self->queue);
    return code;
}

static const every_call calls[] = {
    REFUSES_AFTER(kl_process_start, run_cat, begin),
    REFUSES_AFTER(kl_process_is_complete, run_cat, begin),
    REFUSES_AFTER(kl_process_result, run_cat, begin),
    REFUSES_AFTER(kl_process_free, run_cat, begin),
    REFUSES_AFTER(kl_process_cancel, cancel_cat, begin),
};

static void each_call_on_programs_survives_each_failed_allocation(void **state)
{
    world self = {0};

    (void)state;
    failing_alloc_install();
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &self});
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_on_programs_survives_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
