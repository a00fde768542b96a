/*
 * lists_spec.c - the lists that readers of the cache get are sorted bytewise,
 * whatever the keys have in common, and also if there is no memory to sort
 * with.
 */
#include "object/lists.h"

#include "base/mem.h"
#include "base/str.h"
#include "failing_alloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 3000, LONGEST = 2000 };

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* A text of few different bytes, so that many begin alike and some are equal.
 */
static char *draw_text(size_t prefix, size_t length)
{
    static const char letters[] = "ab/\x7f\xc3";
    char text[LONGEST + 64];

    memset(text, 'p', prefix);
    for (size_t i = 0; i < length; i++) {
        text[prefix + i] = letters[draw(sizeof(letters) - 1)];
    }
    text[prefix + length] = '\0';
    return kl__strdup(text);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_texts(size_t count, size_t prefix, uint32_t longest)
{
    kl_string_list list = {kl__calloc(count + 1, sizeof(char *)), count};
    char **expected = kl__calloc(count + 1, sizeof(char *));

    assert_non_null(list.items);
    assert_non_null(expected);
    for (size_t i = 0; i < count; i++) {
        list.items[i] = draw_text(prefix, draw(longest + 1));
        assert_non_null(list.items[i]);
    }
    memcpy(expected, list.items, count * sizeof(char *));
    qsort(expected, count, sizeof(char *), compare_texts);
    kl__string_list_sort(&list);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(list.items[i], expected[i]);
    }
    kl__free(expected);
    kl_string_list_clear(&list);
}

static void texts_are_sorted_bytewise(void **state)
{
    static const size_t counts[] = {0, 1, 2, 32, 33, 34, 100, 1000, MOST};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        check_texts(counts[i], 0, 3);
        check_texts(counts[i], 0, 30);
        check_texts(counts[i], 7, 9);
        check_texts(counts[i], 8, 20);
    }
}

static void long_texts_that_begin_alike_are_sorted(void **state)
{
    (void)state;
    check_texts(200, LONGEST, 12);
    check_texts(200, 511, 12);
    check_texts(200, 512, 0);
}

static kl_object *make_object(uint32_t number)
{
    char json[128];
    int length = snprintf(json, sizeof(json),
                          "{\"metadata\":{\"name\":\"shop-%u\","
                          "\"namespace\":\"ns-%u\"}}",
                          number, number % 7);

    return kl_object_parse(json, (size_t)length, NULL, NULL);
}

static void check_objects(kl_object_list *list)
{
    kl__object_list_sort(list);
    for (size_t i = 1; i < list->count; i++) {
        assert_true(strcmp(kl_object_key(list->items[i - 1]),
                           kl_object_key(list->items[i])) < 0);
    }
}

static void shuffle(kl_object_list *list)
{
    for (size_t i = list->count; i > 1; i--) {
        size_t other = draw((uint32_t)i);
        kl_object *moved = list->items[i - 1];

        list->items[i - 1] = list->items[other];
        list->items[other] = moved;
    }
}

static void objects_are_sorted_by_key_without_memory_too(void **state)
{
    kl_object_list list = {kl__calloc(MOST, sizeof(kl_object *)), MOST};

    (void)state;
    assert_non_null(list.items);
    for (uint32_t i = 0; i < MOST; i++) {
        list.items[i] = make_object(i);
        assert_non_null(list.items[i]);
    }
    shuffle(&list);
    check_objects(&list);
    shuffle(&list);
    failing_alloc_install();
    failing_alloc_fail_at(1, 1);
    check_objects(&list);
    assert_true(failing_alloc_has_failed());
    failing_alloc_uninstall();
    kl_object_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_sorted_bytewise),
        cmocka_unit_test(long_texts_that_begin_alike_are_sorted),
        cmocka_unit_test(objects_are_sorted_by_key_without_memory_too)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
