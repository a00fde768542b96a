/*
 * index_model_spec.c - an index whose objects have none, one or several values,
 * under random changes, against a plain array; and the bytes that the tables of
 * the cache hold.
 */
#include "cache/indexer.h"

#include "cache_rig.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "xorshift.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { KEYS = 3000, VALUES = 40, NAMESPACES = 3 };

/* The model: the version of each key's object; 0: none. */
static int versions[KEYS];

/* The values of an object, from its version alone: 0 to 3, some of them twice.
 * Returns how many. */
static int values_of(int version, int *values)
{
    int count = version % 4;

    for (int i = 0; i < count; i++) {
        values[i] = (version / 4 + i * (version % 3)) % VALUES;
    }
    return count;
}

static bool has_value(int version, int value)
{
    int values[3];
    int count = values_of(version, values);

    for (int i = 0; i < count; i++) {
        if (values[i] == value) {
            return true;
        }
    }
    return false;
}

static kl_code emit_values(void *context, const kl_object *object,
                           const kl_value *root, kl_index_sink *sink)
{
    int values[3];
    int count = values_of(atoi(kl_object_resource_version(object)), values);
    kl_code code = KL_OK;

    (void)context;
    (void)root;
    for (int i = 0; code == KL_OK && i < count; i++) {
        char text[16];
        int length = snprintf(text, sizeof(text), "v%d", values[i]);

        code = kl_index_emit(sink, text, (size_t)length);
    }
    return code;
}

static kl_object *make_object(int key, int version)
{
    char json[256];
    int length = snprintf(
        json, sizeof(json),
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"web-%d\",\"namespace\":\"team-%d\",\"uid\":\"%d\","
        "\"resourceVersion\":\"%d\"}}",
        key, key % NAMESPACES, key, version);

    return kl_object_parse(json, (size_t)length, NULL, NULL);
}

static void assert_count(kl__indexer *indexer, const char *index,
                         const char *value, size_t expected)
{
    kl_object_list list;

    assert_int_equal(
        index != NULL ? kl__indexer_by_index(indexer, index, value, &list, NULL)
                      : kl__indexer_list(indexer, value, NULL, &list, NULL),
        KL_OK);
    assert_int_equal(list.count, expected);
    for (size_t i = 0; i < list.count; i++) {
        kl_object *now = kl__indexer_get(indexer, kl_object_key(list.items[i]));

        assert_ptr_equal(now, list.items[i]);
        kl_object_unref(now);
    }
    kl_object_list_clear(&list);
}

/* Compares the store, the namespaces and the index with the model. */
static void assert_model(kl__indexer *indexer)
{
    kl_string_list used;
    size_t count = 0, values = 0;
    char text[16];

    for (int space = 0; space < NAMESPACES; space++) {
        size_t here = 0;

        for (int key = space; key < KEYS; key += NAMESPACES) {
            here += versions[key] != 0 ? 1 : 0;
        }
        snprintf(text, sizeof(text), "team-%d", space);
        assert_count(indexer, NULL, text, here);
        count += here;
    }
    assert_int_equal(kl__indexer_count(indexer), count);
    for (int value = 0; value < VALUES; value++) {
        size_t here = 0;

        for (int key = 0; key < KEYS; key++) {
            here += has_value(versions[key], value) ? 1 : 0;
        }
        snprintf(text, sizeof(text), "v%d", value);
        assert_count(indexer, "values", text, here);
        values += here > 0 ? 1 : 0;
    }
    assert_int_equal(kl__indexer_index_values(indexer, "values", &used, NULL),
                     KL_OK);
    assert_int_equal(used.count, values);
    kl_string_list_clear(&used);
}

/* Changes some keys; a key may change several times in one batch. */
static void apply_some(kl__indexer *indexer, int *version, size_t count,
                       uint32_t deletes)
{
    kl__delta deltas[64];
    kl__delta_batch batch = {.items = deltas, .count = 0, .capacity = 64};
    kl__change_list changes = {0};

    for (; batch.count < count; batch.count++) {
        int key = (int)(next_random() % KEYS);
        bool gone = next_random() % 10 < deletes;

        ++*version;
        deltas[batch.count] =
            cache_delta(gone ? KL__DELTA_DELETED : KL__DELTA_UPDATED,
                        make_object(key, *version));
        versions[key] = gone ? 0 : *version;
    }
    assert_int_equal(cache_transact_batch(indexer, &batch, &changes), KL_OK);
    kl__change_list_clear(&changes);
    for (size_t i = 0; i < batch.count; i++) {
        kl__delta_clear(&deltas[i]);
    }
}

