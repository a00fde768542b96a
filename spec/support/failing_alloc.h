/*
 * failing_alloc.h - an allocator for specs that counts live blocks and fails
 * when told to: every public call is run once for each allocation it makes.
 */
#ifndef KL_SPEC_FAILING_ALLOC_H
#define KL_SPEC_FAILING_ALLOC_H

#include "failing_plan.h"
#include "kubelua/error.h"

/* Makes it the library's allocator, failing nothing; and the C library's
 * again. Blocks may cross over: both take their memory from malloc. */
void failing_alloc_install(void);
void failing_alloc_uninstall(void);

/* Makes it the allocator again after somebody set another one; the counters
 * stay. */
void failing_alloc_resume(void);

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
