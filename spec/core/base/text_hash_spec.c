/*
 * text_hash_spec.c - SipHash-1-3 against values of other implementations, and
 * the key of the process.
 */
#include "base/text_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char TEXT[] = "default/shop-1";

/* What CPython 3.11 computes, whose hash() of bytes is SipHash-1-3, with the
 * key of zeros that PYTHONHASHSEED=0 gives it. */
static void a_text_has_the_hash_that_python_computes(void **state)
{
    static const struct {
        const char *text;
        uint64_t hash;
    } known[] = {{"a", 0x407448d2b89b1813},
                 {"default", 0x02e2bcd8739ae039},
                 {"default/", 0x1183baff044956fe},
                 {"default/a", 0xaf9af39b1b5d8099},
                 {TEXT, 0xc7620ffd969f1c59},
                 {"kube-system/coredns-5d78c9869d-abcde", 0x7dc1a976f044ceb8}};
    static const uint64_t zeros[2];

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_int_equal(
            kl__siphash(zeros, known[i].text, strlen(known[i].text)),
            known[i].hash);
    }
}

/* The key of the authors' test vectors, bytes 0 to 15, with an empty text. */
static void both_halves_of_the_key_count(void **state)
{
    static const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    const uint64_t first[2] = {key[0] + 1, key[1]};
    const uint64_t second[2] = {key[0], key[1] + 1};
    uint64_t hash = kl__siphash(key, "", 0);

    (void)state;
    assert_int_equal(hash, 0xabac0158050fc4dc);
    assert_int_not_equal(kl__siphash(first, "", 0), hash);
    assert_int_not_equal(kl__siphash(second, "", 0), hash);
}

static void a_hash_depends_on_each_byte_and_the_length(void **state)
{
    char text[40] = {0};

    (void)state;
    for (size_t length = 0; length < sizeof(text); length++) {
        uint32_t hash = kl__hash(text, length);

        assert_int_not_equal(
            hash, kl__hash(text, length + 1 < sizeof(text) ? length + 1 : 0));
        for (size_t i = 0; i < length; i++) {
            text[i] = 1;
            assert_int_not_equal(hash, kl__hash(text, length));
            text[i] = 0;
        }
    }
}

/* The hash of TEXT in a process that this one starts. */
static uint32_t hash_in_another_process(void)
{
    char command[4096] = {0};
    ssize_t length = readlink("/proc/self/exe", command, sizeof(command) - 8);
    unsigned hash;
    FILE *output;

    assert_in_range(length, 1, sizeof(command) - 9);
    strcat(command, " print");
    output = popen(command, "r");
    assert_non_null(output);
    assert_int_equal(fscanf(output, "%x", &hash), 1);
    assert_int_equal(pclose(output), 0);
    return hash;
}

static void each_process_has_hashes_of_its_own(void **state)
{
    uint32_t here = kl__hash(TEXT, strlen(TEXT));
    uint32_t first = hash_in_another_process();
    uint32_t second = hash_in_another_process();

    (void)state;
    assert_int_equal(here, kl__hash(TEXT, strlen(TEXT)));
    assert_true(here != first && here != second && first != second);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_the_hash_that_python_computes),
        cmocka_unit_test(both_halves_of_the_key_count),
        cmocka_unit_test(a_hash_depends_on_each_byte_and_the_length),
        cmocka_unit_test(each_process_has_hashes_of_its_own),
    };

    if (argc == 2 && strcmp(argv[1], "print") == 0) {
        printf("%x\n", kl__hash(TEXT, strlen(TEXT)));
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
