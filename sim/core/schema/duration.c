/*
 * duration.c - see duration.h.
 */
#include "sim/core/schema/duration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
