/*
 * url_spec.c - what is put into a URL comes out of it again.
 */
#include "http/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void all_but_unreserved_bytes_are_percent_encoded(void **state)
{
    kl__buf out = {0};

    (void)state;
    kl__url_encode(&out, "aZ09-._~ /?&=+%,\xc3\xa4\x7f");
    assert_string_equal(out.bytes, "aZ09-._~%20%2F%3F%26%3D%2B%25%2C%C3%A4%7F");
    kl__buf_deinit(&out);
}

static void queries_begin_with_a_question_mark(void **state)
{
    kl__buf out = {0};

    (void)state;
    kl__buf_puts(&out, "/api/v1/pods");
    kl__url_query(&out, "absent", NULL);
    kl__url_query(&out, "labelSelector", "a in (b,c)");
    kl__url_query(&out, "limit", "");
    assert_string_equal(
        out.bytes, "/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29&limit=");
    kl__buf_deinit(&out);
}

static void a_password_in_a_url_is_not_shown(void **state)
{
    static const char *const rows[][2] = {
        {"https://host:6443", "https://host:6443"},
        {"https://joe:secret@host:6443/x", "https://***@host:6443/x"},
        {"https://joe:a@b/c@host", "https://***@host"},
        {"joe:secret@host", "***@host"},
        {"", ""}};
    char shown[40];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        kl__url_show(shown, sizeof(shown), rows[i][0]);
        assert_string_equal(shown, rows[i][1]);
    }
    kl__url_show(shown, 12, rows[1][0]);
    assert_string_equal(shown, "https://***");
}

static void every_byte_survives_the_round_trip(void **state)
{
    char text[256];
    kl__buf out = {0};

    (void)state;
    for (int i = 1; i < 256; i++) {
        text[i - 1] = (char)i;
    }
    text[255] = '\0';
    kl__url_encode(&out, text);
    assert_int_equal(kl__url_decode(out.bytes), 255);
    assert_string_equal(out.bytes, text);
    kl__buf_deinit(&out);
}

static void an_incomplete_escape_stays_as_it_is(void **state)
{
    char text[] = "100%+%zz%4%41%";

    (void)state;
    assert_int_equal(kl__url_decode(text), 12);
    assert_string_equal(text, "100%+%zz%4A%");
}

static void an_escaped_nul_counts_in_the_length(void **state)
{
    char text[] = "a%00b";

    (void)state;
    assert_int_equal(kl__url_decode(text), 3);
    assert_memory_equal(text, "a\0b", 4);
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(all_but_unreserved_bytes_are_percent_encoded),
        cmocka_unit_test(queries_begin_with_a_question_mark),
        cmocka_unit_test(a_password_in_a_url_is_not_shown),
        cmocka_unit_test(every_byte_survives_the_round_trip),
        cmocka_unit_test(an_incomplete_escape_stays_as_it_is),
        cmocka_unit_test(an_escaped_nul_counts_in_the_length),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
