/*
 * every_call.c - see every_call.h.
 */
#include "every_call.h"

#include "failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SEEDS = 12, ENOUGH = 100000 };

/* One call with its stage, and the results so far. */
typedef struct attempt {
    const every_call *call;
    const every_call_stage *stage;
    bool refused;
} attempt;

static void describe(const attempt *a, const failing_plan *plan)
{
    if (plan->one_in > 0) {
        print_error("%s, 1 allocation of %u failing, seed %u: ", a->call->name,
                    plan->one_in, (unsigned)plan->seed);
        return;
    }
    print_error("%s, allocation %ld failing%s: ", a->call->name, plan->nth,
                plan->forever ? " with all after it" : "");
}

static kl_code run_once(const attempt *a, failing_plan plan, kl_error *err)
{
    void *world = a->stage->world;
    kl_code code;

    *err = (kl_error){0};
    if (a->call->prepare != NULL) {
        assert_int_equal(a->call->prepare(world, err), KL_OK);
    }
    failing_plan_follow(plan);
    code = a->call->run(world, err);
    failing_plan_pause();
    return code;
}

static void check_answer(attempt *a, const failing_plan *plan, kl_code code,
                         const kl_error *err)
{
    bool failed = failing_plan_failures() > 0;

    if (code == KL_OK) {
        return;
    }
    if (!failed || code != KL_ENOMEM || err->code != code ||
        err->message[0] == '\0') {
        describe(a, plan);
        print_error("%s, \"%s\" (%s)\n", kl_code_name(code), err->message,
                    kl_code_name(err->code));
        fail();
    }
    a->refused = true;
}

/* Runs the call with the plan; true if an allocation failed. If the plan made
 * only single allocations fail, runs the call once more without failures. (A
 * plan with `forever` skips this: the plan before it began at the same
 * allocation, and ended with such a run.) */
static bool try_once(attempt *a, failing_plan plan)
{
    long before = failing_alloc_live();
    kl_error err;
    kl_code code;
    bool failed;

    plan.only_here = a->stage->is_busy;
    code = run_once(a, plan, &err);
    failed = failing_plan_failures() > 0;
    check_answer(a, &plan, code, &err);
    if (!a->stage->is_busy && failing_alloc_live() != before) {
        describe(a, &plan);
        print_error("%ld blocks leaked\n", failing_alloc_live() - before);
        fail();
    }
    if (failed && a->stage->assert_whole != NULL) {
        a->stage->assert_whole(a->stage->world);
    }
    if (failed && !plan.forever &&
        run_once(a, (failing_plan){0}, &err) != KL_OK) {
        describe(a, &plan);
        print_error("afterwards without a failure: %s\n", err.message);
        fail();
    }
    return failed;
}

static void try_refusing(attempt *a)
{
    long nth = 0;
    bool more;

    do {
        nth++;
        assert_true(nth < ENOUGH);
        more = try_once(a, (failing_plan){.nth = nth});
        more = try_once(a, (failing_plan){.nth = nth, .forever = true}) || more;
    } while (more);
    for (unsigned i = 0; i < SEEDS; i++) {
        (void)try_once(a, (failing_plan){.one_in = 2 + i * i, .seed = i});
    }
    if (!a->refused) {
        print_error("%s was never refused memory\n", a->call->name);
    }
    assert_true(a->refused);
}

static void try_frugal(attempt *a)
{
    kl_error err;
    kl_code code = run_once(
        a, (failing_plan){.nth = 1, .forever = true, .only_here = true}, &err);

    if (code != KL_OK || failing_plan_count() > 0) {
        print_error("%s allocated %ld times: %s\n", a->call->name,
                    failing_plan_count(), kl_code_name(code));
        fail();
    }
    if (a->stage->assert_whole != NULL) {
        a->stage->assert_whole(a->stage->world);
    }
}

void every_call_try(const every_call *calls, size_t count,
                    const every_call_stage *stage)
{
    for (size_t i = 0; i < count; i++) {
        attempt a = {.call = &calls[i], .stage = stage};

        assert_non_null((void *)(uintptr_t)calls[i].function);
        if (calls[i].allocates) {
            try_refusing(&a);
        } else {
            try_frugal(&a);
        }
    }
}
