/*
 * skip_spec.c - where a value ends does not depend on how many bytes are looked
 * at together: what comes byte by byte is the measure.
 */
#include "json/skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 400, TEXTS = 20000, DEEP = 3 * KL_MAX_DEPTH };

static const kl__skip_way ways[] = {KL__SKIP_BEST, KL__SKIP_SSE2, KL__SKIP_AVX2,
                                    KL__SKIP_AVX512};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

typedef struct found {
    kl__skip_result result;
    size_t at;
    size_t spaces;
} found;

static found skip_by(kl__skip_way way, const char *text, size_t length,
                     size_t chunk)
{
    kl__skip_levels levels;
    kl__skip self;
    const char *at = text;
    found end = {.result = KL__SKIP_MORE};

    memset(&self, 0x5a, sizeof(self)); /* begin sets what matters */
    assert_true(kl__skip_begin(&self, &levels, text[0]));
    self.way = way;
    while (end.result == KL__SKIP_MORE && at < text + length) {
        size_t left = length - (size_t)(at - text);

        end.result =
            kl__skip_run(&self, &at, at + (chunk < left ? chunk : left));
    }
    end.at = (size_t)(at - text);
    end.spaces = self.spaces;
    return end;
}

static found skip_in(const char *text, size_t length, size_t chunk)
{
    return skip_by(KL__SKIP_BEST, text, length, chunk);
}

static void is_the_same_in_any_chunks(const char *text, size_t length)
{
    const size_t chunks[] = {63, 64, 65, 100, 129, length};
    found one = skip_in(text, length, 1);

    for (size_t i = 0; i < WAYS * sizeof(chunks) / sizeof(chunks[0]); i++) {
        kl__skip_way way = ways[i % WAYS];
        found other;

        if (way != KL__SKIP_BEST && !kl__skip_has(way)) {
            continue;
        }
        other = skip_by(way, text, length, chunks[i / WAYS]);
        assert_int_equal(other.result, one.result);
        assert_int_equal(other.at, one.at);
        assert_int_equal(other.spaces, one.spaces);
    }
}

/* Bytes of any kind: much of it is no JSON. */
static void blocks_and_single_bytes_find_the_same_end(void **state)
{
    static const char kinds[] = "{}[]\"\"\"\\\\ \t\n\r,:0az;\x7f\xfb\xdb";
    char text[LENGTH];

    (void)state;
    srandom(4);
    for (int i = 0; i < TEXTS; i++) {
        /* The more of these are left out, the later it goes wrong. */
        size_t first = (size_t)random() % 10;

        text[0] = '{';
        for (size_t at = 1; at < LENGTH; at++) {
            size_t kind = (size_t)random() % (sizeof(kinds) - 1 - first);

            text[at] = kinds[first + kind];
        }
        is_the_same_in_any_chunks(text, LENGTH);
    }
}

/* Appends a random value; always less than a third of what is left. */
static size_t value(char *out, size_t room)
{
    static const char *const atoms[] = {
        "12",       "\"\"",       " null ", "\"a \\\" } \\\\\"",
        "\"\\\\\"", "\"{[ \n]\"", "{ }",    "\"some text of more length\""};
    size_t used = 0;
    char close = random() % 2 == 0 ? '}' : ']';

    if (room < 90 || random() % 4 == 0) {
        const char *atom = atoms[(size_t)random() % 8];

        memcpy(out, atom, strlen(atom));
        return strlen(atom);
    }
    out[used++] = close == '}' ? '{' : '[';
    while (random() % 6 != 0 && room - used > 60) {
        used += value(out + used, (room - used) / 2);
        out[used++] = ',';
    }
    out[used++] = close;
    return used;
}

static void a_value_ends_at_its_last_bracket(void **state)
{
    char text[LENGTH + 64];

    (void)state;
    srandom(5);
    for (int i = 0; i < TEXTS; i++) {
        size_t length = 1;

        text[0] = '[';
        while (length < LENGTH / 2) {
            length += value(text + length, LENGTH - length - 70);
            text[length++] = ',';
        }
        text[length++] = ']';
        memset(text + length, ' ', 64);
        assert_int_equal(skip_in(text, length + 64, LENGTH + 64).at, length);
        assert_int_equal(skip_in(text, length + 64, LENGTH + 64).result,
                         KL__SKIP_DONE);
        is_the_same_in_any_chunks(text, length + 64);
    }
}

/* Opens so many brackets of any kind, and closes them. `wrong`: the one that is
 * closed as another kind; returns where, or the length. */
static size_t put_nested(char *text, size_t depth, size_t wrong, size_t *length)
{
    char closing[KL_MAX_DEPTH];
    size_t at = 0, broken = 0;

    for (size_t i = 0; i < depth; i++) {
        bool is_brace = random() % 8 != 0;

        text[at++] = is_brace ? '{' : '[';
        closing[i] = is_brace ? '}' : ']';
        if (random() % 8 == 0) {
            text[at++] = ',';
        }
    }
    for (size_t i = depth; i-- > 0;) {
        broken = i == wrong ? at : broken;
        text[at++] = i != wrong ? closing[i] : closing[i] == '}' ? ']' : '}';
    }
    *length = at;
    return wrong < depth ? broken : at;
}

static void brackets_match_at_any_depth(void **state)
{
    const size_t depths[] = {2,   5,   62,  63,  64,  65,  66,
                             127, 128, 129, 200, 511, 1000};
    static char text[DEEP];

    (void)state;
    srandom(6);
    for (int i = 0; i < TEXTS / 10; i++) {
        size_t depth = depths[(size_t)i % (sizeof(depths) / sizeof(depths[0]))];
        size_t wrong = (size_t)random() % (2 * depth);
        size_t length;
        size_t end = put_nested(text, depth, wrong, &length);
        found one = skip_in(text, length, 1);

        assert_int_equal(one.at, end);
        assert_int_equal(one.result,
                         wrong < depth ? KL__SKIP_MISMATCH : KL__SKIP_DONE);
        is_the_same_in_any_chunks(text, length);
    }
}

static void a_string_value_ends_at_its_closing_quote(void **state)
{
    char text[LENGTH];

    (void)state;
    memset(text, '[', LENGTH);
    text[0] = '"';
    text[LENGTH - 2] = '"';
    assert_int_equal(skip_in(text, LENGTH, LENGTH).at, LENGTH - 1);
    is_the_same_in_any_chunks(text, LENGTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_single_bytes_find_the_same_end),
        cmocka_unit_test(a_value_ends_at_its_last_bracket),
        cmocka_unit_test(brackets_match_at_any_depth),
        cmocka_unit_test(a_string_value_ends_at_its_closing_quote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
