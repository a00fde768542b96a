/*
 * time.c - see time.h. Like Go, it compares the text with a layout, piece by
 * piece. The message names the first piece that does not fit, and the rest of
 * the text.
 */
#include "sim/core/schema/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct progress {
    const char *text;
    const char *at;
    const char *layout;
    char *why;
    size_t size;
} progress;

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool refuse_piece(const progress *reading, const char *piece)
{
    snprintf(reading->why, reading->size,
             "parsing time \"%.200s\" as \"%s\": cannot parse \"%.200s\" as "
             "\"%s\"",
             reading->text, reading->layout, reading->at, piece);
    return false;
}

static bool out_of_range(const progress *reading, const char *what)
{
    snprintf(reading->why, reading->size,
             "parsing time \"%.200s\": %s out of range", reading->text, what);
    return false;
}

static bool read_literal(progress *reading, char byte)
{
    char piece[2] = {byte, '\0'};

    if (*reading->at != byte) {
        return refuse_piece(reading, piece);
    }
    reading->at++;
    return true;
}

/* Reads as many digits as `piece` has characters; with `lenient`, also a single
 * digit. */
static bool read_digits_of(progress *reading, const char *piece, int *value,
                           bool lenient)
{
    size_t count = strlen(piece);

    if (lenient && is_digit(reading->at[0]) && !is_digit(reading->at[1])) {
        count = 1;
    }
    *value = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_digit(reading->at[i])) {
            return refuse_piece(reading, piece);
        }
        *value = *value * 10 + (reading->at[i] - '0');
    }
    reading->at += count;
    return true;
}

static bool read_fraction(progress *reading, bool micro, int *microseconds)
{
    const char *at = reading->at;
    int scale = 100000;

    *microseconds = 0;
    if (micro) {
        for (int i = 0; i < 7; i++) {
            if (i == 0 ? at[0] != '.' && at[0] != ',' : !is_digit(at[i])) {
                return refuse_piece(reading, ".000000");
            }
        }
    }
    if ((*at == '.' || *at == ',') && is_digit(at[1])) {
        for (at++; is_digit(*at) && (!micro || scale > 0); at++) {
            *microseconds += (*at - '0') * scale;
            scale /= 10;
        }
        reading->at = at;
    }
    return true;
}

