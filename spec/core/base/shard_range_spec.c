/*
 * shard_range_spec.c - shards of a collection: what their texts mean, what they
 * hold, and what a server is asked.
 */
#include "base/shard_range.h"
#include "kubelua/shard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void each_uid_is_in_one_of_the_shards(void **state)
{
    (void)state;
    for (int count = 1; count <= 7; count++) {
        for (int uid = 0; uid < 200; uid++) {
            char name[32];
            int found = 0;

            snprintf(name, sizeof(name), "c0ffee-%d", uid);
            for (int index = 0; index < count; index++) {
                kl__shard_range range;
                char text[32];
                kl_error err;

                snprintf(text, sizeof(text), "%d/%d", index, count);
                assert_int_equal(kl__shard_range_parse(text, &range, &err),
                                 KL_OK);
                found += kl__shard_range_is_all(&range) ||
                         kl__shard_range_has(&range, name);
            }
            assert_int_equal(found, 1);
        }
    }
}

static void none_and_one_of_one_are_all(void **state)
{
    static const char *const texts[] = {NULL, "", "0/1"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        kl__shard_range range = {7, 7};

        assert_int_equal(kl__shard_range_parse(texts[i], &range, NULL), KL_OK);
        assert_true(kl__shard_range_is_all(&range));
    }
}

static void a_selector_ends_before_the_next_shard(void **state)
{
    static const struct {
        kl__shard_range range;
        const char *selector;
    } known[] = {
        {{0x1000000000000000, 0x1fffffffffffffff},
         "shardRange(object.metadata.uid,'0x1000000000000000',"
         "'0x2000000000000000')"},
        {{0xfff0000000000000, UINT64_MAX},
         "shardRange(object.metadata.uid,'0xfff0000000000000',"
         "'0x10000000000000000')"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        char text[KL__SHARD_SELECTOR_SIZE];

        kl__shard_range_selector(&known[i].range, text);
        assert_string_equal(text, known[i].selector);
    }
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "4/4",  "0/0",  "/",       "1",     "1/",       "/2",    "-1/2",
        "0/4 ", " 0/4", "0/70000", "0x1/4", "000001/4", "1/2/3", "a/b"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        kl__shard_range range;
        kl_error err;

        assert_int_equal(kl__shard_range_parse(texts[i], &range, &err),
                         KL_EINVAL);
        assert_non_null(strstr(err.message, "0/4"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_uid_is_in_one_of_the_shards),
        cmocka_unit_test(none_and_one_of_one_are_all),
        cmocka_unit_test(a_selector_ends_before_the_next_shard),
        cmocka_unit_test(other_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
