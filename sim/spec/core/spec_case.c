/*
 * spec_case.c - see spec_case.h; the main function of the simulator's specs.
 */
#include "spec_case.h"

enum { MOST_CASES = 64 };

static struct CMUnitTest cases[MOST_CASES];
static size_t count;
static CMFixtureFunction at_end;

void spec_add_case(const char *name, CMUnitTestFunction run,
                   CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    if (count == MOST_CASES) {
        abort();
    }
    cases[count++] = (struct CMUnitTest){name, run, set_up, tear_down, NULL};
}

void spec_set_end(CMFixtureFunction end)
{
    at_end = end;
}

int main(void)
{
    return _cmocka_run_group_tests("cases", cases, count, NULL, at_end);
}
