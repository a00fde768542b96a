/*
 * walk_spec.c - kl_shared_walk: lists every entry of a table or of all, also
 * while the owner publishes, and stops at damage.
 */
#include "kubelua/shared.h"
#include "kubelua/shared_write.h"
#include "shared/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 3000, CAPACITY = 100 };

static kl_shared *own_map(const char *name)
{
    const kl_shared_options options = {.name = name, .size = 8 << 20};
    kl_shared *map = kl_shared_open(&options, NULL);

    assert_non_null(map);
    assert_int_equal(kl__shared_take(map, NULL), KL_OK);
    return map;
}

static kl_shared_key key_of(kl_shared *map, const char *table, int number)
{
    kl_shared_key key;
    char text[32];
    int length = snprintf(text, sizeof(text), "%d", number);

    assert_true(kl_shared_key_init(map, table, text, (size_t)length, &key));
    return key;
}

static void put(kl_shared *map, const char *table, int number)
{
    kl_shared_key key = key_of(map, table, number);

    assert_int_equal(kl_shared_put(map, &key, "value", 5, NULL), KL_OK);
}

static void take_away(kl_shared *map, const char *table, int number)
{
    kl_shared_key key = key_of(map, table, number);

    assert_int_equal(kl_shared_remove(map, &key, NULL), KL_OK);
}

static void publish(kl_shared *map)
{
    assert_int_equal(kl_shared_publish(map, NULL), KL_OK);
}

/* How often each number was listed. */
typedef struct tally {
    int seen[2 * MANY];
    int calls;
} tally;

static void add_to_tally(tally *self, const kl_shared_entry *entries,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *key = entries[i].name + entries[i].table_length + 1;

        assert_int_equal(strlen(entries[i].name), entries[i].table_length);
        assert_int_equal(strlen(key), entries[i].key_length);
        assert_true(entries[i].bytes >= 64);
        self->seen[strtol(key, NULL, 10)]++;
    }
}

/* One call; false: it was the last one. */
static bool walk_part(kl_shared *map, kl_shared_cursor *cursor, tally *self)
{
    static kl_shared_entry entries[CAPACITY];
    uint32_t count;

    assert_int_equal(kl_shared_walk(map, cursor, entries, CAPACITY, &count),
                     KL_SHARED_OK);
    add_to_tally(self, entries, count);
    self->calls++;
    return cursor->place != 0;
}

static tally *walk_all(kl_shared *map, const char *table)
{
    tally *self = calloc(1, sizeof(*self));
    kl_shared_cursor cursor = {.table = table};

    assert_non_null(self);
    while (walk_part(map, &cursor, self)) {
        assert_true(self->calls < MANY);
    }
    return self;
}

static void a_walk_lists_each_entry_of_a_table_once(void **state)
{
    kl_shared *map = own_map("whole");
    tally *seen;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        put(map, i % 2 == 0 ? "even" : "odd", i);
    }
    publish(map);
    seen = walk_all(map, "even");
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(seen->seen[i], i % 2 == 0);
    }
    free(seen);
    seen = walk_all(map, NULL);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(seen->seen[i], 1);
    }
    assert_true(seen->calls > 1);
    free(seen);
    kl_shared_close(map);
}

static void a_map_without_entries_is_walked_in_one_call(void **state)
{
    kl_shared *map = own_map("empty");
    tally *seen = walk_all(map, NULL);

    (void)state;
    assert_int_equal(seen->calls, 1);
    free(seen);
    publish(map);
    seen = walk_all(map, NULL);
    assert_int_equal(seen->calls, 1);
    free(seen);
    kl_shared_close(map);
}

/* Entries below MANY stay; those above come and go between the calls, so that
 * the number of buckets doubles and halves. */
static void what_stays_is_listed_while_the_rest_comes_and_goes(void **state)
{
    kl_shared *map = own_map("changing");
    tally *seen = calloc(1, sizeof(*seen));
    kl_shared_cursor cursor = {.table = "t"};

    (void)state;
    for (int i = 0; i < MANY; i++) {
        put(map, "t", i);
    }
    publish(map);
    while (walk_part(map, &cursor, seen)) {
        for (int i = MANY; i < 2 * MANY; i++) {
            if (seen->calls % 2 == 1) {
                put(map, "t", i);
            } else {
                take_away(map, "t", i);
            }
        }
        publish(map);
        assert_true(seen->calls < MANY);
    }
    for (int i = 0; i < MANY; i++) {
        assert_true(seen->seen[i] >= 1);
    }
    free(seen);
    kl_shared_close(map);
}

static void a_buffer_that_is_too_small_is_refused(void **state)
{
    kl_shared *map = own_map("small");
    kl_shared_entry entry;
    kl_shared_cursor cursor = {0};
    uint32_t count = 7;

    (void)state;
    put(map, "t", 1);
    publish(map);
    assert_int_equal(kl_shared_walk(map, &cursor, &entry, 0, &count),
                     KL_SHARED_TOO_SMALL);
    assert_int_equal(count, 1);
    assert_int_equal(cursor.place, 0);
    kl_shared_close(map);
}

static void damage_ends_a_walk(void **state)
{
    kl_shared *map = own_map("damaged");
    kl_shared_entry entries[8];
    kl_shared_cursor cursor = {0};
    uint64_t generation;
    uint32_t count;
    kl__word *slot;

    (void)state;
    for (int i = 0; i < 4; i++) {
        put(map, "t", i);
    }
    publish(map);
    generation = kl__word_load(&map->head->generation);
    slot =
        map->slots + (generation % KL__SHARED_SLOTS) * (size_t)map->slot_words;
    for (uint32_t i = KL__SLOT_HEAD; i < KL__SLOT_HEAD + 4; i++) {
        kl__word_store(&slot[i], UINT64_MAX);
    }
    assert_int_equal(kl_shared_walk(map, &cursor, entries, 8, &count),
                     KL_SHARED_BROKEN);
    assert_int_equal(count, 0);
    kl__word_store(&slot[KL__SLOT_BITS], KL__SLOT_BITS_MAX + 1);
    assert_int_equal(kl_shared_walk(map, &cursor, entries, 8, &count),
                     KL_SHARED_BROKEN);
    kl_shared_close(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_lists_each_entry_of_a_table_once),
        cmocka_unit_test(a_map_without_entries_is_walked_in_one_call),
        cmocka_unit_test(what_stays_is_listed_while_the_rest_comes_and_goes),
        cmocka_unit_test(a_buffer_that_is_too_small_is_refused),
        cmocka_unit_test(damage_ends_a_walk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
