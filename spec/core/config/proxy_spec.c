/*
 * proxy_spec.c - the environment's proxies, as Go reads them; moments; base64.
 */
#include "config/proxy.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "config/timestamp.h"
#include "failing_alloc.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