/* A new list: of each ten keys `keeps` are there, `news` of them changed. */
static void relist(kl__indexer *indexer, int *version, uint32_t keeps,
                   uint32_t news)
{
    static kl_object *items[KEYS];
    kl_object_list list = {items, 0};
    kl__change_list changes = {0};

    for (int key = 0; key < KEYS; key++) {
        bool stays = next_random() % 10 < keeps;

        if (stays && (versions[key] == 0 || next_random() % 10 < news)) {
            versions[key] = ++*version;
        }
        versions[key] = stays ? versions[key] : 0;
        if (stays) {
            items[list.count++] = make_object(key, versions[key]);
        }
    }
    assert_int_equal(cache_transact_list(indexer, &list, "1", &changes), KL_OK);
    kl__change_list_clear(&changes);
    for (size_t i = 0; i < list.count; i++) {
        kl_object_unref(items[i]);
    }
}

static void add_values(kl__indexer *indexer, const char *name)
{
    kl__index_options options = {.name = name, .fn = emit_values};

    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
}

static void an_index_of_many_values_follows_random_changes(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    int version = 0;

    (void)state;
    add_values(indexer, "values");
    for (uint32_t round = 0; round < 60; round++) {
        apply_some(indexer, &version, 1 + next_random() % 64, round % 7);
        apply_some(indexer, &version, 64, round % 12);
        if (round % 10 == 5) {
            /* Many changes are swapped in as a whole, few are not. */
            relist(indexer, &version, round % 20 == 5 ? 10 : 4, round % 9);
        }
        assert_model(indexer);
    }
    memset(versions, 0, sizeof(versions));
    relist(indexer, &version, 0, 0);
    assert_model(indexer);
    cache_end(indexer);
}

static void a_late_index_of_many_values_is_as_an_early_one(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    int version = 0;

    (void)state;
    for (uint32_t round = 0; round < 30; round++) {
        apply_some(indexer, &version, 64, 2);
    }
    add_values(indexer, "values");
    assert_model(indexer);
    apply_some(indexer, &version, 64, 5);
    assert_model(indexer);
    memset(versions, 0, sizeof(versions));
    cache_end(indexer);
}

static kl_code change_without_memory(void *context)
{
    kl__indexer *indexer = context;
    kl__delta deltas[24];
    kl__delta_batch batch = {.items = deltas, .count = 24, .capacity = 24};
    kl__change_list changes = {0};
    kl_code code = KL_OK;

    for (int i = 0; i < 24; i++) {
        deltas[i] =
            cache_delta(i % 5 == 4 ? KL__DELTA_DELETED : KL__DELTA_UPDATED,
                        make_object(i, 100 + i));
        code = deltas[i].object == NULL ? KL_ENOMEM : code;
    }
    if (code == KL_OK) {
        code = cache_transact_batch(indexer, &batch, &changes);
    }
    kl__change_list_clear(&changes);
    for (int i = 0; i < 24; i++) {
        kl__delta_clear(&deltas[i]);
    }
    return code;
}

static kl_code index_without_memory(void *context)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__index_options options = {.name = "values", .fn = emit_values};
    kl_code code = KL_ENOMEM;

    (void)context;
    if (indexer != NULL) {
        code = kl__indexer_add_index(indexer, &options, NULL);
    }
    if (code == KL_OK) {
        code = change_without_memory(indexer);
    }
    kl__indexer_free(indexer);
    return code;
}

static void without_memory_an_index_is_as_before(void **state)
{
    (void)state;
    failing_alloc_each(index_without_memory, NULL);
}

static size_t held; /* bytes that the library has allocated */

static void *count_malloc(size_t size)
{
    void *block = malloc(size);

    held += malloc_usable_size(block);
    return block;
}

static void *count_realloc(void *block, size_t size)
{
    size_t before = block != NULL ? malloc_usable_size(block) : 0;
    void *after = realloc(block, size);

    assert_non_null(after);
    held += malloc_usable_size(after) - before;
    return after;
}

static void count_free(void *block)
{
    held -= block != NULL ? malloc_usable_size(block) : 0;
    free(block);
}

