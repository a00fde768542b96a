/*
 * duration_spec.c - durations are read as Go reads them, and refused in its
 * words.
 */
#include "spec_case.h"
#include "sim/core/schema/duration.h"

#include <math.h>

PLAIN_CASE(numbers_with_units_add_up)
{
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {
        {"0", 0},      {"1s", 1},     {"1h5m", 3900},       {"1.5s", 1.5},
        {".5m", 30},   {"-2s", -2},   {"+3ms", 0.003},      {"1m1m", 120},
        {"1.h", 3600}, {"2us", 2e-6}, {"2\xc2\xb5s", 2e-6}, {"7ns", 7e-9}};
    double seconds;
    char why[256];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(
            kl__duration_read(rows[i].text, &seconds, why, sizeof(why)));
        assert_true(fabs(seconds - rows[i].seconds) < 1e-12);
    }
}

PLAIN_CASE(an_invalid_duration_is_refused_in_the_words_of_go)
{
    static const char *const rows[][2] = {
        {"abc", "time: invalid duration \"abc\""},
        {"", "time: invalid duration \"\""},
        {"-", "time: invalid duration \"-\""},
        {".s", "time: invalid duration \".s\""},
        {"5", "time: missing unit in duration \"5\""},
        {"1s5", "time: missing unit in duration \"1s5\""},
        {"5d", "time: unknown unit \"d\" in duration \"5d\""},
        {"1 s", "time: unknown unit \" s\" in duration \"1 s\""},
        {"9999999999s", "time: invalid duration \"9999999999s\""}};
    double seconds;
    char why[256];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_false(kl__duration_read(rows[i][0], &seconds, why, sizeof(why)));
        assert_string_equal(why, rows[i][1]);
    }
}
