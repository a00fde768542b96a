/*
 * text_spec.c - base64 and times, as programs call them; the environment's
 * proxies, as Go reads them.
 */
#include "base/base64.h"

#include "failing_alloc.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include "base/buf.h"
#include "base/mem.h"
#include "config/proxy.h"
#include "config/timestamp.h"
#include "kubelua/memory.h"
#include "kubelua/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void base64_holds_any_bytes(void **state)
{
    char bytes[256], *text, *back;
    size_t length, back_length;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (char)i;
    }
    for (size_t size = 0; size <= sizeof(bytes); size++) {
        text = kl_base64_encode(bytes, size, &length, NULL);
        assert_non_null(text);
        assert_int_equal(strlen(text), length);
        back = kl_base64_decode(text, length, &back_length, NULL);
        assert_non_null(back);
        assert_int_equal(back_length, size);
        assert_memory_equal(back, bytes, size);
        kl_free(back);
        kl_free(text);
    }
}

/* CorruptInputError of Go has these positions. */
static void invalid_base64_is_an_error_with_its_position(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {
        {"c2hvcA", "byte 4"},   {"c2hvcA=", "byte 7"},
        {"c2hv!A==", "byte 4"}, {"c2hvcA===", "byte 8"},
        {"=", "byte 0"},        {"c2hvcA==c2", "byte 8"},
        {"c2h-cA==", "byte 3"},
    };
    kl_error err;
    size_t length;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_null(kl_base64_decode(rows[i].text, strlen(rows[i].text),
                                     &length, &err));
        assert_int_equal(err.code, KL_EPARSE);
        assert_non_null(strstr(err.message, rows[i].why));
    }
}

/* Every text of up to six of these bytes. */
static void decoding_and_finding_the_wrong_byte_agree(void **state)
{
    static const char bytes[] = "AQ/=\n!";
    const size_t kinds = sizeof(bytes) - 1;

    (void)state;
    for (size_t number = 0; number < 7 * 7 * 7 * 7 * 7 * 7; number++) {
        char text[8];
        size_t length = 0;
        kl__buf out = {0};

        for (size_t left = number; left > 0; left /= 7) {
            text[length] = bytes[left % 7 % kinds];
            length++;
        }
        assert_int_equal(kl__base64_decode(&out, text, length),
                         kl__base64_wrong(text, length) < 0);
        kl__buf_deinit(&out);
    }
}

