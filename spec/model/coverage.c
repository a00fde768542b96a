/*
 * coverage.c - see coverage.h.
 */
#include "coverage.h"

static uint64_t *counts_now;

void coverage_into(uint64_t *counts)
{
    counts_now = counts;
}

void coverage_add(coverage_kind kind, uint64_t count)
{
    counts_now[kind] += count;
}

const char *coverage_name(coverage_kind kind)
{
    static const char *const names[] = {
#define COVERAGE_NAME(constant, what) what,
        COVERAGE(COVERAGE_NAME)
#undef COVERAGE_NAME
    };

    return names[kind];
}
