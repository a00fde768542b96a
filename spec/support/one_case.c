/*
 * one_case.c - KUBELUA_CASE=PATTERN runs only cases whose names match, with *
 * and ?. It is linked into every spec and sets cmocka's filter before main.
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