static void assert_time(const char *text, int64_t seconds, int32_t nanoseconds)
{
    kl_error err = {0};
    kl_time time;

    if (kl_time_parse(text, &time, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(time.seconds, seconds);
    assert_int_equal(time.nanoseconds, nanoseconds);
}

static void assert_no_time(const char *text)
{
    kl_error err = {0};
    kl_time time = {7, 7};

    if (kl_time_parse(text, &time, &err) != KL_EPARSE) {
        fail_msg("'%s' was taken for a time", text);
    }
    assert_int_equal(time.seconds, 7); /* a failure changes nothing */
    assert_non_null(strstr(err.message, "2026-11-22T10:00:00Z"));
}

static void a_time_has_nanoseconds_and_any_zone(void **state)
{
    (void)state;
    assert_time("2026-11-22T10:00:00Z", 1795341600, 0);
    assert_time("2026-11-22T11:30:00.5+01:30", 1795341600, 500000000);
    assert_time("2026-11-21t10:00:00.123456789123z", 1795255200, 123456789);
    assert_time("1969-12-31T23:59:59.25-00:00", -1, 250000000);
    assert_time("0001-01-01T00:00:00Z", -62135596800, 0);
    assert_time("9999-12-31T23:59:59Z", 253402300799, 0);
}

static void a_leap_second_ends_a_month_in_utc(void **state)
{
    (void)state;
    assert_time("1990-12-31T23:59:60Z", 662688000, 0);
    assert_time("1990-12-31T15:59:60.5-08:00", 662688000, 500000000);
    assert_time("2016-12-31T23:59:60Z", 1483228800, 0);
    assert_time("1968-02-29T23:59:60Z", -57974400, 0);
    assert_no_time("2026-11-22T23:59:60Z");
    assert_no_time("2026-11-22T10:00:60Z");
    assert_no_time("1990-12-31T23:59:60-08:00");
    assert_no_time("1990-12-31T23:59:61Z");
}

static void a_text_that_is_not_a_time_is_an_error(void **state)
{
    static const char *const wrong[] = {
        "",
        "yesterday",
        "2026-11-22",
        "2026-11-22T10:00:00",
        "2026-11-22 10:00:00Z",
        "2026-11-22T10:00Z",
        "2026-11-22T10:00:00,5Z",
        "2026-11-22T10:00:00.Z",
        "2026-11-22T10:00:00+0100",
        "2026-11-22T10:00:00+24:00",
        "2026-11-22T10:00:00+01:60",
        "2026-11-22T24:00:00Z",
        "2026-11-22T10:60:00Z",
        "2026-11-31T10:00:00Z",
        "2026-00-01T10:00:00Z",
        "2026-01-00T10:00:00Z",
        "1900-02-29T10:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "-001-01-01T00:00:00Z",
        " 2026-11-22T10:00:00Z",
        "2026-11-22T10:00:00Z ",
        "2026-11-22T10:00:00ZZ",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_no_time(wrong[i]);
    }
}

static void assert_format(kl_time time, int digits, const char *expected)
{
    char text[KL_TIME_SIZE];

    assert_int_equal(kl_time_format(time, digits, text, NULL), KL_OK);
    assert_string_equal(text, expected);
}

static void a_time_is_written_as_kubernetes_does(void **state)
{
    (void)state;
    assert_format((kl_time){1795341600, 999999999}, 0, "2026-11-22T10:00:00Z");
    assert_format((kl_time){1795341600, 0}, 6, "2026-11-22T10:00:00.000000Z");
    assert_format((kl_time){-1, 123456789}, 6, "1969-12-31T23:59:59.123456Z");
    assert_format((kl_time){-62135596800, 0}, 0, "0001-01-01T00:00:00Z");
    assert_format((kl_time){253402300799, 0}, 0, "9999-12-31T23:59:59Z");
}

static void a_time_before_year_1_or_after_9999_is_an_error(void **state)
{
    static const struct {
        kl_time time;
        int digits;
    } wrong[] = {
        {{-62135596801, 0}, 0},
        {{253402300800, 0}, 0},
        {{INT64_MIN, 0}, 0},
        {{INT64_MAX, 0}, 0},
        {{0, -1}, 0},
        {{0, 1000000000}, 0},
        {{0, 0}, 3},
        {{0, 0}, -1},
    };
    char text[KL_TIME_SIZE];
    kl_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(
            kl_time_format(wrong[i].time, wrong[i].digits, text, &err),
            KL_EINVAL);
    }
}

/* A step that meets every day of the year, hour and minute. */
static void formatted_times_parse_to_the_same_time(void **state)
{
    char text[KL_TIME_SIZE];

    (void)state;
    for (int64_t at = -62135596800; at < 253402300800; at += 86399 * 7 + 60) {
        kl_time time = {at,
                        (int32_t)((at % 1000000 + 1000000) % 1000000) * 1000};

        assert_int_equal(kl_time_format(time, 6, text, NULL), KL_OK);
        assert_time(text, time.seconds, time.nanoseconds);
    }
}

static void assert_proxy(const char *server, const char *proxy)
{
    char *got;

    assert_int_equal(kl__proxy_from_environment(server, &got, NULL), KL_OK);
    if (proxy == NULL) {
        if (got != NULL) {
            print_error("%s -> %s\n", server, got);
        }
        assert_null(got);
    } else {
        if (got == NULL) {
            print_error("%s -> none\n", server);
        }
        assert_non_null(got);
        assert_string_equal(got, proxy);
    }
    kl__free(got);
}

static void the_servers_scheme_selects_the_proxy_variable(void **state)
{
    (void)state;
    assert_proxy("https://s", NULL);
    setenv("HTTP_PROXY", "http://plain:1", 1);
    assert_proxy("https://s", NULL);
    assert_proxy("http://s", "http://plain:1");
    setenv("https_proxy", "http://lower:1", 1);
    assert_proxy("https://s", "http://lower:1");
    setenv("HTTPS_PROXY", "upper:1", 1);
    assert_proxy("https://s", "http://upper:1");
    setenv("HTTPS_PROXY", "socks5://upper:1", 1);
    assert_proxy("https://s", "socks5://upper:1");
}

static void http_proxy_is_ignored_in_a_cgi_program(void **state)
{
    (void)state;
    setenv("HTTP_PROXY", "http://evil:1", 1);
    setenv("REQUEST_METHOD", "GET", 1);
    assert_proxy("http://s", NULL);
}

static void localhost_is_never_reached_through_a_proxy(void **state)
{
    (void)state;
    setenv("HTTPS_PROXY", "http://p:1", 1);
    assert_proxy("https://localhost:6443", NULL);
    assert_proxy("https://127.0.0.1:6443/x", NULL);
    assert_proxy("https://127.9.8.7", NULL);
    assert_proxy("https://[::1]:6443", NULL);
    assert_proxy("https://localhost.example", "http://p:1");
    assert_proxy("https://[::2]", "http://p:1");
}

static void no_proxy_excludes_hosts_domains_and_networks(void **state)
{
    /* NO_PROXY, server, whether it is reached through the proxy */
    static const char *const rows[][3] = {
        {"example.com", "https://example.com", ""},
        {"example.com", "https://api.example.com", ""},
        {"example.com", "https://myexample.com", "proxy"},
        {"example.com", "https://EXAMPLE.com", ""},
        {".example.com", "https://example.com", "proxy"},
        {".example.com", "https://api.example.com", ""},
        {"*.example.com", "https://api.example.com", ""},
        {"*.example.com", "https://example.com", "proxy"},
        {"example.com:6443", "https://example.com:6443", ""},
        {"example.com:6443", "https://example.com", "proxy"},
        {"example.com:443", "https://example.com", ""},
        {"*", "https://example.com", ""},
        {"a, b ,example.com", "https://example.com", ""},
        {"a,,b", "https://example.com", "proxy"},
        {":6443", "https://example.com:6443", "proxy"},
        {"10.0.0.1", "https://10.0.0.1:6443", ""},
        {"10.0.0.1:6443", "https://10.0.0.1:6443", ""},
        {"10.0.0.1:1", "https://10.0.0.1:6443", "proxy"},
        {"10.0.0.0/8", "https://10.200.0.1", ""},
        {"10.0.0.0/8", "https://11.0.0.1", "proxy"},
        {"10.96.0.0/12", "https://10.111.0.1", ""},
        {"10.96.0.0/12", "https://10.112.0.1", "proxy"},
        {"0.0.0.0/0", "https://1.2.3.4", ""},
        {"10.0.0.0/33", "https://10.0.0.1", "proxy"},
        {"fd00::/8", "https://[fd12::1]:6443", ""},
        {"fd00::/8", "https://[fe80::1]:6443", "proxy"},
        {"::/0", "https://[fe80::1]:6443", ""},
        {"::/0", "https://10.0.0.1", "proxy"},
        {"[fd00::1]", "https://[fd00::1]", "proxy"},
        {"fd00::1", "https://[fd00::1]", ""},
        {"[fd00::1]:6443", "https://[fd00::1]:6443", ""},
        {"[fd00::1]:1", "https://[fd00::1]:6443", "proxy"},
        {"10.0.0.1", "https://a.10.0.0.1", "proxy"},
        {"0.1", "https://10.0.0.1", "proxy"},
    };

    (void)state;
    setenv("HTTPS_PROXY", "http://p:1", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setenv("no_proxy", rows[i][0], 1);
        assert_proxy(rows[i][1], rows[i][2][0] != '\0' ? "http://p:1" : NULL);
    }
}

static void an_invalid_proxy_is_an_error_with_its_variable(void **state)
{
    kl_error err;
    char *proxy;

    (void)state;
    setenv("HTTPS_PROXY", "ftp://user:secret@p", 1);
    assert_int_equal(kl__proxy_from_environment("https://s", &proxy, &err),
                     KL_ECONFIG);
    assert_non_null(strstr(err.message, "HTTPS_PROXY: "));
    assert_null(strstr(err.message, "secret"));
    assert_null(proxy);
}

static void proxy_url_ignores_the_environment_and_no_proxy(void **state)
{
    (void)state;
    assert_int_equal(kl__proxy_check("socks5://p:1", NULL), KL_OK);
    assert_int_equal(kl__proxy_check("HTTPS://p", NULL), KL_OK);
    assert_int_equal(kl__proxy_check("http://", NULL), KL_ECONFIG);
    assert_int_equal(kl__proxy_check("p:1", NULL), KL_ECONFIG);
}

static void rfc_3339_times_are_parsed(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"2000-02-29T12:34:56.789Z", 951827696789},
        {"2000-02-29t12:34:56z", 951827696000},
        {"2026-06-01T00:00:00+02:00", 1780264800000},
        {"2026-06-01T00:00:00-00:30", 1780273800000},
        {"1969-12-31T23:59:59Z", -1000},
        {"2100-03-01T00:00:00.123456789Z", 4107542400123},
    };
    static const char *const wrong[] = {
        "",
        "soon",
        "2026-06-01",
        "2026-06-01T00:00:00",
        "2026-06-01 00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-06-01T24:00:00Z",
        "2026-06-01T00:00:00.Z",
        "2026-06-01T00:00:00Zx",
        "2026-06-01T00:00:00+0200",
    };
    int64_t ms;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(kl__timestamp_parse(rows[i].text, &ms));
        assert_int_equal(ms, rows[i].ms);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(kl__timestamp_parse(wrong[i], &ms));
    }
}

