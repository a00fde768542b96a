/*
 * escape_spec.c - what others have written cannot forge a line of a log, nor
 * control a terminal: kl_text_escape, and its callers kl_log and kl_error_set.
 */
#include "kubelua/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A text of several pieces, so that a digit can follow an escape of C. */
#define TEXT(...) __VA_ARGS__, sizeof(__VA_ARGS__) - 1

typedef struct example {
    const char *text;
    size_t length;
    const char *shown;
} example;

static void check_examples(const example *examples, size_t count,
                           kl_text_breaks breaks)
{
    for (size_t i = 0; i < count; i++) {
        const example *one = &examples[i];
        char shown[200];
        size_t length = kl_text_escape(shown, sizeof(shown), one->text,
                                       one->length, breaks);

        assert_string_equal(shown, one->shown);
        assert_int_equal(length, strlen(shown));
    }
}

static void what_a_terminal_obeys_is_escaped(void **state)
{
    static const example examples[] = {
        {TEXT("pods: web/a"), "pods: web/a"},
        {TEXT("a\tb \\ \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
         "a\tb \\ \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {TEXT("a\rb"), "a\\rb"},
        {TEXT("a\0b"), "a\\0b"},
        {TEXT("\033[31mred\x7f\b"), "\\x1b[31mred\\x7f\\x08"},
        {TEXT("\xc2\x80 \xc2\x85 \xc2\x9b"
              "31m \xc2\x9f \xc2\xa0"),
         "\\u0080 \\u0085 \\u009b31m \\u009f \xc2\xa0"},
        {TEXT("\xd8\x9c \xe2\x80\x8e \xe2\x80\x8f \xe2\x80\xa8 \xe2\x80\xa9"),
         "\\u061c \\u200e \\u200f \\u2028 \\u2029"},
        {TEXT("\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae"),
         "\\u202a\\u202b\\u202c\\u202d\\u202e"},
        {TEXT("\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9"),
         "\\u2066\\u2067\\u2068\\u2069"},
        /* no UTF-8: a lone byte of C1, an overlong NUL, a surrogate, an end */
        {TEXT("\x9b"
              "31m \xc0\x80 \xed\xa0\x80 \xe2\x80"),
         "\\x9b31m \\xc0\\x80 \\xed\\xa0\\x80 \\xe2\\x80"}};

    (void)state;
    check_examples(examples, sizeof(examples) / sizeof(*examples), KL_ONE_LINE);
    check_examples(examples, sizeof(examples) / sizeof(*examples),
                   KL_INDENTED_LINES);
}

static void a_text_becomes_one_line(void **state)
{
    static const example examples[] = {
        {TEXT("a\nb"), "a\\nb"},
        {TEXT("a\r\nb\n\nc"), "a\\r\\nb\\n\\nc"},
        {TEXT("look\n  twice\n"), "look; twice"},
        {TEXT("oops\nstack traceback:\n\ta.lua:1: in f\n\ta.lua:2: in g"),
         "oops; stack traceback:; a.lua:1: in f; a.lua:2: in g"},
        {TEXT("\n\n"), ""}};

    (void)state;
    check_examples(examples, sizeof(examples) / sizeof(*examples), KL_ONE_LINE);
}

static void only_an_indented_line_of_an_error_stays(void **state)
{
    static const example examples[] = {
        {TEXT("a\nb"), "a\\nb"},
        {TEXT("a\n b"), "a; b"},
        {TEXT("HTTP 403: no\n    RBAC must allow it"),
         "HTTP 403: no\n    RBAC must allow it"},
        {TEXT("a\nkubelua: forged\n    b\n"), "a\\nkubelua: forged\n    b"},
        {TEXT("oops\nstack traceback:\n\ta.lua:1: in f"),
         "oops; stack traceback:; a.lua:1: in f"}};

    (void)state;
    check_examples(examples, sizeof(examples) / sizeof(*examples),
                   KL_INDENTED_LINES);
}

/* Any bytes: a text of escapes stays as it is, and is never longer than said.
 */
static void a_text_that_is_escaped_stays(void **state)
{
    uint32_t random = 7;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[40], once[4 * sizeof(text) + 1], twice[sizeof(once)];
        size_t length = (size_t)i % sizeof(text);

        for (size_t at = 0; at < length; at++) {
            random = random * 1664525 + 1013904223;
            text[at] = "\n\r\t \033\0\x7f\xc2\x85\x9b\xe2\x80\xae\x81\xf0\x9fxy"
                       "2"[random >> 16 & 15];
        }
        length = kl_text_escape(once, sizeof(once), text, length,
                                (kl_text_breaks)(i & 1));
        assert_int_equal(kl_text_escape(twice, sizeof(twice), once, length,
                                        (kl_text_breaks)(i & 1)),
                         length);
        assert_string_equal(twice, once);
    }
}

static void a_long_text_is_cut_between_characters(void **state)
{
    char shown[8];

    (void)state;
    assert_int_equal(
        kl_text_escape(shown, sizeof(shown), TEXT("abcde\xe2\x82\xac"), 0), 5);
    assert_string_equal(shown, "abcde");
    assert_int_equal(
        kl_text_escape(shown, sizeof(shown), TEXT("abcd\xe2\x82\xac"), 0), 7);
    assert_int_equal(kl_text_escape(shown, sizeof(shown), TEXT("abcd\033"), 0),
                     4);
    assert_int_equal(kl_text_escape(shown, 1, TEXT("a"), 0), 0);
    assert_string_equal(shown, "");
}

static void keep_line(void *context, kl_log_level level, const char *message)
{
    (void)level;
    snprintf(context, 4096, "%s", message);
}

static void a_call_of_kl_log_is_one_line(void **state)
{
    char line[4096], huge[3000];

    (void)state;
    kl_set_log(keep_line, line, KL_LOG_WARN);
    kl_log(KL_LOG_ERROR, "pods: %s", "a\n2026-11-26T00:00:00Z error forged");
    assert_string_equal(line, "pods: a\\n2026-11-26T00:00:00Z error forged");
    memset(huge, 'x', sizeof(huge));
    memcpy(huge + 2045, "\xe2\x82\xac", 3);
    huge[sizeof(huge) - 1] = '\0';
    kl_log(KL_LOG_ERROR, "%s", huge);
    assert_int_equal(strlen(line), 2045);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
}

static void an_error_is_safe_on_a_terminal(void **state)
{
    kl_error err;
    char huge[KL_ERROR_MESSAGE_SIZE];

    (void)state;
    kl_error_set(&err, KL_EIO, "%s: no\n    look", "a\033[2J\nkubelua: b");
    assert_string_equal(err.message, "a\\x1b[2J\\nkubelua: b: no\n    look");
    kl_error_prefix(&err, "%s", "c\r");
    assert_string_equal(err.message,
                        "c\\r: a\\x1b[2J\\nkubelua: b: no\n    look");
    memset(huge, 'x', sizeof(huge));
    memcpy(huge + sizeof(huge) - 5, "\xe2\x82\xac", 4);
    kl_error_set(&err, KL_EIO, "%s", huge);
    assert_int_equal(strlen(err.message), KL_ERROR_MESSAGE_SIZE - 2);
    kl_error_prefix(&err, "a"); /* the cut is in the last character */
    assert_int_equal(strlen(err.message), KL_ERROR_MESSAGE_SIZE - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_terminal_obeys_is_escaped),
        cmocka_unit_test(a_text_becomes_one_line),
        cmocka_unit_test(only_an_indented_line_of_an_error_stays),
        cmocka_unit_test(a_text_that_is_escaped_stays),
        cmocka_unit_test(a_long_text_is_cut_between_characters),
        cmocka_unit_test(a_call_of_kl_log_is_one_line),
        cmocka_unit_test(an_error_is_safe_on_a_terminal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
