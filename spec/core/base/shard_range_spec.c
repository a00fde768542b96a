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
                kl__shard_ranges ranges;
                char text[32];
                kl_error err;

                snprintf(text, sizeof(text), "%d/%d", index, count);
                assert_int_equal(kl__shard_ranges_parse(text, &ranges, &err),
                                 KL_OK);
                found += kl__shard_ranges_have(&ranges, name);
            }
            assert_int_equal(found, 1);
        }
    }
}

static void none_and_one_of_one_are_all(void **state)
{
    static const char *const texts[] = {NULL, "", "0/1", "1/2,0/2",
                                        "0/4,1/2,1/4,0/2"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        kl__shard_ranges ranges = {.count = 7};

        assert_int_equal(kl__shard_ranges_parse(texts[i], &ranges, NULL),
                         KL_OK);
        assert_true(kl__shard_ranges_are_all(&ranges));
    }
}

static void a_selector_ends_before_the_next_shard(void **state)
{
    static const struct {
        const char *shards;
        const char *selector;
    } known[] = {
        {"1/16", "shardRange(object.metadata.uid,'0x1000000000000000',"
                 "'0x2000000000000000')"},
        {"3/4", "shardRange(object.metadata.uid,'0xc000000000000000',"
                "'0x10000000000000000')"},
        {"3/4,0/4", "shardRange(object.metadata.uid,'0x0000000000000000',"
                    "'0x4000000000000000') || "
                    "shardRange(object.metadata.uid,'0xc000000000000000',"
                    "'0x10000000000000000')"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        kl__shard_ranges ranges;
        kl__buf text = {0};

        assert_int_equal(kl__shard_ranges_parse(known[i].shards, &ranges, NULL),
                         KL_OK);
        kl__shard_ranges_selector(&ranges, &text);
        assert_string_equal(text.bytes, known[i].selector);
        kl__buf_deinit(&text);
    }
}

/* Compares what several shards have with what each of them has. */
static void several_shards_have_what_each_has(void **state)
{
    static const char *const texts[] = {"0/3", "2/3", "1/7", "6/7", "3/256"};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };

    (void)state;
    for (unsigned chosen = 1; chosen < 1U << TEXTS; chosen++) {
        kl__shard_ranges each[TEXTS], all;
        char text[64] = "";

        for (unsigned i = 0; i < TEXTS; i++) {
            if ((chosen >> i & 1) != 0) {
                strcat(text, text[0] != '\0' ? "," : "");
                strcat(text, texts[i]);
            }
            kl__shard_ranges_parse(texts[i], &each[i], NULL);
        }
        assert_int_equal(kl__shard_ranges_parse(text, &all, NULL), KL_OK);
        for (int uid = 0; uid < 100; uid++) {
            bool expected = false;
            char name[32];

            snprintf(name, sizeof(name), "c0ffee-%d", uid);
            for (unsigned i = 0; i < TEXTS; i++) {
                expected |= (chosen >> i & 1) != 0 &&
                            kl__shard_ranges_have(&each[i], name);
            }
            assert_int_equal(kl__shard_ranges_have(&all, name), expected);
        }
    }
}

static void shards_beside_each_other_are_one_range(void **state)
{
    kl__shard_ranges ranges;
    kl__buf text = {0};
    kl_error err;

    (void)state;
    assert_int_equal(kl__shard_ranges_parse("5/8,3/8,4/8,0/8", &ranges, NULL),
                     KL_OK);
    assert_int_equal(ranges.count, 2);
    for (int i = 0; i < 256; i += 2) { /* each second part of a ring */
        kl__buf_printf(&text, "%s%d/256", i > 0 ? "," : "", i);
    }
    assert_int_equal(kl__shard_ranges_parse(text.bytes, &ranges, &err), KL_OK);
    assert_int_equal(ranges.count, KL__SHARD_RANGES_MAX);
    kl__buf_puts(&text, ",603/1000");
    assert_int_equal(kl__shard_ranges_parse(text.bytes, &ranges, &err), KL_OK);
    kl__buf_deinit(&text);
    for (int i = 0; i < 258; i += 2) {
        kl__buf_printf(&text, "%s%d/300", i > 0 ? "," : "", i);
    }
    assert_int_equal(kl__shard_ranges_parse(text.bytes, &ranges, &err),
                     KL_EINVAL);
    assert_non_null(strstr(err.message, "more than 128 ranges"));
    kl__buf_deinit(&text);
}

static void other_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "4/4",  "0/0",     "/",     "1",        "1/",      "/2",
        "-1/2", "0/4,",    ",",     "0/4,,1/4", "0/4;1/4", "0/4 ",
        " 0/4", "0/70000", "0x1/4", "000001/4", "1/2/3",   "a/b"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        kl__shard_ranges ranges;
        kl_error err;

        assert_int_equal(kl__shard_ranges_parse(texts[i], &ranges, &err),
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
        cmocka_unit_test(several_shards_have_what_each_has),
        cmocka_unit_test(shards_beside_each_other_are_one_range),
        cmocka_unit_test(other_texts_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
