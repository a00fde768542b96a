/*
 * pattern_spec.c - regular expressions match what Go's match; what Go does not
 * have is refused.
 */
#include "spec_case.h"
#include "sim/core/schema/pattern.h"

#include "kubelua/memory.h"

static void matches(const char *pattern, const char *text)
{
    if (kl__pattern_match(pattern, text) != KL__PATTERN_FITS) {
        fail_msg("%s does not match \"%s\"", pattern, text);
    }
}

static void misses(const char *pattern, const char *text)
{
    if (kl__pattern_match(pattern, text) != KL__PATTERN_FAILS) {
        fail_msg("%s matches \"%s\"", pattern, text);
    }
}

PLAIN_CASE(a_pattern_matches_anywhere_unless_it_is_anchored)
{
    matches("", "");
    matches("b", "abc");
    misses("^b", "abc");
    matches("^a", "abc");
    matches("c$", "abc");
    misses("b$", "abc");
    misses("^$", "abc");
    matches("^$", "");
    matches("\\Aabc\\z", "abc");
    matches("(?m)^b$", "a\nb\nc");
    misses("^b$", "a\nb\nc");
}

PLAIN_CASE(repetitions_match_within_their_counts)
{
    matches("^a*$", "");
    matches("^a*$", "aaaa");
    misses("^a+$", "");
    matches("^a?b$", "b");
    misses("^a?b$", "aab");
    matches("^a{3}$", "aaa");
    misses("^a{3}$", "aa");
    matches("^a{2,}$", "aaaaa");
    misses("^a{2,}$", "a");
    matches("^a{2,4}$", "aaa");
    misses("^a{2,4}$", "aaaaa");
    matches("^(ab){0,2}c$", "ababc");
    misses("^(ab){0,2}c$", "abababc");
    matches("^a{0}b$", "b");
    matches("^(a*)*$", "aaa");
    matches("^(|a)+$", "aaa");
    matches("^a+?b$", "aab");
}

PLAIN_CASE(alternatives_and_groups_nest)
{
    matches("^(a|b|cd)+$", "abcdcd");
    misses("^(a|b|cd)+$", "abc");
    matches("^(?:a|(?P<name>b)|(?<other>c))$", "c");
    matches("^a|b$", "axx");
    matches("^(a||b)$", "");
    matches("^(?i)AbC$", "aBc");
    matches("^((?i)a)b$", "Ab");
    misses("^((?i)a)b$", "AB");
    matches("^(?i:x[a-c])y$", "XBy");
    misses("^a.c$", "a\nc");
    matches("(?s)^a.c$", "a\nc");
}