static bool read_zone(progress *reading, int *offset)
{
    const char *at = reading->at;
    int hours, minutes;

    *offset = 0;
    if (*at == 'Z') {
        reading->at++;
        return true;
    }
    if ((*at != '+' && *at != '-') || !is_digit(at[1]) || !is_digit(at[2]) ||
        at[3] != ':' || !is_digit(at[4]) || !is_digit(at[5])) {
        return refuse_piece(reading, "Z07:00");
    }
    hours = (at[1] - '0') * 10 + at[2] - '0';
    minutes = (at[4] - '0') * 10 + at[5] - '0';
    if (hours > 24) {
        return out_of_range(reading, "time zone offset hour");
    }
    if (minutes > 60) {
        return out_of_range(reading, "time zone offset minute");
    }
    *offset = (hours * 60 + minutes) * 60 * (*at == '-' ? -1 : 1);
    reading->at += 6;
    return true;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

/* The days from 1970-01-01 to a date. In this calculation a year begins in
 * March, so that the leap day is its last. */
static int64_t day_number(int year, int month, int day)
{
    int64_t years = month > 2 ? year : year - 1;
    int64_t months = month > 2 ? month - 3 : month + 9;
    int64_t era = (years >= 0 ? years : years - 399) / 400;
    int64_t of_era = years - era * 400;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 +
           (153 * months + 2) / 5 + day - 1 - 719468;
}

typedef struct clock_time {
    int hour, minute, second, microseconds;
} clock_time;

static bool read_clock(progress *reading, bool micro, clock_time *out)
{
    if (!read_digits_of(reading, "15", &out->hour, true)) {
        return false;
    }
    if (out->hour > 23) {
        return out_of_range(reading, "hour");
    }
    if (!read_literal(reading, ':') ||
        !read_digits_of(reading, "04", &out->minute, false)) {
        return false;
    }
    if (out->minute > 59) {
        return out_of_range(reading, "minute");
    }
    if (!read_literal(reading, ':') ||
        !read_digits_of(reading, "05", &out->second, false)) {
        return false;
    }
    if (out->second > 59) {
        return out_of_range(reading, "second");
    }
    return read_fraction(reading, micro, &out->microseconds);
}

bool kl__time_read(const char *text, bool micro, kl__time *out, char *why,
                   size_t size)
{
    progress reading = {text, text,
                        micro ? "2006-01-02T15:04:05.000000Z07:00"
                              : "2006-01-02T15:04:05Z07:00",
                        why, size};
    int year, month, day, offset;
    clock_time clock;

    if (!read_digits_of(&reading, "2006", &year, false) ||
        !read_literal(&reading, '-') ||
        !read_digits_of(&reading, "01", &month, false)) {
        return false;
    }
    if (month < 1 || month > 12) {
        return out_of_range(&reading, "month");
    }
    if (!read_literal(&reading, '-') ||
        !read_digits_of(&reading, "02", &day, false) ||
        !read_literal(&reading, 'T') || !read_clock(&reading, micro, &clock) ||
        !read_zone(&reading, &offset)) {
        return false;
    }
    if (*reading.at != '\0') {
        snprintf(why, size, "parsing time \"%.200s\": extra text: \"%.200s\"",
                 text, reading.at);
        return false;
    }
    if (day < 1 || day > days_in(year, month)) {
        return out_of_range(&reading, "day");
    }
    out->seconds = day_number(year, month, day) * 86400 + clock.hour * 3600 +
                   clock.minute * 60 + clock.second - offset;
    out->microseconds = clock.microseconds;
    return true;
}

void kl__time_write(const kl__time *time, bool micro, char out[KL__TIME_SIZE])
{
    int64_t days = time->seconds / 86400 - (time->seconds % 86400 < 0);
    int rest = (int)(time->seconds - days * 86400);
    /* an estimate, which the loop corrects */
    int year = 1970 + (int)(days / 366), month = 1;
    size_t length;

    while (day_number(year + 1, 1, 1) <= days) {
        year++;
    }
    while (day_number(year, 1, 1) > days) {
        year--;
    }
    while (month < 12 && day_number(year, month + 1, 1) <= days) {
        month++;
    }
    snprintf(out, KL__TIME_SIZE, "%s%04d-%02d-%02dT%02d:%02d:%02dZ",
             year < 0 ? "-" : "", year < 0 ? -year : year, month,
             (int)(days - day_number(year, month, 1)) + 1, rest / 3600,
             rest / 60 % 60, rest % 60);
    if (micro) {
        length = strlen(out) - 1;
        snprintf(out + length, KL__TIME_SIZE - length, ".%06dZ",
                 time->microseconds);
    }
}

/* ---- durations ---- */

/* The limit of Go's Duration: nanoseconds in 64 bits. */
static const double MOST_SECONDS = 9223372036.854775807;

static bool refuse_duration(const char *fault, const char *text, char *why,
                            size_t size)
{
    snprintf(why, size, "time: %s duration \"%.200s\"", fault, text);
    return false;
}

/* The seconds of a unit; 0: unknown. */
static double unit_of(const char *text, size_t length)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9},        {"us", 1e-6}, {"\xc2\xb5s", 1e-6},
                 {"\xce\xbcs", 1e-6}, {"ms", 1e-3}, {"s", 1},
                 {"m", 60},           {"h", 3600}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].name) == length &&
            memcmp(units[i].name, text, length) == 0) {
            return units[i].seconds;
        }
    }
    return 0;
}

/* Reads a number and its unit at *at, and adds it to *seconds. False: `fault`
 * explains. */
static bool add_part(const char **at, double *seconds, char fault[64])
{
    const char *begin = *at;
    const size_t digits = strspn(begin, "0123456789");
    const char *unit = begin + digits;
    size_t fraction = 0, length;
    double each;

    snprintf(fault, 64, "invalid");
    if (*unit == '.') {
        fraction = strspn(unit + 1, "0123456789");
        unit += 1 + fraction;
    }
    if (digits + fraction == 0) {
        return false;
    }
    length = strcspn(unit, ".0123456789");
    if (length == 0) {
        snprintf(fault, 64, "missing unit in");
        return false;
    }
    each = unit_of(unit, length);
    if (each <= 0) {
        snprintf(fault, 64, "unknown unit \"%.*s\" in",
                 (int)(length < 32 ? length : 32), unit);
        return false;
    }
    *seconds += strtod(begin, NULL) * each;
    *at = unit + length;
    return *seconds <= MOST_SECONDS;
}

bool kl__duration_read(const char *text, double *seconds, char *why,
                       size_t size)
{
    const bool is_signed = *text == '-' || *text == '+';
    const char *at = text + is_signed;
    char fault[64] = "invalid";

    *seconds = 0;
    if (strcmp(at, "0") == 0) {
        return true;
    }
    if (*at == '\0') {
        return refuse_duration(fault, text, why, size);
    }
    while (*at != '\0') {
        if (!add_part(&at, seconds, fault)) {
            return refuse_duration(fault, text, why, size);
        }
    }
    *seconds = *text == '-' ? -*seconds : *seconds;
    return true;
}
