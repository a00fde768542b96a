/*
 * hash_spec.c - SHA-256 is SHA-256, and equal JSON values have equal hashes.
 */
#include "base/sha256.h"
#include "kubelua/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void assert_digest(const char *text, size_t length, const char *expected)
{
    unsigned char digest[KL__SHA256_SIZE];
    char hex[2 * KL__SHA256_SIZE + 1];

    kl__sha256(text, length, digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    }
    assert_string_equal(hex, expected);
}

/* The examples of NIST for FIPS 180, and lengths around a block, of which
 * sha256sum has told the digests. */
static void sha256_has_the_digests_of_the_standard(void **state)
{
    static const char long_text[] =
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    char as[128];

    (void)state;
    memset(as, 'a', sizeof(as));
    assert_digest(
        "", 0,
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_digest(
        "abc", 3,
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_digest(
        long_text, 56,
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    assert_digest(
        as, 55,
        "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
    assert_digest(
        as, 63,
        "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34");
    assert_digest(
        as, 64,
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
    assert_digest(
        as, 65,
        "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0");
    assert_digest(
        as, 119,
        "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb");
    assert_digest(
        as, 120,
        "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c");
    assert_digest(
        as, 128,
        "6836cf13bac400e9105071cd6af47084dfacad4e5e302c94bfed24e013afb73e");
}

static void assert_hash(const char *json, const char *expected)
{
    kl_doc *doc = kl_doc_parse(json, strlen(json), NULL);
    char hash[KL_HASH_SIZE];

    assert_non_null(doc);
    assert_int_equal(kl_value_hash(kl_doc_root(doc), hash, NULL), KL_OK);
    assert_string_equal(hash, expected);
    kl_doc_unref(doc);
}

static void assert_same(const char *json, const char *other, bool expected)
{
    const char *texts[] = {json, other};
    char hashes[2][KL_HASH_SIZE];

    for (int i = 0; i < 2; i++) {
        kl_doc *doc = kl_doc_parse(texts[i], strlen(texts[i]), NULL);

        assert_non_null(doc);
        assert_int_equal(kl_value_hash(kl_doc_root(doc), hashes[i], NULL),
                         KL_OK);
        kl_doc_unref(doc);
    }
    if ((strcmp(hashes[0], hashes[1]) == 0) != expected) {
        fail_msg("%s and %s: %s, %s", json, other, hashes[0], hashes[1]);
    }
}

/* What Python's hashlib makes of the sorted text: names that were made with
 * one version are found by the next. */
static void the_hash_of_a_value_never_changes(void **state)
{
    (void)state;
    assert_hash("{}", "chxpgctjv2q7vw");
    assert_hash("null", "dc2n54xm7tqtzc");
    assert_hash(
        "{\"b\":{\"y\":[],\"x\":[1,-2.5,null]},\"a\":\"\\u00fc\\n\",\"c\":1e3}",
        "clnzprgjwbwqd5");
}

static void the_order_of_members_does_not_matter(void **state)
{
    (void)state;
    assert_same("{\"a\":1,\"b\":{\"c\":2,\"d\":3}}",
                " { \"b\" : {\"d\":3, \"c\":2}, \"a\": 1 } ", true);
    assert_same("{\"a\":1,\"aa\":2,\"\":3}", "{\"\":3,\"aa\":2,\"a\":1}", true);
    assert_same("{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":3,\"b\":2}", true);
    assert_same("[1,2]", "[2,1]", false);
}

static void a_number_has_one_form(void **state)
{
    (void)state;
    assert_same("1", "1.0", true);
    assert_same("1", "10e-1", true);
    assert_same("0", "-0", true);
    assert_same("0", "-0.0", true);
    assert_same("1152921504606846976", "1.152921504606846976e18", true);
    assert_same("-9223372036854775808", "-9.223372036854775808e18", true);
    assert_same("9223372036854775808", "9.223372036854775808e18", true);
    assert_same("1.5", "15e-1", true);
    assert_same("9007199254740993", "9007199254740992", false);
    assert_same("18446744073709551615", "18446744073709551614", false);
    assert_same("100000000000000000000000001", "100000000000000000000000002",
                false);
}

static void different_values_have_different_hashes(void **state)
{
    static const char *const texts[] = {
        "null",  "false",  "true",        "0",          "1",
        "\"\"",  "\"0\"",  "\"null\"",    "[]",         "{}",
        "[[]]",  "[null]", "{\"a\":[]}",  "{\"a\":{}}", "{\"a\":null}",
        "\"a\"", "1e300",  "\"\\u0000\"", "[1,2]",      "[12]",
    };
    size_t count = sizeof(texts) / sizeof(texts[0]);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < count; j++) {
            assert_same(texts[i], texts[j], i == j);
        }
    }
    assert_same("\"\\u00fc\"", "\"\xc3\xbc\"", true);
}

static void a_value_nested_to_the_limit_is_hashed(void **state)
{
    char text[2 * KL_MAX_DEPTH + 1] = {0};

    (void)state;
    memset(text, '[', KL_MAX_DEPTH);
    memset(text + KL_MAX_DEPTH, ']', KL_MAX_DEPTH);
    assert_same(text, text, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_has_the_digests_of_the_standard),
        cmocka_unit_test(the_hash_of_a_value_never_changes),
        cmocka_unit_test(the_order_of_members_does_not_matter),
        cmocka_unit_test(a_number_has_one_form),
        cmocka_unit_test(different_values_have_different_hashes),
        cmocka_unit_test(a_value_nested_to_the_limit_is_hashed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
