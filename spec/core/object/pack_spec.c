/*
 * pack_spec.c - objects rest compressed, with a dictionary made of the first
 * ones: what is read is what was packed, and smaller.
 */
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "object/block.h"
#include "object/packer.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void objects_that_are_alike_take_a_tenth(void **state)
{
    kl__packer *packer = pack_trained();

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        kl_object *plain = pack_plain("shop", i, PACK_LENGTH);
        kl_object *packed = kl__packer_pack(
            packer, pack_plain("shop", i, PACK_LENGTH), PACK_CROWD);

        assert_true(kl__object_is_packed(packed));
        assert_in_range(kl_object_bytes(packed), 1, PACK_LENGTH / 5);
        pack_expect_same(packed, plain);
        assert_ptr_equal(kl__packer_pack(packer, packed, PACK_CROWD), packed);
        kl_object_unref(packed);
        kl_object_unref(plain);
    }
    kl__packer_free(packer);
}

/* Packs the same object so many times; it reads as it was. */
static void pack_often(kl__packer *packer, kl_object *like, unsigned count)
{
    const char *json = kl_object_json(like, NULL, NULL);

    for (unsigned i = 0; i < count; i++) {
        kl_object *object =
            kl__packer_pack(packer, object_of(json, NULL), PACK_CROWD);

        assert_true(kl__object_is_packed(object));
        pack_expect_same(object, like);
        kl_object_unref(object);
    }
    kl_object_close_json(like);
}

/* The first object is in the dictionary as a whole. */
static void literals_of_very_small_frames_are_not_coded(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *small = pack_plain("shop", 0, PACK_LENGTH);

    (void)state;
    pack_often(packer, small, 10);
    assert_true(packer->codes_literals);
    pack_often(packer, small, 600);
    assert_false(packer->codes_literals);
    kl_object_unref(small);
    kl__packer_free(packer);
}

static void literals_of_other_frames_are_coded(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *large = pack_plain("other", 0, 8 * PACK_LENGTH);

    (void)state;
    pack_often(packer, large, 300);
    assert_true(packer->codes_literals);
    kl_object_unref(large);
    kl__packer_free(packer);
}

static void objects_of_any_size_read_as_they_were(void **state)
{
    static const size_t lengths[] = {1, 300, 70000, 5000000};
    kl__packer *packer = pack_trained();

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        kl_object *plain = pack_plain("other", 1, lengths[i]);
        kl_object *packed = kl__packer_pack(
            packer, pack_plain("other", 1, lengths[i]), PACK_CROWD);

        assert_true(kl_object_bytes(packed) <= kl_object_bytes(plain));
        assert_true(lengths[i] < 1000 || kl__object_is_packed(packed));
        pack_expect_same(packed, plain);
        kl_object_unref(packed);
        kl_object_unref(plain);
    }
    kl__packer_free(packer);
}

static void an_object_that_does_not_get_smaller_stays_plain(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = kl__packer_pack(packer, pack_random(), PACK_CROWD);

    (void)state;
    assert_false(kl__object_is_packed(object));
    assert_non_null(strstr(kl_object_json(object, NULL, NULL), "\"data\""));
    kl_object_unref(object);
    kl__packer_free(packer);
}

static void an_object_of_another_kind_keeps_its_own(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object =
        kl__packer_pack(packer, pack_of_another_kind(), PACK_CROWD);

    (void)state;
    kl__packer_free(packer);
    assert_true(kl__object_is_packed(object));
    pack_expect_of_another_kind(object);
    kl_object_unref(object);
}

static void a_text_that_does_not_fit_spoils_nothing_for_others(void **state)
{
    kl__packer *packer = pack_trained();
    kl__packer *other = kl__packer_new();
    kl_object *plain = pack_plain("elsewhere", 200, PACK_LENGTH);
    kl_object *packed;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        kl_object_unref(kl__packer_pack(
            other, pack_plain("elsewhere", i, PACK_LENGTH), PACK_CROWD));
    }
    kl_object_unref(pack_one(packer, 1));
    kl_object_unref(kl__packer_pack(packer, pack_random(), PACK_CROWD));
    packed = kl__packer_pack(other, pack_plain("elsewhere", 200, PACK_LENGTH),
                             PACK_CROWD);
    assert_true(kl__object_is_packed(packed));
    pack_expect_same(packed, plain);
    kl_object_unref(packed);
    kl_object_unref(plain);
    kl__packer_free(other);
    kl__packer_free(packer);
}

static void few_objects_have_no_dictionary(void **state)
{
    kl__packer *packer = kl__packer_new();

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        kl_object *object =
            kl__packer_pack(packer, pack_plain("shop", i, PACK_LENGTH), i % 20);

        assert_false(kl__object_is_packed(object));
        kl_object_unref(object);
    }
    kl__packer_free(packer);
    assert_ptr_equal(kl__packer_pack(NULL, NULL, 0), NULL);
}

static void the_end_of_a_list_makes_a_dictionary_of_what_there_is(void **state)
{
    kl__packer *packer = kl__packer_new();
    kl_object *object;

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        kl_object_unref(pack_one(packer, i));
    }
    kl__packer_end_list(packer);
    object = kl__packer_pack(packer, pack_plain("shop", 60, PACK_LENGTH), 0);
    assert_true(kl__object_is_packed(object));
    kl_object_unref(object);
    kl__packer_end_list(packer);
    kl__packer_free(packer);
    kl__packer_end_list(NULL);
}

