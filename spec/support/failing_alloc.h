/*
 * failing_alloc.h - an allocator for specs that counts live blocks and fails on
 * command: a call is run once for each allocation that it makes.
 */
#ifndef KL_SPEC_FAILING_ALLOC_H
#define KL_SPEC_FAILING_ALLOC_H

#include "failing_plan.h"
#include "kubelua/error.h"

/* The first function makes this allocator KubeLua's, and lets no allocation
 * fail; the second restores the default allocator. A block may be allocated by
 * one and freed by the other, as both use malloc. */
void failing_alloc_install(void);
void failing_alloc_uninstall(void);

/* Installs it again after a spec has set another allocator; the counters
 * stay. */
void failing_alloc_resume(void);

/* Makes the nth allocation from now on fail (1: the next one), on any thread;
 * 0: none. `forever`: all after it fail too. */
void failing_alloc_fail_at(long nth, int forever);

/* True if an allocation has failed since the last failing_alloc_fail_at. */
int failing_alloc_has_failed(void);

/* How many blocks were allocated since failing_alloc_install and not freed. */
long failing_alloc_live(void);

/* A function that is tried: it undoes its effect, and returns the call's
 * result. */
typedef kl_code (*failing_alloc_fn)(void *context);

/*
 * Installs the allocator, then runs `run(context)` with its first allocation
 * failing, then its second, and so on until a run needs no more: each once with
 * that allocation alone, and once with all after it too. Asserts (cmocka) that
 * each run returned KL_ENOMEM, or KL_OK if the call can do without; that every
 * block was freed; that the run without a failure returned KL_OK; and that at
 * least one returned KL_ENOMEM. Returns how many allocations a run makes.
 */
long failing_alloc_each(failing_alloc_fn run, void *context);

#endif
