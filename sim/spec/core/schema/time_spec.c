/*
 * time_spec.c - times are written as they were read, in any year.
 */
#include "spec_case.h"
#include "sim/core/schema/time.h"

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
