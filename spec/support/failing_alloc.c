/*
 * failing_alloc.c - see failing_alloc.h.
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

static void *counting_malloc(size_t size)
{
    void *block = failing_plan_must_fail() ? NULL : malloc(size);

    if (block != NULL) {
        atomic_fetch_add(&live_blocks, 1);
    }
    return block;
}

static void *counting_realloc(void *block, size_t size)
{
    void *moved = failing_plan_must_fail() ? NULL : realloc(block, size);

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

void failing_alloc_fail_at(long nth, int forever)
{
    failing_plan_follow((failing_plan){.nth = nth, .forever = forever != 0});
}

int failing_alloc_has_failed(void)
{
    return failing_plan_failures() > 0 ? 1 : 0;
}

long failing_alloc_live(void)
{
    return atomic_load(&live_blocks);
}

/* One run; true if the planned allocation was reached, and failed. */
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
