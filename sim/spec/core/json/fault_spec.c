/*
 * fault_spec.c - messages for texts that are not JSON, in the words of Go's
 * encoding/json: each line is a real API server's answer.
 */
#include "spec_case.h"
#include "sim/core/json/fault.h"

typedef struct line {
    const char *json;
    const char *says; /* NULL: it is JSON */
} line;

static void expect(const line *lines, size_t count)
{
    char out[KL__JSON_FAULT_SIZE];

    for (size_t i = 0; i < count; i++) {
        const char *says =
            kl__json_fault(lines[i].json, strlen(lines[i].json), out);

        if (says == NULL || lines[i].says == NULL
                ? says != lines[i].says
                : strcmp(says, lines[i].says) != 0) {
            fail_msg("%s: %s", lines[i].json, says != NULL ? says : "JSON");
        }
    }
}

PLAIN_CASE(a_misplaced_byte_is_reported_with_its_place)
{
    static const line lines[] = {
        {"x", "invalid character 'x' looking for beginning of value"},
        {"[,", "invalid character ',' looking for beginning of value"},
        {"[1,]", "invalid character ']' looking for beginning of value"},
        {"{a", "invalid character 'a' looking for beginning of object key "
               "string"},
        {"{\"a\":1,}", "invalid character '}' looking for beginning of object "
                       "key string"},
        {"{\"a\" 1", "invalid character '1' after object key"},
        {"{\"a\":1 2", "invalid character '2' after object key:value pair"},
        {"[1 2", "invalid character '2' after array element"},
        {"{\"a\":1]", "invalid character ']' after object key:value pair"},
        {"[1}", "invalid character '}' after array element"},
        {"{} {", "invalid character '{' after top-level value"},
        {"1 x", "invalid character 'x' after top-level value"},
    };

    expect(lines, sizeof(lines) / sizeof(lines[0]));
}

PLAIN_CASE(a_wrong_byte_in_a_scalar_is_reported_with_the_scalar)
{
    static const line lines[] = {
        {"\"a\nb\"", "invalid character '\\n' in string literal"},
        {"\"\\x\"", "invalid character 'x' in string escape code"},
        {"\"\\u12g4\"",
         "invalid character 'g' in \\u hexadecimal character escape"},
        {"-x", "invalid character 'x' in numeric literal"},
        {"1.x", "invalid character 'x' after decimal point in numeric "
                "literal"},
        {"1ex", "invalid character 'x' in exponent of numeric literal"},
        {"1e+x", "invalid character 'x' in exponent of numeric literal"},
        {"01", "invalid character '1' after top-level value"},
        {"[1.5.5", "invalid character '.' after array element"},
        {"trie", "invalid character 'i' in literal true (expecting 'u')"},
        {"fx", "invalid character 'x' in literal false (expecting 'a')"},
        {"nul]", "invalid character ']' in literal null (expecting 'l')"},
        /* Where the text ends, a blank is what comes. */
        {"nul", "invalid character ' ' in literal null (expecting 'l')"},
        {"\"a\\", "invalid character ' ' in string escape code"},
        {"1.", "invalid character ' ' after decimal point in numeric literal"},
    };

    expect(lines, sizeof(lines) / sizeof(lines[0]));
}

PLAIN_CASE(characters_are_shown_as_go_quotes_them)
{
    static const line lines[] = {
        {"\xae", "invalid character '\xc2\xae' looking for beginning of value"},
        {"\xef\xbb\xbf{}",
         "invalid character '\xc3\xaf' looking for beginning of value"},
        {"\x80", "invalid character '\\u0080' looking for beginning of value"},
        {"\x01", "invalid character '\\x01' looking for beginning of value"},
        {"\x7f", "invalid character '\\x7f' looking for beginning of value"},
        {"'", "invalid character '\\'' looking for beginning of value"},
        {"{\"a\"\"", "invalid character '\"' after object key"},
        {"\\", "invalid character '\\\\' looking for beginning of value"},
        {"\v", "invalid character '\\v' looking for beginning of value"},
    };
    char out[KL__JSON_FAULT_SIZE];

    expect(lines, sizeof(lines) / sizeof(lines[0]));
    assert_string_equal(
        kl__json_fault("\0", 1, out),
        "invalid character '\\x00' looking for beginning of value");
}

PLAIN_CASE(a_truncated_text_is_reported)
{
    static const char *const begun[] = {
        "", " ", "{", "[1,", "{\"a\"", "{\"a\":1", "\"text", "[[1], {}"};
    char out[KL__JSON_FAULT_SIZE];

    for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
        assert_string_equal(kl__json_fault(begun[i], strlen(begun[i]), out),
                            "unexpected end of JSON input");
    }
}

PLAIN_CASE(valid_json_has_no_fault)
{
    static const line lines[] = {
        {"0", NULL},         {"-0.5e-7", NULL},
        {" \t\r\n[]", NULL}, {"{\"a\":[{},[],\"\\u00e4\",true,null]} ", NULL},
        {"1E5", NULL},       {"\"\x7f\xff\"", NULL},
    };

    expect(lines, sizeof(lines) / sizeof(lines[0]));
}

PLAIN_CASE(nesting_is_limited)
{
    enum { LEVELS = 10001 };
    char *deep = malloc(LEVELS);
    char out[KL__JSON_FAULT_SIZE];

    assert_non_null(deep);
    memset(deep, '[', LEVELS);
    assert_string_equal(kl__json_fault(deep, LEVELS, out),
                        "invalid character '[' exceeded max depth");
    assert_string_equal(kl__json_fault(deep, LEVELS - 1, out),
                        "unexpected end of JSON input");
    free(deep);
}
