/*
 * table_spec.c - the compact hash table, against a plain array.
 */
#include "base/table.h"

#include "xorshift.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 2000, STEPS = 40000 };

typedef struct item {
    char text[16];
    uint32_t hash;
    uint32_t number;
    bool is_in;
} item;

static const char *text_of(const void *context, const void *value)
{
    (void)context;
    return ((const item *)value)->text;
}

static item *make_items(uint32_t mask)
{
    static item items[ITEMS];

    for (uint32_t i = 0; i < ITEMS; i++) {
        snprintf(items[i].text, sizeof(items[i].text), "item-%u", i);
        items[i].hash = kl__key_of(items[i].text).hash & mask;
        items[i].number = i + 1;
        items[i].is_in = false;
    }
    return items;
}

static uint32_t find(const kl__table *table, const item *one)
{
    kl__key key = {one->text, strlen(one->text), one->hash};

    return kl__table_find(table, &key, text_of, NULL);
}

/* Items with equal hashes are not told apart. */
static void assert_guess(const kl__table *table, const item *one)
{
    const item *guess = kl__table_guess(table, one->hash);

    kl__table_fetch(table, one->hash); /* changes nothing */
    assert_true(guess != NULL || !one->is_in);
    assert_true(guess == NULL || (guess->is_in && guess->hash == one->hash));
}

/* Each item is found, or not found, by its key and by its address. */
static void assert_content(const kl__table *table, const item *items)
{
    uint32_t cursor = 0, slot, seen = 0, expected = 0;

    for (uint32_t i = 0; i < ITEMS; i++) {
        slot = find(table, &items[i]);
        assert_int_equal(slot,
                         kl__table_find_item(table, items[i].hash, &items[i]));
        assert_int_equal(slot != KL__NO_SLOT, items[i].is_in);
        if (items[i].is_in) {
            expected++;
            assert_ptr_equal(table->items[slot], &items[i]);
        }
        assert_guess(table, &items[i]);
        if (items[i].is_in && table->has_links != 0) {
            assert_int_equal((uintptr_t)*kl__table_link(table, slot),
                             items[i].number);
        }
    }
    while ((slot = kl__table_next(table, &cursor)) != KL__NO_SLOT) {
        assert_true(((item *)table->items[slot])->is_in);
        seen++;
    }
    assert_int_equal(seen, expected);
    assert_int_equal(table->count, expected);
}

static void change_one(kl__table *table, item *one)
{
    uint32_t slot;

    if (one->is_in) {
        kl__table_remove(table, find(table, one));
    } else {
        assert_true(kl__table_reserve(table, 1));
        slot = kl__table_add(table, one->hash, one);
        if (table->has_links != 0) {
            *kl__table_link(table, slot) = (void *)(uintptr_t)one->number;
        }
    }
    one->is_in = !one->is_in;
}

static void change_at_random(kl__table *table, uint32_t mask)
{
    item *items = make_items(mask);

    for (uint32_t i = 0; i < STEPS; i++) {
        change_one(table, &items[next_random() % ITEMS]);
        if (i % 1000 == 0) {
            assert_content(table, items);
        }
    }
    for (uint32_t i = 0; i < ITEMS; i++) {
        if (items[i].is_in) {
            change_one(table, &items[i]);
        }
    }
    assert_content(table, items);
    kl__table_deinit(table);
}

static void a_table_finds_items_until_they_are_removed(void **state)
{
    kl__table table = {0};

    (void)state;
    change_at_random(&table, UINT32_MAX);
}

static void items_with_equal_hashes_are_told_apart(void **state)
{
    kl__table table = {.salt = 7};

    (void)state;
    change_at_random(&table, 0x3f);
}

static void a_link_moves_with_the_item(void **state)
{
    kl__table table = {.salt = 3, .has_links = 1};

    (void)state;
    change_at_random(&table, 0xfff);
}

static void a_key_is_found_only_if_it_is_the_whole_text(void **state)
{
    item *items = make_items(0); /* all hashes are equal */
    kl__table table = {0};
    kl__key shorter = {items[12].text, strlen("item-1"), 0};
    kl__key longer = {"item-10000", strlen("item-10000"), 0};

    (void)state;
    assert_int_equal(kl__table_find(&table, &longer, text_of, NULL),
                     KL__NO_SLOT);
    change_one(&table, &items[12]);
    change_one(&table, &items[1000]);
    assert_int_equal(kl__table_find(&table, &shorter, text_of, NULL),
                     KL__NO_SLOT);
    assert_int_equal(kl__table_find(&table, &longer, text_of, NULL),
                     KL__NO_SLOT);
    kl__table_deinit(&table);
}

/* At most 1.9 slots an item, however many there are; and adding never fills the
 * last slot, which ends a search. */
static void a_table_grows_by_half(void **state)
{
    item *items = make_items(UINT32_MAX);
    kl__table table = {0};

    (void)state;
    for (uint32_t i = 0; i < ITEMS; i++) {
        change_one(&table, &items[i]);
        assert_true(table.capacity > table.count);
        assert_true(table.capacity * 10 <= table.count * 19 + 20);
    }
    kl__table_deinit(&table);
}

static void a_copy_has_room_and_is_small_if_few_items_are_left(void **state)
{
    item *items = make_items(UINT32_MAX);
    kl__table table = {.salt = 5}, copy;

    (void)state;
    for (uint32_t i = 0; i < ITEMS; i++) {
        change_one(&table, &items[i]);
    }
    assert_false(kl__table_fits(&table, ITEMS));
    assert_true(kl__table_copy(&table, ITEMS, &copy));
    assert_true(kl__table_fits(&copy, ITEMS));
    assert_content(&copy, items);
    kl__table_deinit(&copy);
    for (uint32_t i = 10; i < ITEMS; i++) {
        change_one(&table, &items[i]);
    }
    assert_false(kl__table_fits(&table, 0)); /* much too large */
    assert_true(kl__table_copy(&table, 1, &copy));
    assert_true(copy.capacity <= 32);
    assert_content(&copy, items);
    kl__table_deinit(&copy);
    kl__table_deinit(&table);
}

/* Else half of a table would be full, and the other half empty, when half of
 * the items have been added: each search would run through the full half. */
static void the_order_of_one_table_is_no_order_for_another_salt(void **state)
{
    enum { PART = 100, PARTS = 8 };
    item *items = make_items(UINT32_MAX);
    kl__table from = {0}, to = {.salt = kl__key_of("node").hash};
    uint32_t cursor = 0, parts[PARTS] = {0};

    (void)state;
    for (uint32_t i = 0; i < ITEMS; i++) {
        change_one(&from, &items[i]);
    }
    assert_true(kl__table_reserve(&to, ITEMS));
    for (uint32_t i = 0; i < PART; i++) {
        item *one = from.items[kl__table_next(&from, &cursor)];
        uint32_t slot = kl__table_add(&to, one->hash, one);

        parts[(uint64_t)slot * PARTS / to.capacity]++;
    }
    for (uint32_t i = 0; i < PARTS; i++) {
        assert_in_range(parts[i], 1, PART / 3);
    }
    kl__table_deinit(&from);
    kl__table_deinit(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_finds_items_until_they_are_removed),
        cmocka_unit_test(items_with_equal_hashes_are_told_apart),
        cmocka_unit_test(a_link_moves_with_the_item),
        cmocka_unit_test(a_key_is_found_only_if_it_is_the_whole_text),
        cmocka_unit_test(a_table_grows_by_half),
        cmocka_unit_test(a_copy_has_room_and_is_small_if_few_items_are_left),
        cmocka_unit_test(the_order_of_one_table_is_no_order_for_another_salt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
