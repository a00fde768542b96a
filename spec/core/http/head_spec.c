/*
 * head_spec.c - what is read out of a response's head.
 */
#include "http/head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* Feeds a head line by line; what came of it. */
static kl__head parse(const char *text)
{
    kl__head head = {0};

    while (*text != '\0') {
        size_t length = strcspn(text, "\n") + 1;

        kl__head_line(&head, text, length);
        text += length;
    }
    return head;
}

static long retry_after(const char *value)
{
    char text[256];

    snprintf(text, sizeof(text),
             "HTTP/1.1 429 Too Many Requests\r\nRetry-After: %s\r\n\r\n",
             value);
    return parse(text).response.retry_after_ms;
}

static void the_empty_line_completes_a_head(void **state)
{
    kl__head head = {0};

    (void)state;
    assert_false(kl__head_line(&head, "HTTP/2 200 \r\n", 13));
    assert_false(kl__head_line(&head, "content-type: a/b\r\n", 19));
    assert_true(kl__head_line(&head, "\r\n", 2));
    assert_false(kl__head_line(&head, "\r\n", 2)); /* after trailers */
    assert_true(head.response.http2);
    assert_int_equal(head.response.status, 200);
    assert_string_equal(head.response.content_type, "a/b");
}

static void an_interim_response_leaves_no_headers(void **state)
{
    kl__head head = parse("HTTP/1.1 103 Early\r\nRetry-After: 1\r\n"
                          "Content-Encoding: gzip\r\n\r\n"
                          "HTTP/1.1 200 OK\r\n\r\n");

    (void)state;
    assert_true(head.complete);
    assert_int_equal(head.response.status, 200);
    assert_int_equal(head.response.retry_after_ms, -1);
    assert_int_equal(head.encoding, KL__ENCODING_IDENTITY);
}

static void retry_after_may_be_seconds(void **state)
{
    (void)state;
    assert_int_equal(retry_after("0"), 0);
    assert_int_equal(retry_after("12"), 12000);
    assert_int_equal(retry_after("99999999999999"), 366L * 24 * 3600 * 1000);
}

static void retry_after_may_be_a_date(void **state)
{
    time_t soon = time(NULL) + 100;
    char date[64];
    long ms;

    (void)state;
    strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S GMT", gmtime(&soon));
    ms = retry_after(date);
    assert_in_range(ms, 90000, 100000);
    assert_int_equal(retry_after("Sun, 06 Nov 1994 08:49:37 GMT"), 0);
}

static void an_invalid_retry_after_is_ignored(void **state)
{
    (void)state;
    assert_int_equal(retry_after(""), -1);
    assert_int_equal(retry_after("-1"), -1);
    assert_int_equal(retry_after("1.5"), -1);
    assert_int_equal(retry_after("soon"), -1);
    assert_int_equal(retry_after("Sun, 06 Xyz 1994 08:49:37 GMT"), -1);
    assert_int_equal(retry_after("Sun, 06 anF 1994 08:49:37 GMT"), -1);
}

static void warnings_are_unquoted(void **state)
{
    kl__head head =
        parse("HTTP/1.1 200 OK\r\n"
              "Warning: 299 - \"say \\\"when\\\", soon\" \"date\"\r\n"
              "Warning: 299 - \"other\"\r\n\r\n");

    (void)state;
    assert_string_equal(head.response.warnings, "say \"when\", soon\nother");
    head = parse("HTTP/1.1 200 OK\r\nWarning: unquoted \r\n\r\n");
    assert_string_equal(head.response.warnings, "unquoted");
    head = parse("HTTP/1.1 200 OK\r\nWarning: 299 - \"endless\\\r\n\r\n");
    assert_string_equal(head.response.warnings, "endless\\");
}

static void long_values_are_cut(void **state)
{
    static char text[4096];
    kl__head head;

    (void)state;
    strcpy(text, "HTTP/1.1 200 OK\r\nContent-Type: ");
    memset(text + strlen(text), 'x', 3000);
    strcat(text, "\r\n\r\n");
    head = parse(text);
    assert_true(head.complete);
    assert_int_equal(strlen(head.response.content_type),
                     sizeof(head.response.content_type) - 1);
}

static void content_encoding_is_parsed(void **state)
{
    (void)state;
    assert_int_equal(
        parse("HTTP/1.1 200 OK\r\nContent-Encoding: GZIP \r\n\r\n").encoding,
        KL__ENCODING_GZIP);
    assert_int_equal(
        parse("HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\n\r\n").encoding,
        KL__ENCODING_IDENTITY);
    assert_int_equal(
        parse("HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n").encoding,
        KL__ENCODING_OTHER);
}

static void invalid_header_lines_are_ignored(void **state)
{
    kl__head head = parse("HTTP/\r\n:\r\nx\r\n: y\r\n\r\n");

    (void)state;
    assert_false(head.complete); /* there was no status */
}

static void a_nul_byte_does_not_end_a_line(void **state)
{
    kl__head head = {0};

    (void)state;
    assert_false(kl__head_line(&head, "HTTP/1.1 200 OK\r\n", 17));
    assert_false(kl__head_line(&head, "\0\0", 2));
    assert_false(head.complete);
    assert_true(kl__head_line(&head, "\r\n", 2));
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(the_empty_line_completes_a_head),
        cmocka_unit_test(an_interim_response_leaves_no_headers),
        cmocka_unit_test(retry_after_may_be_seconds),
        cmocka_unit_test(retry_after_may_be_a_date),
        cmocka_unit_test(an_invalid_retry_after_is_ignored),
        cmocka_unit_test(warnings_are_unquoted),
        cmocka_unit_test(long_values_are_cut),
        cmocka_unit_test(content_encoding_is_parsed),
        cmocka_unit_test(invalid_header_lines_are_ignored),
        cmocka_unit_test(a_nul_byte_does_not_end_a_line),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
