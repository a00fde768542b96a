/*
 * failing_alloc.h - an allocator for specs that counts live blocks and fails
 * when told to: every public call is run once for each allocation it makes.
 */
#ifndef KL_SPEC_FAILING_ALLOC_H
#define KL_SPEC_FAILING_ALLOC_H

#include "kubelua/error.h"

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

/* Makes it the library's allocator, failing nothing; and the C library's
 * again. Blocks may cross over: both take their memory from malloc. */
void failing_alloc_install(void);
void failing_alloc_uninstall(void);

/* Makes it the allocator again after somebody set another one; the counters
 * stay. */
void failing_alloc_resume(void);

/* From now on allocations fail as the plan says. */
void failing_alloc_follow(failing_plan plan);

/* From now on none fails, and none is counted: what was counted can be read. */
void failing_alloc_pause(void);

/* Runs on the thread whose allocation fails, before it is told; NULL: none. */
void failing_alloc_on_failure(void (*hook)(void *arg), void *arg);

/* How many allocations the plan has looked at; and how many of them failed. */
long failing_alloc_count(void);
long failing_alloc_failures(void);

/* Whether the allocation that somebody else is about to make for the thread it
 * runs on is to fail; counted like the library's own. */
bool failing_alloc_must_fail(void);

/* The nth allocation from now on fails, whichever thread makes it (1: the next
 * one); 0: none. `forever`: all those after it fail too. */
void failing_alloc_fail_at(long nth, int forever);

/* Whether an allocation has failed since the last failing_alloc_fail_at. */
int failing_alloc_has_failed(void);

/* Blocks that were allocated and not freed since failing_alloc_install. */
long failing_alloc_live(void);

/* What is tried: it undoes all that it did and returns what came of it. */
typedef kl_code (*failing_alloc_fn)(void *context);

/*
 * Installs the allocator, then runs `run(context)` with its first allocation
 * failing, then with the second, and so on until a run needs no more; each
 * once with that allocation alone failing, and once with all after it failing
 * too. Asserts (cmocka) that each of them returned KL_ENOMEM, or KL_OK where
 * the call can do without, that every block was freed, that the run without a
 * failure returns KL_OK, and that at least one returned KL_ENOMEM. Returns how
 * many allocations a run makes.
 */
long failing_alloc_each(failing_alloc_fn run, void *context);

#endif