static void a_dictionary_that_does_not_fit_any_more_is_replaced(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *old = pack_one(packer, 7);
    kl_object *plain = pack_plain("shop", 7, PACK_LENGTH);
    size_t before = 0, after = 0;

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        kl_object_unref(pack_one(packer, i));
    }
    for (unsigned i = 0; i < 2000; i++) {
        kl_object *other = kl__packer_pack(
            packer, pack_plain("elsewhere", i, PACK_LENGTH), PACK_CROWD);

        before += i < 100 ? kl_object_bytes(other) : 0;
        after += i >= 1900 ? kl_object_bytes(other) : 0;
        kl_object_unref(other);
    }
    assert_in_range(after, 1, before * 3 / 4);
    pack_expect_same(old, plain);
    kl__packer_free(packer);
    pack_expect_same(old, plain); /* its dictionary lives as long as it does */
    kl_object_unref(old);
    kl_object_unref(plain);
}

static void all_readers_share_one_text_and_the_last_one_frees_it(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *object = pack_one(packer, 3);
    const char *json;
    long live;

    (void)state;
    failing_alloc_install();
    live = failing_alloc_live();
    json = kl_object_json(object, NULL, NULL);
    assert_ptr_equal(kl_object_json(object, NULL, NULL), json);
    kl_object_close_json(object);
    /* The text, and the count of its readers. */
    assert_int_equal(failing_alloc_live(), live + 2);
    kl_object_close_json(object);
    assert_int_equal(failing_alloc_live(), live);
    failing_alloc_uninstall();
    assert_non_null(kl_object_json(object, NULL, NULL)); /* not closed */
    kl_object_unref(object);
    kl__packer_free(packer);
}

static void an_object_that_is_opened_again_is_kept_open(void **state)
{
    kl__packer *packer = pack_trained();
    kl_object *objects[200];
    const kl_value *root;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        objects[i] = pack_one(packer, i);
        assert_non_null(kl_object_open(objects[i], NULL));
        kl_object_close(objects[i]);
    }
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
    root = kl_object_open(objects[0], NULL);
    kl_object_close(objects[0]);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 1);
    assert_ptr_equal(kl_object_open(objects[0], NULL), root);
    kl_object_close(objects[0]);
    for (unsigned i = 0; i < 200; i++) {
        assert_non_null(kl_object_open(objects[i], NULL));
        kl_object_close(objects[i]);
    }
    assert_in_range(kl_live_count(KL_LIVE_DOC), 1, 32);
    for (unsigned i = 0; i < 200; i++) {
        kl_object_unref(objects[i]);
    }
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
    kl__packer_free(packer);
}

/* Packs a few small objects, and checks them. Returns how often one has another
 * dictionary than the one before it. */
static unsigned pack_few(const kl__pack_limits *limits)
{
    const kl__pack_limits *usual = kl__pack_limits_chosen;
    kl__dictionary *last = NULL;
    unsigned packed = 0, changes = 0;
    kl__packer *packer;

    kl__pack_limits_chosen = limits;
    packer = kl__packer_new();
    for (unsigned i = 0; i < 30; i++) {
        kl_object *plain = pack_plain("shop", i, 100);
        kl_object *object = kl__packer_pack(packer, kl_object_ref(plain), i);

        if (kl__object_is_packed(object)) {
            packed++;
            changes += object->dictionary != last ? 1 : 0;
            kl__dictionary_unref(last);
            last = kl__dictionary_ref(object->dictionary);
        }
        pack_expect_same(object, plain);
        kl_object_unref(object);
        kl_object_unref(plain);
    }
    assert_in_range(packed, 20, 30);
    kl__dictionary_unref(last);
    kl__packer_free(packer);
    kl__pack_limits_chosen = usual;
    return changes;
}

static void with_limits_for_tests_a_few_objects_have_dictionaries(void **state)
{
    static const kl__pack_limits few = KL__PACK_EAGER(false);
    static const kl__pack_limits always = KL__PACK_EAGER(true);

    (void)state;
    assert_int_equal(pack_few(&few), 1);
    assert_in_range(pack_few(&always), 5, 30);
}

#define PACK_TEST(name) \
    cmocka_unit_test_teardown(name, pack_expect_nothing_lives)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PACK_TEST(objects_that_are_alike_take_a_tenth),
        PACK_TEST(literals_of_very_small_frames_are_not_coded),
        PACK_TEST(literals_of_other_frames_are_coded),
        PACK_TEST(objects_of_any_size_read_as_they_were),
        PACK_TEST(an_object_that_does_not_get_smaller_stays_plain),
        PACK_TEST(an_object_of_another_kind_keeps_its_own),
        PACK_TEST(a_text_that_does_not_fit_spoils_nothing_for_others),
        PACK_TEST(few_objects_have_no_dictionary),
        PACK_TEST(the_end_of_a_list_makes_a_dictionary_of_what_there_is),
        PACK_TEST(a_dictionary_that_does_not_fit_any_more_is_replaced),
        PACK_TEST(all_readers_share_one_text_and_the_last_one_frees_it),
        PACK_TEST(an_object_that_is_opened_again_is_kept_open),
        PACK_TEST(with_limits_for_tests_a_few_objects_have_dictionaries),
    };

    return cmocka_run_group_tests(tests, pack_choose_usual_limits, NULL);
}
