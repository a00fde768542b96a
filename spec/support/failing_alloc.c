/*
 * failing_alloc.c - see failing_alloc.h. The counters are atomic: what is
 * tried may allocate on threads of its own.
 */
#include "failing_alloc.h"

#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static atomic_long live_blocks;
static atomic_long allocations; /* since failing_alloc_follow */
static atomic_long failures;    /* of these */

/* The plan, field by field: other threads allocate while it changes. */
static atomic_long first;
static atomic_bool all_after;
static atomic_uint one_in;
static _Atomic uint64_t seed;
static atomic_bool only_here;
static atomic_bool not_here;
static atomic_bool is_armed;

/* Changed while nothing fails. */
static void (*failure_hook)(void *arg);
static void *failure_arg;

/* Whether this thread is the one that the plan means. */
static _Thread_local bool is_here;

/* A number like any other, of the seed and a position (splitmix64). */
static uint64_t scatter(uint64_t position)
{
    uint64_t mixed = atomic_load(&seed) + position * 0x9e3779b97f4a7c15U;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

bool failing_alloc_must_fail(void)
{
    long number, nth = atomic_load(&first);
    unsigned sides = atomic_load(&one_in);
    bool fails;

    if (!atomic_load(&is_armed) || (atomic_load(&only_here) && !is_here) ||
        (atomic_load(&not_here) && is_here)) {
        return false;
    }
    number = atomic_fetch_add(&allocations, 1) + 1;
    fails =
        nth > 0 && (number == nth || (number > nth && atomic_load(&all_after)));
    fails = fails || (sides > 0 && scatter((uint64_t)number) % sides == 0);
    if (fails) {
        atomic_fetch_add(&failures, 1);
        if (failure_hook != NULL) {
            failure_hook(failure_arg);
        }
    }
    return fails;
}

static void *counting_malloc(size_t size)
{
    void *block = failing_alloc_must_fail() ? NULL : malloc(size);

    if (block != NULL) {
        atomic_fetch_add(&live_blocks, 1);
    }
    return block;
}

static void *counting_realloc(void *block, size_t size)
{
    void *moved = failing_alloc_must_fail() ? NULL : realloc(block, size);

    if (moved != NULL && block == NULL) {
        atomic_fetch_add(&live_blocks, 1);
    }
    return moved;
}

static void counting_free(void *block)
{
    if (block != NULL) {
        atomic_fetch_sub(&live_blocks, 1);
        free(block);
    }
}

void failing_alloc_resume(void)
{
    static const kl_allocator counting = {counting_malloc, counting_realloc,
                                          counting_free};

    kl_set_allocator(&counting);
}

void failing_alloc_install(void)
{
    failing_alloc_fail_at(0, 0);
    atomic_store(&live_blocks, 0);
    failing_alloc_resume();
}

void failing_alloc_uninstall(void)
{
    kl_set_allocator(NULL);
}

void failing_alloc_follow(failing_plan plan)
{
    atomic_store(&is_armed, false);
    is_here = plan.only_here || plan.not_here;
    atomic_store(&first, plan.nth);
    atomic_store(&all_after, plan.forever);
    atomic_store(&one_in, plan.one_in);
    atomic_store(&seed, plan.seed);
    atomic_store(&only_here, plan.only_here);
    atomic_store(&not_here, plan.not_here);
    atomic_store(&allocations, 0);
    atomic_store(&failures, 0);
    atomic_store(&is_armed, true);
}

void failing_alloc_pause(void)
{
    atomic_store(&is_armed, false);
}

void failing_alloc_on_failure(void (*hook)(void *arg), void *arg)
{
    failure_hook = hook;
    failure_arg = arg;
}

long failing_alloc_count(void)
{
    return atomic_load(&allocations);
}

long failing_alloc_failures(void)
{
    return atomic_load(&failures);
}

void failing_alloc_fail_at(long nth, int forever)
{
    failing_alloc_follow((failing_plan){.nth = nth, .forever = forever != 0});
}

int failing_alloc_has_failed(void)
{
    return failing_alloc_failures() > 0 ? 1 : 0;
}

long failing_alloc_live(void)
{
    return atomic_load(&live_blocks);
}

/* One run; returns whether the failure that was asked for came about. */
static bool try_once(failing_alloc_fn run, void *context, long nth,
                     bool forever, bool *refused)
{
    long before = failing_alloc_live();
    kl_code code;
    bool failed;

    failing_alloc_fail_at(nth, forever);
    code = run(context);
    failed = failing_alloc_has_failed();
    failing_alloc_fail_at(0, 0);
    if (failing_alloc_live() != before) {
        print_error("allocation %ld failed%s: %ld blocks leaked\n", nth,
                    forever ? " with all after it" : "",
                    failing_alloc_live() - before);
    }
    assert_int_equal(failing_alloc_live(), before);
    if (code != KL_OK && (code != KL_ENOMEM || !failed)) {
        print_error("allocation %ld failed%s: code %s\n", nth,
                    forever ? " with all after it" : "", kl_code_name(code));
        assert_int_equal(code, failed ? KL_ENOMEM : KL_OK);
    }
    *refused = *refused || code == KL_ENOMEM;
    return failed;
}

long failing_alloc_each(failing_alloc_fn run, void *context)
{
    bool refused = false;
    long nth = 0;
    bool more;

    failing_alloc_install();
    do {
        nth++;
        more = try_once(run, context, nth, false, &refused);
        more = try_once(run, context, nth, true, &refused) || more;
    } while (more);
    failing_alloc_uninstall();
    assert_true(refused);
    return nth - 1;
}
