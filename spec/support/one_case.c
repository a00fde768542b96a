/*
 * one_case.c - KUBELUA_CASE=PATTERN runs only the cases of a spec whose names
 * match it, with * and ?. It is linked into every spec, and set before main.
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

    if (pattern != NULL && pattern[0] != '\0') {
        cmocka_set_test_filter(pattern);
    }
}
