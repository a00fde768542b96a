/*
 * timestamp.c - see timestamp.h.
 */
#include "config/timestamp.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

/* Reads exactly `count` digits and the byte after them. */
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

/* ".678", of which milliseconds count; nothing is 0. */
static bool read_fraction(const char **text, int *ms)
{
    int weight = 100;

    *ms = 0;
    if (**text != '.') {
        return true;
    }
    if (!isdigit((unsigned char)*++*text)) {
        return false;
    }
    for (; isdigit((unsigned char)**text); (*text)++, weight /= 10) {
        *ms += (**text - '0') * weight;
    }
    return true;
}

/* "Z" or "+01:00", in minutes east of Greenwich; then the text must end. */
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

/* Days since 1970 in the Gregorian calendar: the year begins in March, so that
 * the leap day is its last. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t m = month > 2 ? month - 3 : month + 9;

    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 -
           719468;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && is_leap);
}

bool kl__timestamp_parse(const char *text, int64_t *ms)
{
    int year, month, day, hour, minute, second, fraction, zone;

    if (!read_number(&text, 4, &year, '-') ||
        !read_number(&text, 2, &month, '-') ||
        !read_number(&text, 2, &day, 'T') ||
        !read_number(&text, 2, &hour, ':') ||
        !read_number(&text, 2, &minute, ':') ||
        !read_number(&text, 2, &second, '\0') ||
        !read_fraction(&text, &fraction) || !read_zone(text, &zone)) {
        return false;
    }
    if (year < 1 || month < 1 || month > 12 || day < 1 ||
        day > days_in(year, month) || hour > 23 || minute > 59 || second > 60) {
        return false;
    }
    *ms =
        ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute - zone) *
            60000 +
        second * 1000 + fraction;
    return true;
}

int64_t kl__timestamp_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
