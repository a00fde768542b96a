/*
 * time_spec.c - times are written as they were read, in any year.
 */
#include "spec_case.h"

#include "sim/core/schema/time.h"

#include <math.h>
#include <time.h>

PLAIN_CASE(a_time_is_written_as_it_was_read)
{
    static const char *const times[] = {
        "0001-01-01T00:00:00Z", "1600-02-29T23:59:59Z", "1900-03-01T00:00:00Z",
        "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "2000-02-29T12:00:00Z",
        "2024-12-31T23:59:59Z", "2025-01-01T00:00:00Z", "9999-12-31T23:59:59Z"};
    char text[KL__TIME_SIZE], why[256];

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        kl__time time;

        assert_true(kl__time_read(times[i], false, &time, why, sizeof(why)));
        kl__time_write(&time, false, text);
        assert_string_equal(text, times[i]);
    }
}

PLAIN_CASE(microseconds_have_six_digits)
{
    static const char given[] = "2026-02-28T23:59:59.000120Z";
    char text[KL__TIME_SIZE], why[256];
    kl__time time;

    assert_true(kl__time_read(given, true, &time, why, sizeof(why)));
    assert_int_equal(time.microseconds, 120);
    kl__time_write(&time, true, text);
    assert_string_equal(text, given);
}

/* Both as kube-apiserver has them. */
PLAIN_CASE(times_with_a_comma_or_a_negative_year_are_read)
{
    char text[KL__TIME_SIZE], why[256];
    kl__time time;

    assert_true(kl__time_read("2020-01-01T00:00:00,123456Z", true, &time, why,
                              sizeof(why)));
    assert_int_equal(time.microseconds, 123456);
    assert_true(kl__time_read("0000-01-01T00:00:00+01:00", false, &time, why,
                              sizeof(why)));
    kl__time_write(&time, false, text);
    assert_string_equal(text, "-0001-12-31T23:00:00Z");
}

/* Every day of four centuries and a bit, at changing hours. */
PLAIN_CASE(dates_agree_with_the_c_library)
{
    enum { DAYS = 160000, DAY_SECONDS = 86400, STEP = 7919 };

    for (int day = -DAYS / 2; day < DAYS / 2; day++) {
        const time_t seconds =
            (time_t)day * DAY_SECONDS + (day & 7) * (time_t)STEP;
        const kl__time time = {seconds, 0};
        char text[KL__TIME_SIZE], expected[KL__TIME_SIZE];
        struct tm parts;

        gmtime_r(&seconds, &parts);
        strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%SZ", &parts);
        kl__time_write(&time, false, text);
        assert_string_equal(text, expected);
    }
}

/* ---- Durations are read as Go reads them, and refused in its words. ---- */

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
