/*
 * one_case.c - KUBELUA_CASE=PATTERN runs only cases whose names match, with *
 * and ?; KUBELUA_SKIP=PATTERN all others. It is linked into every spec and sets
 * cmocka's filters before main.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void choose_cases(void)
{
    const char *pattern = getenv("KUBELUA_CASE");
    const char *skipped = getenv("KUBELUA_SKIP");

    if (pattern != NULL && pattern[0] != '\0') {
        cmocka_set_test_filter(pattern);
    }
    if (skipped != NULL && skipped[0] != '\0') {
        cmocka_set_skip_filter(skipped);
    }
}
