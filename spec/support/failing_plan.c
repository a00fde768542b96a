/*
 * failing_plan.c - see failing_plan.h. The counters are atomic, as the tested
 * call may allocate on other threads.
 */
#include "failing_plan.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_long allocations; /* since failing_plan_follow */
static atomic_long failures;    /* how many of these failed */

/* The plan, one variable for each field: other threads allocate while it
 * changes. */
static atomic_long first;
static atomic_bool all_after;
static atomic_uint one_in;
static _Atomic uint64_t seed;
static atomic_bool only_here;
static atomic_bool not_here;
static atomic_bool is_armed;

/* Set only while nothing fails. */
static void (*failure_hook)(void *arg);
static void *failure_arg;

/* True on the thread that the plan is about. */
static _Thread_local bool is_here;

/* A pseudo-random number from the seed and a position (splitmix64). */
static uint64_t scatter(uint64_t position)
{
    uint64_t mixed = atomic_load(&seed) + position * 0x9e3779b97f4a7c15U;

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31);
}

bool failing_plan_must_fail(void)
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

void failing_plan_follow(failing_plan plan)
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

void failing_plan_pause(void)
{
    atomic_store(&is_armed, false);
}

void failing_plan_on_failure(void (*hook)(void *arg), void *arg)
{
    failure_hook = hook;
    failure_arg = arg;
}

long failing_plan_count(void)
{
    return atomic_load(&allocations);
}

long failing_plan_failures(void)
{
    return atomic_load(&failures);
}
