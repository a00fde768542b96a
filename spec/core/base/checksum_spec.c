/*
 * checksum_spec.c - the checksum notices damage of many kinds.
 */
#include "base/checksum.h"

#include "xorshift.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 331 }; /* whole steps of 32 bytes, and a rest */

static uint32_t fill(char *bytes)
{
    for (size_t i = 0; i < LENGTH; i++) {
        bytes[i] = (char)next_random();
    }
    return kl__checksum(bytes, LENGTH);
}

static void each_changed_bit_changes_the_checksum(void **state)
{
    char bytes[LENGTH];
    uint32_t whole = fill(bytes);

    (void)state;
    for (size_t i = 0; i < LENGTH * 8; i++) {
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        assert_int_not_equal(kl__checksum(bytes, LENGTH), whole);
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
    }
    assert_int_equal(kl__checksum(bytes, LENGTH), whole);
}

static void swapped_words_change_the_checksum(void **state)
{
    char bytes[LENGTH], swapped[LENGTH];
    uint32_t whole = fill(bytes);

    (void)state;
    for (size_t a = 0; a + 8 <= LENGTH; a += 8) {
        for (size_t b = a + 8; b + 8 <= LENGTH; b += 8) {
            memcpy(swapped, bytes, LENGTH);
            memcpy(swapped + a, bytes + b, 8);
            memcpy(swapped + b, bytes + a, 8);
            assert_int_not_equal(kl__checksum(swapped, LENGTH), whole);
        }
    }
}

static void each_length_has_another_checksum(void **state)
{
    char zeros[LENGTH] = {0};
    uint32_t seen[LENGTH];

    (void)state;
    for (size_t length = 0; length < LENGTH; length++) {
        seen[length] = kl__checksum(zeros, length);
        for (size_t i = 0; i < length; i++) {
            assert_int_not_equal(seen[i], seen[length]);
        }
    }
}

/* Where the bytes stand does not matter, and bytes behind them are not read. */
static void a_checksum_depends_on_its_bytes_only(void **state)
{
    char bytes[LENGTH];

    (void)state;
    fill(bytes);
    for (size_t length = 0; length < LENGTH; length++) {
        uint32_t expected = kl__checksum(bytes, length);

        for (size_t at = 0; at < 3; at++) {
            char *block = malloc(at + length + 1);

            assert_non_null(block);
            memcpy(block + at, bytes, length);
            block[at + length] = 'x';
            assert_int_equal(kl__checksum(block + at, length), expected);
            free(block);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_changed_bit_changes_the_checksum),
        cmocka_unit_test(swapped_words_change_the_checksum),
        cmocka_unit_test(each_length_has_another_checksum),
        cmocka_unit_test(a_checksum_depends_on_its_bytes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
