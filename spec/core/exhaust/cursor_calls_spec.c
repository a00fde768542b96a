/*
 * cursor_calls_spec.c - reading values in a text takes no memory; finding names
 * that are there twice does.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubelua/cursor.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "{\"spec\":{\"n\":123456789012345678901234567890,\"none\":null,"
    "\"list\":[1.5,{\"image\":\"a\\n\"}]}}";

static kl_code claim(kl_error *err, bool holds)
{
    return holds ? KL_OK
                 : kl_error_set(err, KL_EINVAL, "another value was found");
}

static kl_code read_members(void *world, kl_error *err)
{
    const char *end = text + sizeof(text) - 1;
    const char *spec = kl_cursor_member(text, end, "spec", 4);
    const char *list = kl_cursor_member(spec, end, "list", 4);
    const char *passed;
    const char *number = kl_cursor_member_passed(spec, end, "n", 1, &passed);
    size_t length = 0;
    kl_scalar room;
    char image[8];

    (void)world;
    kl_value_string(kl_cursor_scalar(number, end, &room), &length);
    list = kl_cursor_element(list, end, 1);
    return claim(err,
                 length == 30 && kl_cursor_skip(text, end) == end &&
                     kl_cursor_decode(kl_cursor_member(list, end, "image", 5),
                                      end, image) == 2 &&
                     memcmp(image, "a\n", 2) == 0);
}

static kl_doc *tree; /* of the text */

static kl_code find_in_tree(void *world, kl_error *err)
{
    const char *end = text + sizeof(text) - 1;
    const char *spec = kl_cursor_member(text, end, "spec", 4);
    const kl_value *root = kl_doc_root(tree);
    const kl_value *list = kl_value_get(kl_value_get(root, "spec"), "list");

    (void)world;
    return claim(
        err, kl_cursor_in_tree(root, text,
                               kl_cursor_member(spec, end, "list", 4)) == list);
}

static kl_code walk_members(void *world, kl_error *err)
{
    const char *end = text + sizeof(text) - 1;
    size_t count = 0;
    kl_cursor walk;

    (void)world;
    kl_cursor_begin(&walk, kl_cursor_member(text, end, "spec", 4), end);
    while (kl_cursor_next(&walk)) {
        count++;
    }
    return claim(err, count == 3);
}

static kl_code follow_path(void *path, kl_error *err)
{
    const char *end = text + sizeof(text) - 1;
    const char *found = kl_cursor_path(path, text, end);

    return claim(err, found != NULL && strncmp(found, "\"a\\n\"", 5) == 0);
}

static kl_code follow_paths(void *path, kl_error *err)
{
    const kl_path *paths[2] = {path, path};
    const char *end = text + sizeof(text) - 1, *found[2];

    kl_cursor_paths(paths, 2, text, end, found);
    kl_cursor_object_paths(paths, 1, text, end, found);
    return claim(err, found[0] == found[1] && found[0] != NULL);
}

static const char twice[] = "{\"a\":1,\"\\u0061\":2}";

static kl_code find_in_text(void *world, kl_error *err)
{
    size_t *numbers, count;

    (void)world;
    if (kl_cursor_replaced(twice, twice + sizeof(twice) - 1, &numbers, &count,
                           err) != KL_OK) {
        return err->code;
    }
    kl_free(numbers);
    return claim(err, count == 1);
}

static kl_code find_in_value(void *world, kl_error *err)
{
    size_t *numbers, count;

    if (kl_value_replaced(kl_doc_root(world), &numbers, &count, err) != KL_OK) {
        return err->code;
    }
    kl_free(numbers);
    return claim(err, count == 1);
}

static kl_code copy_distinct(void *world, kl_error *err)
{
    size_t length;
    char *copy;

    (void)world;
    if (kl_cursor_distinct(twice, twice + sizeof(twice) - 1, &copy, &length,
                           err) != KL_OK) {
        return err->code;
    }
    kl_free(copy);
    return claim(err, length == strlen("{\"\\u0061\":2}"));
}

static const every_call calls_for_names[] = {
    REFUSES(kl_cursor_replaced, find_in_text),
    REFUSES(kl_value_replaced, find_in_value),
    REFUSES(kl_cursor_distinct, copy_distinct),
};

static void finding_names_that_are_there_twice_needs_memory(void **state)
{
    kl_doc *doc = kl_doc_parse(twice, sizeof(twice) - 1, NULL);

    (void)state;
    failing_alloc_install();
    every_call_try(calls_for_names,
                   sizeof(calls_for_names) / sizeof(calls_for_names[0]),
                   &(every_call_stage){.world = doc});
    failing_alloc_uninstall();
    kl_doc_unref(doc);
}

static const every_call calls[] = {
    NEVER_ALLOCATES(kl_cursor_skip, read_members),
    NEVER_ALLOCATES(kl_cursor_member, read_members),
    NEVER_ALLOCATES(kl_cursor_member_passed, read_members),
    NEVER_ALLOCATES(kl_cursor_element, read_members),
    NEVER_ALLOCATES(kl_cursor_scalar, read_members),
    NEVER_ALLOCATES(kl_cursor_decode, read_members),
    NEVER_ALLOCATES(kl_cursor_begin, walk_members),
    NEVER_ALLOCATES(kl_cursor_next, walk_members),
    NEVER_ALLOCATES(kl_cursor_in_tree, find_in_tree),
    NEVER_ALLOCATES(kl_cursor_path, follow_path),
    NEVER_ALLOCATES(kl_cursor_paths, follow_paths),
    NEVER_ALLOCATES(kl_cursor_object_paths, follow_paths),
};

static void reading_values_in_a_text_needs_no_memory(void **state)
{
    kl_path *path;

    (void)state;
    failing_alloc_install();
    tree = kl_doc_parse(text, sizeof(text) - 1, NULL);
    path = kl_path_parse("spec.list[*].image", NULL);
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = path});
    kl_path_free(path);
    kl_doc_unref(tree);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_values_in_a_text_needs_no_memory),
        cmocka_unit_test(finding_names_that_are_there_twice_needs_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