static void count_bytes(void)
{
    static const kl_allocator counting = {count_malloc, count_realloc,
                                          count_free};

    held = 0;
    kl_set_allocator(&counting);
}

static kl_object_list make_list(size_t count, int version)
{
    kl_object_list list = {malloc(count * sizeof(kl_object *)), count};

    for (size_t i = 0; i < count; i++) {
        list.items[i] = make_object((int)i, version);
    }
    return list;
}

static void drop_list(kl_object_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kl_object_unref(list->items[i]);
    }
    free(list->items);
}

static void replace_all(kl__indexer *indexer, const kl_object_list *list,
                        size_t expected)
{
    kl__change_list changes;

    /* No object is newer: the text of the store's version stays as long. */
    assert_int_equal(cache_transact_list(indexer, list, "999", &changes),
                     KL_OK);
    assert_int_equal(changes.count, expected);
    kl__change_list_clear(&changes);
}

static void a_relist_of_100000_unchanged_objects_keeps_no_memory(void **state)
{
    enum { MANY = 100000 };
    kl__indexer *indexer;
    kl_object_list list, again;
    size_t before;

    (void)state;
    count_bytes();
    indexer = kl__indexer_new();
    add_values(indexer, "values");
    list = make_list(MANY, 1);
    replace_all(indexer, &list, MANY);
    again = make_list(MANY, 1);
    before = held;
    replace_all(indexer, &again, 0);
    assert_int_equal(held, before);
    replace_all(indexer, &list, 0);
    assert_int_equal(held, before);
    drop_list(&list);
    drop_list(&again);
    cache_end(indexer);
    kl_set_allocator(NULL);
}

/* After a list the tables are exactly as large as they must be. Updates add no
 * key, so they need no larger ones. */
static void updates_leave_the_tables_as_large_as_they_are(void **state)
{
    enum { MANY = 4000 };
    kl__indexer *indexer;
    kl_object_list first, second;
    size_t before;

    (void)state;
    count_bytes();
    first = make_list(MANY, 1);
    second = make_list(MANY, 1 + 4 * VALUES); /* has the same values */
    indexer = kl__indexer_new();
    add_values(indexer, "values");
    replace_all(indexer, &first, MANY);
    before = held;
    for (size_t i = 0; i < MANY; i += 7) {
        cache_apply_one(indexer, KL__DELTA_UPDATED,
                        kl_object_ref(second.items[i]));
    }
    assert_int_equal(held, before);
    drop_list(&first);
    drop_list(&second);
    cache_end(indexer);
    kl_set_allocator(NULL);
}

/* One by one, so that each size of the tables occurs. */
static void keys_and_namespaces_take_at_most_80_bytes_an_object(void **state)
{
    enum { MANY = 30000, STEP = 50 };
    kl__indexer *indexer;
    kl_object_list list;
    size_t before;

    (void)state;
    count_bytes();
    list = make_list(MANY, 1);
    before = held;
    indexer = kl__indexer_new();
    for (size_t i = 0; i < MANY; i += STEP) {
        kl__delta deltas[STEP];
        kl__delta_batch batch = {
            .items = deltas, .count = STEP, .capacity = STEP};
        kl__change_list changes;

        for (size_t k = 0; k < STEP; k++) {
            deltas[k] = cache_delta(KL__DELTA_ADDED, list.items[i + k]);
        }
        assert_int_equal(cache_transact_batch(indexer, &batch, &changes),
                         KL_OK);
        kl__change_list_clear(&changes);
        if (i >= 1000) {
            assert_in_range((held - before) / (i + STEP), 24, 80);
        }
    }
    before = held;
    cache_add_path(indexer, "name", "metadata.namespace");
    assert_in_range((held - before) / MANY, 30, 80);
    drop_list(&list);
    cache_end(indexer);
    kl_set_allocator(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_index_of_many_values_follows_random_changes),
        cmocka_unit_test(a_late_index_of_many_values_is_as_an_early_one),
        cmocka_unit_test(without_memory_an_index_is_as_before),
        cmocka_unit_test(a_relist_of_100000_unchanged_objects_keeps_no_memory),
        cmocka_unit_test(updates_leave_the_tables_as_large_as_they_are),
        cmocka_unit_test(keys_and_namespaces_take_at_most_80_bytes_an_object),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