PLAIN_CASE(classes_hold_characters)
{
    matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name-1");
    misses("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "my-name-");
    matches("^\\d+\\.\\d{2}$", "12.50");
    misses("^\\d+\\.\\d{2}$", "12x50");
    matches("^\\w+\\s\\S+$", "a_1 -");
    matches("^[^a-c]+$", "xyz");
    misses("^[^a-c]+$", "xbz");
    matches("^[]a]+$", "]a");
    matches("^[\\]\\-\\\\]+$", "]-\\");
    matches("^[[:alpha:]_]+$", "ab_C");
    misses("^[[:^digit:]]+$", "a1");
    matches("^[\\D]+$", "abc");
    misses("^[\\D]+$", "a1c");
    matches("^[\\x41-\\x{43}]+$", "ABC");
    matches("^.{3}$", "\xc3\xa4\xc3\xb6\xc3\xbc");
    matches("^[\xc3\xa4-\xc3\xbc]+$", "\xc3\xb6");
    matches("\\bfoo\\b", "a foo b");
    misses("\\bfoo\\b", "a food b");
    matches("^\\Qa.b*\\E$", "a.b*");
    matches("^a\\.b\\/c$", "a.b/c");
}

/* PCRE2 alone would take these in another sense. */
PLAIN_CASE(syntax_has_the_meaning_that_go_gives_it)
{
    misses("^a$", "a\n");
    matches("(?m)^$", "a\n");
    misses("^.$", "\n");
    matches("^.$", "\r");
    misses("^\\d$", "\xd9\xa3"); /* an Arabic 3 */
    misses("^\\w$", "\xc3\xa4");
    matches("^a #b$", "a #b");
    matches("^\\Qab\\E+$", "abbb");
    matches("^[[.]+$", "[.");
    matches("^\\pL\\p{Lu}\\P{Greek}$", "\xc3\xa4Zz");
    misses("^\\pL$", "1");
    matches("^(?i)\xc3\xa4$", "\xc3\x84");
}

static void refused(const char *pattern, const char *expected)
{
    kl__buf why = {0};

    assert_int_equal(kl__pattern_check(pattern, &why), KL__PATTERN_INVALID);
    assert_string_equal(why.bytes, expected);
    kl__buf_deinit(&why);
}

PLAIN_CASE(an_invalid_pattern_is_refused)
{
    refused("a)(b", "error parsing regexp: unexpected ): `)`");
    refused("a**",
            "error parsing regexp: invalid nested repetition operator: `**`");
    refused("a{1001}", "error parsing regexp: invalid repeat count: `{1001}`");
    refused("\\y", "error parsing regexp: invalid escape sequence: `\\y`");
    refused("a\\", "error parsing regexp: trailing backslash at end of "
                   "expression: ``");
    refused("(?=a)",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`");
    refused("(?<=a)", "error parsing regexp: invalid or unsupported Perl "
                      "syntax: `(?<`");
    refused("\\C", "error parsing regexp: invalid escape sequence: `\\C`");
    refused("(a)\\1", "error parsing regexp: invalid escape sequence: `\\1`");
    refused("[\\b]", "error parsing regexp: invalid escape sequence: `\\b`");
    refused("a*?+", "error parsing regexp: invalid nested repetition operator: "
                    "`*?+`");
    refused("(?>a)",
            "error parsing regexp: invalid or unsupported Perl syntax: `(?>`");
    refused("(?i-)a", "error parsing regexp: invalid or unsupported Perl "
                      "syntax: `(?i`");
    refused("(*UCP)a", "error parsing regexp: missing argument to repetition "
                       "operator: `*`");
    refused("a{,2}", "error parsing regexp: write \\{ for a brace that repeats "
                     "nothing: `{,`");
    refused("(?P=a)", "error parsing regexp: invalid or unsupported Perl "
                      "syntax: `(?P`");
    refused("(?#a)", "error parsing regexp: invalid or unsupported Perl "
                     "syntax: `(?#`");
}

/* Faults that PCRE2 finds are told in its words. */
PLAIN_CASE(a_pattern_that_pcre2_refuses_is_invalid)
{
    static const char *const patterns[] = {
        "(a",   "[a",           "*a", "[z-a]", "(?P<a-b>c)", "\\p{Nonsense}",
        "\\x{", "(a{50}){2001}"};

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        kl__buf why = {0};

        assert_int_equal(kl__pattern_check(patterns[i], &why),
                         KL__PATTERN_INVALID);
        assert_int_equal(strncmp(why.bytes, "error parsing regexp: ", 22), 0);
        kl__buf_deinit(&why);
    }
}

PLAIN_CASE(matching_takes_bounded_time)
{
    static char text[20001];

    memset(text, 'a', sizeof(text) - 1);
    misses("^(a+)+b$", text + sizeof(text) - 1001);
    misses("^(a|a)*b$", text);
    matches("a*b?c*d?$", text);
    misses("^[a-z]+[0-9]", text);
    misses("[a-z]+[0-9]", text + sizeof(text) - 201);
    assert_int_equal(kl__pattern_match("(a{1,500}b?c?){2}d", text),
                     KL__PATTERN_TOO_MUCH);
}

PLAIN_CASE(a_pattern_that_is_too_large_says_so)
{
    kl__buf why = {0};

    assert_int_equal(
        kl__pattern_check("([a-z][0-9][a-f][^a][^b][^c]){900}", &why),
        KL__PATTERN_TOO_MUCH);
    assert_non_null(strstr(why.bytes, "too large"));
    kl__buf_deinit(&why);
}