static void base64_is_encoded_and_decoded(void **state)
{
    static const char bytes[] = "any carnal pleas";

    (void)state;
    for (size_t length = 0; length < sizeof(bytes); length++) {
        kl__buf text = {0}, back = {0};

        kl__base64_encode(&text, bytes, length);
        assert_int_equal(text.length, (length + 2) / 3 * 4);
        assert_true(kl__base64_decode(
            &back, text.bytes != NULL ? text.bytes : "", text.length));
        assert_int_equal(back.length, length);
        assert_memory_equal(back.bytes, bytes, length);
        kl__buf_deinit(&text);
        kl__buf_deinit(&back);
    }
}

static void almost_valid_base64_is_an_error(void **state)
{
    static const char *const wrong[] = {
        "a", "aGk", "aG=k", "aGk=a", "=", "aGk=aGk=", "aGk*", "a===", "aGk-"};
    kl__buf out = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(kl__base64_decode(&out, wrong[i], strlen(wrong[i])));
    }
    kl__buf_reset(&out);
    assert_true(kl__base64_decode(&out, "aG\nk=\r\n", 7));
    assert_string_equal(out.bytes, "hi");
    kl__buf_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_holds_any_bytes),
        cmocka_unit_test(invalid_base64_is_an_error_with_its_position),
        cmocka_unit_test(decoding_and_finding_the_wrong_byte_agree),
        cmocka_unit_test(a_time_has_nanoseconds_and_any_zone),
        cmocka_unit_test(a_leap_second_ends_a_month_in_utc),
        cmocka_unit_test(a_text_that_is_not_a_time_is_an_error),
        cmocka_unit_test(a_time_is_written_as_kubernetes_does),
        cmocka_unit_test(a_time_before_year_1_or_after_9999_is_an_error),
        cmocka_unit_test(formatted_times_parse_to_the_same_time),
        SPEC(the_servers_scheme_selects_the_proxy_variable),
        SPEC(http_proxy_is_ignored_in_a_cgi_program),
        SPEC(localhost_is_never_reached_through_a_proxy),
        SPEC(no_proxy_excludes_hosts_domains_and_networks),
        SPEC(an_invalid_proxy_is_an_error_with_its_variable),
        SPEC(proxy_url_ignores_the_environment_and_no_proxy),
        cmocka_unit_test(rfc_3339_times_are_parsed),
        cmocka_unit_test(base64_is_encoded_and_decoded),
        cmocka_unit_test(almost_valid_base64_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
