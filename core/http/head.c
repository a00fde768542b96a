/*
 * head.c - see head.h. The rules are those of RFC 9110 (Retry-After: 10.2.3,
 * dates: 5.6.7) and RFC 7234 (Warning: 5.5).
 */
#include "http/head.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* A Retry-After of more than a year is cut to this: it must be a mistake. */
enum { MAX_RETRY_AFTER_S = 366 * 24 * 3600, MAX_KEPT = 32 * 1024 };

/* Parses a date such as "Sun, 06 Nov 1994 08:49:37 GMT"; -1: not a date.
 * Without strptime, which depends on the host's locale. */
static time_t parse_date(const char *text)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm tm = {0};
    char month[4];
    const char *found;

    if (sscanf(text, "%*3[A-Za-z], %2d %3[A-Za-z] %4d %2d:%2d:%2d GMT",
               &tm.tm_mday, month, &tm.tm_year, &tm.tm_hour, &tm.tm_min,
               &tm.tm_sec) != 6) {
        return -1;
    }
    found = strlen(month) == 3 ? strstr(months, month) : NULL;
    if (found == NULL || (found - months) % 3 != 0) {
        return -1;
    }
    tm.tm_mon = (int)(found - months) / 3;
    tm.tm_year -= 1900;
    return timegm(&tm);
}

/* Parses seconds, or a date of the wall clock, as milliseconds; -1: neither. */
static long parse_retry_after(const char *value)
{
    char *end;
    long seconds = strtol(value, &end, 10);
    time_t date;

    if (end == value || *end != '\0') {
        date = parse_date(value);
        if (date < 0) {
            return -1;
        }
        seconds = (long)(date - time(NULL));
        seconds = seconds < 0 ? 0 : seconds; /* a date in the past: now */
    }
    if (seconds < 0) {
        return -1;
    }
    return (seconds > MAX_RETRY_AFTER_S ? MAX_RETRY_AFTER_S : seconds) * 1000;
}

/* Adds the text in `299 - "text"`, unescaped (docs/KUBERNETES.md#warnings); the
 * whole value if it has no quotes. */
static void parse_warning(const char *value, char *out, size_t size)
{
    const char *quote = strchr(value, '"');
    const char *in = quote != NULL ? quote + 1 : value;
    size_t used = strlen(out);

    if (used != 0 && used + 2 < size) {
        out[used++] = '\n';
    }
    while (*in != '\0' && used + 1 < size) {
        if (quote != NULL && *in == '"') {
            break;
        }
        if (quote != NULL && *in == '\\' && in[1] != '\0') {
            in++;
        }
        out[used++] = *in++;
    }
    out[used] = '\0';
}

static kl__encoding parse_encoding(const char *value)
{
    if (strcasecmp(value, "gzip") == 0 || strcasecmp(value, "x-gzip") == 0) {
        return KL__ENCODING_GZIP;
    }
    if (*value == '\0' || strcasecmp(value, "identity") == 0) {
        return KL__ENCODING_IDENTITY;
    }
    return KL__ENCODING_OTHER;
}

static void take_field(kl__head *head, const char *name, const char *value)
{
    kl__response *response = &head->response;

    if (strcasecmp(name, "retry-after") == 0) {
        response->retry_after_ms = parse_retry_after(value);
    } else if (strcasecmp(name, "content-type") == 0) {
        snprintf(response->content_type, sizeof(response->content_type), "%s",
                 value);
    } else if (strcasecmp(name, "location") == 0) {
        snprintf(response->location, sizeof(response->location), "%s", value);
    } else if (strcasecmp(name, "content-encoding") == 0) {
        head->encoding = parse_encoding(value);
    } else if (strcasecmp(name, "warning") == 0) {
        parse_warning(value, response->warnings, sizeof(response->warnings));
    }
}

static void take_status_line(kl__head *head, const char *line)
{
    const char *space = strchr(line, ' ');

    *head = (kl__head){0};
    head->response.retry_after_ms = -1;
    head->response.http2 = strncmp(line, "HTTP/2", 6) == 0;
    if (space != NULL) {
        head->response.status = (int)strtol(space + 1, NULL, 10);
    }
}

/* Splits "Name: value" in place and trims the value. */
static void take_field_line(kl__head *head, char *line)
{
    char *value = strchr(line, ':');
    size_t length;

    if (value == NULL) {
        return;
    }
    *value++ = '\0';
    value += strspn(value, " \t");
    length = strlen(value);
    while (length > 0 && strchr(" \t", value[length - 1]) != NULL) {
        value[--length] = '\0';
    }
    take_field(head, line, value);
}

bool kl__head_line(kl__head *head, const char *line, size_t length)
{
    char copy[1024]; /* longer lines are cut; the headers used here are short */

    if (head->complete) {
        return false;
    }
    while (length > 0 &&
           (line[length - 1] == '\r' || line[length - 1] == '\n')) {
        length--;
    }
    if (length == 0) {
        head->complete = head->response.status >= 200;
        return head->complete;
    }
    length = length < sizeof(copy) ? length : sizeof(copy) - 1;
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (strncmp(copy, "HTTP/", 5) == 0) {
        take_status_line(head, copy);
    } else {
        take_field_line(head, copy);
    }
    return false;
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

void kl__head_keep(kl__buf *lines, const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);
    const char *end = line + length;
    const char *value;

    if (length >= 5 && strncmp(line, "HTTP/", 5) == 0) {
        kl__buf_reset(lines);
        return;
    }
    if (colon == NULL || lines->length + length > MAX_KEPT) {
        return;
    }
    for (value = colon + 1; value < end && is_space(*value); value++) {
    }
    while (end > value && is_space(end[-1])) {
        end--;
    }
    for (; line < colon; line++) {
        kl__buf_putc(lines, (char)tolower((unsigned char)*line));
    }
    kl__buf_putc(lines, ':');
    kl__buf_append(lines, value, (size_t)(end - value));
    kl__buf_putc(lines, '\n');
}
