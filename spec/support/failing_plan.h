/*
 * failing_plan.h - which of the allocations of a process fail: for allocators
 * of specs, which ask before each.
 */
#ifndef KL_SPEC_FAILING_PLAN_H
#define KL_SPEC_FAILING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Which allocations fail. Zeroed: none. */
typedef struct failing_plan {
    long nth;        /* the first that fails, from 1; 0: none by its number */
    bool forever;    /* and all those after it */
    unsigned one_in; /* by chance, one of so many; 0: none by chance */
    uint64_t seed;   /* of that chance */
    bool only_here;  /* those of the thread that asks for it, no others */
    bool not_here;   /* those of all threads but this one */
} failing_plan;

/* From now on allocations fail as the plan says. */
void failing_plan_follow(failing_plan plan);

/* From now on none fails, and none is counted: what was counted can be read. */
void failing_plan_pause(void);

/* Runs on the thread whose allocation fails, before it is told; NULL: none. */
void failing_plan_on_failure(void (*hook)(void *arg), void *arg);

/* How many allocations the plan has looked at; and how many of them failed. */
long failing_plan_count(void);
long failing_plan_failures(void);

/* Whether the allocation that somebody else is about to make for the thread it
 * runs on is to fail; counted like the library's own. */
bool failing_plan_must_fail(void);

#endif
