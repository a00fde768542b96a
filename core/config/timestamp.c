/*
 * timestamp.c - see timestamp.h.
 */
#include "config/timestamp.h"

#include "kubelua/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Reads exactly `count` digits and the byte `after` them ('\0': none). */
static bool read_number(const char **text, int count, int *out, char after)
{
    *out = 0;
    for (; count > 0; count--, (*text)++) {
        if (!isdigit((unsigned char)**text)) {
            return false;
        }
        *out = *out * 10 + (**text - '0');
    }
    if (after != '\0' && toupper((unsigned char)**text) != after) {
        return false;
    }
    *text += after != '\0';
    return true;
}

/* Reads ".678" as nanoseconds; digits after the ninth are ignored. Without a
 * fraction the result is 0. */
static bool read_fraction(const char **text, int32_t *nanoseconds)
{
    int weight = 100000000;

    *nanoseconds = 0;
    if (**text != '.') {
        return true;
    }
    if (!isdigit((unsigned char)*++*text)) {
        return false;
    }
    for (; isdigit((unsigned char)**text); (*text)++, weight /= 10) {
        *nanoseconds += (**text - '0') * weight;
    }
    return true;
}

/* Reads "Z" or "+01:00" as minutes east of Greenwich; the text must end
 * there. */
static bool read_zone(const char *text, int *minutes)
{
    int sign = *text == '-' ? -1 : 1;
    int hour, minute;

    *minutes = 0;
    if (toupper((unsigned char)*text) == 'Z') {
        return text[1] == '\0';
    }
    if (*text != '+' && *text != '-') {
        return false;
    }
    text++;
    if (!read_number(&text, 2, &hour, ':') ||
        !read_number(&text, 2, &minute, '\0') || *text != '\0' || hour > 23 ||
        minute > 59) {
        return false;
    }
    *minutes = sign * (hour * 60 + minute);
    return true;
}

/* Days since 1970 in the Gregorian calendar. The computation lets a year begin
 * in March, so that the leap day is the last day of a year. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = month > 2 ? month - 3 : month + 9;

    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 -
           719468;
}

typedef struct calendar_day {
    int64_t year;
    int month;
    int day;
} calendar_day;

/* The reverse of days_since_1970. It counts in eras of 400 years (146,097
 * days), which begin in March. */
static calendar_day day_after_1970(int64_t days)
{
    int64_t since = days + 719468; /* days since 1 March 0000 */
    int64_t era = (since >= 0 ? since : since - 146096) / 146097;
    int64_t of_era = since - era * 146097;
    int64_t year =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int of_year = (int)(of_era - (year * 365 + year / 4 - year / 100));
    int month = (5 * of_year + 2) / 153;

    return (calendar_day){
        .year = year + era * 400 + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = of_year - (153 * month + 2) / 5 + 1,
    };
}

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && is_leap);
}

static const int64_t DAY = 86400;
/* The beginnings of the years 1 and 10000, in seconds since 1970. */
static const int64_t YEAR_1 = -62135596800;
static const int64_t YEAR_10000 = 253402300800;

/* True if `seconds` is the midnight at the end of a month in UTC: only there a
 * leap second, :60, is allowed. */
static bool ends_month(int64_t seconds)
{
    return seconds % DAY == 0 && day_after_1970(seconds / DAY).day == 1;
}

static bool read_time(const char *text, kl_time *out)
{
    int year, month, day, hour, minute, second, zone;
    int64_t days;

    if (!read_number(&text, 4, &year, '-') ||
        !read_number(&text, 2, &month, '-') ||
        !read_number(&text, 2, &day, 'T') ||
        !read_number(&text, 2, &hour, ':') ||
        !read_number(&text, 2, &minute, ':') ||
        !read_number(&text, 2, &second, '\0') ||
        !read_fraction(&text, &out->nanoseconds) || !read_zone(text, &zone)) {
        return false;
    }
    if (year < 1 || month < 1 || month > 12 || day < 1 ||
        day > days_of_month(year, month) || hour > 23 || minute > 59 ||
        second > 60) {
        return false;
    }
    days = days_since_1970(year, month, day);
    out->seconds = days * DAY + (hour * 60 + minute - zone) * 60 + second;
    return second < 60 || ends_month(out->seconds);
}

kl_code kl_time_parse(const char *text, kl_time *out, kl_error *err)
{
    kl_time time;

    if (!read_time(text, &time)) {
        return kl_error_set(err, KL_EPARSE,
                            "'%.100s' is no time of RFC 3339, such as "
                            "2026-11-22T10:00:00Z or "
                            "2026-11-22T11:00:00.5+01:00",
                            text);
    }
    *out = time;
    return KL_OK;
}

kl_code kl_time_format(kl_time time, int digits, char out[KL_TIME_SIZE],
                       kl_error *err)
{
    int64_t second = (time.seconds % DAY + DAY) % DAY;
    calendar_day day;
    int length;

    if (time.seconds < YEAR_1 || time.seconds >= YEAR_10000) {
        return kl_error_set(err, KL_EINVAL,
                            "RFC 3339 has times of the years 0001 to 9999, and "
                            "this is one of %lld seconds since 1970",
                            (long long)time.seconds);
    }
    if ((digits != 0 && digits != 6) || time.nanoseconds < 0 ||
        time.nanoseconds > 999999999) {
        return kl_error_set(err, KL_EINVAL,
                            "Kubernetes writes times in whole seconds, or with "
                            "6 digits of a second");
    }
    day = day_after_1970((time.seconds - second) / DAY);
    length = snprintf(out, KL_TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d",
                      (int)day.year, day.month, day.day, (int)(second / 3600),
                      (int)(second / 60 % 60), (int)(second % 60));
    if (digits == 6) {
        length += snprintf(out + length, KL_TIME_SIZE - (size_t)length, ".%06d",
                           (int)(time.nanoseconds / 1000));
    }
    memcpy(out + length, "Z", 2);
    return KL_OK;
}

bool kl__timestamp_parse(const char *text, int64_t *ms)
{
    kl_time time;

    if (!read_time(text, &time)) {
        return false;
    }
    *ms = time.seconds * 1000 + time.nanoseconds / 1000000;
    return true;
}

int64_t kl__timestamp_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
