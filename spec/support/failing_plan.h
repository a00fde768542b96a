/*
 * failing_plan.h - decides which allocations of a process fail. Allocators of
 * specs ask it before each allocation.
 */
#ifndef KL_SPEC_FAILING_PLAN_H
#define KL_SPEC_FAILING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Which allocations fail; zeroed: none. */
typedef struct failing_plan {
    /* the number of the first one that fails, from 1; 0: none */
    long nth;
    bool forever;    /* and all after it */
    unsigned one_in; /* each fails with a chance of one in so many; 0: none */
    uint64_t seed;   /* the seed of that chance */
    bool only_here;  /* only allocations of the thread that sets the plan */
    bool not_here;   /* only allocations of other threads */
} failing_plan;

/* From now on allocations fail by this plan. */
void failing_plan_follow(failing_plan plan);

/* From now on no allocation fails or is counted, so that the counts can be
 * read. */
void failing_plan_pause(void);

/* The hook runs on the thread whose allocation fails, before it returns NULL;
 * NULL: no hook. */
void failing_plan_on_failure(void (*hook)(void *arg), void *arg);

/* How many allocations the plan has decided on; and how many of these
 * failed. */
long failing_plan_count(void);
long failing_plan_failures(void);

/* True if an allocation that is about to be made on this thread must fail; it
 * is counted. For allocators of other libraries, such as Lua's. */
bool failing_plan_must_fail(void);

#endif
