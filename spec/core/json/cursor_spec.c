/*
 * cursor_spec.c - what is read where it stands in a text is what the tree of
 * the text has.
 */
#include "cursor_walk.h"
#include "json/cursor.h"
#include "random_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 3000, TEXTS = 3000 };

static void is_as_in_the_tree(const char *json, size_t length)
{
    kl_error err = {0};
    kl_doc *doc = kl_doc_parse(json, length, &err);
    const char *wrong;

    if (doc == NULL) {
        fail_msg("%s: %s", err.message, json);
    }
    wrong = cursor_walk(json, length, kl_doc_root(doc));
    if (wrong != NULL) {
        fail_msg("%s: %s", wrong, json);
    }
    kl_doc_unref(doc);
}

static void random_documents_read_as_their_trees(void **state)
{
    static char text[LENGTH + 1];

    (void)state;
    for (int i = 0; i < TEXTS; i++) {
        size_t length = random_json(text, LENGTH);

        text[length] = '\0';
        is_as_in_the_tree(text, length);
    }
}

static void a_document_of_one_scalar_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; random_json_atoms[i] != NULL; i++) {
        is_as_in_the_tree(random_json_atoms[i], strlen(random_json_atoms[i]));
    }
}

/* The end of each of the nested values is in another place of a block. */
static void deep_values_end_anywhere_in_a_block(void **state)
{
    enum { DEEP = 512 };
    char text[3 * DEEP + 1];

    (void)state;
    for (size_t depth = 1; depth <= DEEP; depth += depth < 70 ? 1 : 63) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        is_as_in_the_tree(text, 2 * depth);
    }
}

static const char pod[] =
    "{\"metadata\":{\"name\":\"web\",\"labels\":{\"\\u0061pp\":\"shop\"}},"
    "\"spec\":{\"nodeName\":\"n1\",\"nodeName\":\"n2\","
    "\"containers\":[{\"image\":\"x\"},{\"image\":\"y\\n\"}]}}";

static void names_with_escapes_match(void **state)
{
    const char *end = pod + sizeof(pod) - 1;
    const char *metadata = kl_cursor_member(pod, end, "metadata", 8);
    const char *labels = kl_cursor_member(metadata, end, "labels", 6);

    (void)state;
    assert_memory_equal(kl_cursor_member(labels, end, "app", 3), "\"shop\"", 6);
    assert_null(kl_cursor_member(labels, end, "\\u0061pp", 8));
    assert_null(kl_cursor_member(labels, end, "ap", 2));
}

static void the_last_member_of_a_name_counts(void **state)
{
    const char *end = pod + sizeof(pod) - 1;
    const char *spec = kl_cursor_member(pod, end, "spec", 4);

    (void)state;
    assert_memory_equal(kl_cursor_member(spec, end, "nodeName", 8), "\"n2\"",
                        4);
}

static void lookups_chain_over_what_is_absent(void **state)
{
    const char *end = pod + sizeof(pod) - 1;
    const char *none = kl_cursor_member(pod, end, "status", 6);
    kl_scalar room;

    (void)state;
    assert_null(none);
    assert_null(kl_cursor_member(none, end, "phase", 5));
    assert_null(kl_cursor_element(none, end, 0));
    assert_int_equal(kl_value_type(kl_cursor_scalar(none, end, &room)),
                     KL_NULL);
}

static void a_walk_may_leave_a_value_early(void **state)
{
    const char *end = pod + sizeof(pod) - 1;
    const char *spec = kl_cursor_member(pod, end, "spec", 4);
    const char *images = kl_cursor_member(spec, end, "containers", 10);
    kl_cursor element, member;

    (void)state;
    kl_cursor_begin(&element, images, end);
    for (int i = 0; i < 2; i++) {
        assert_true(kl_cursor_next(&element));
        kl_cursor_begin(&member, element.value, end);
        assert_true(kl_cursor_next(&member));
        element.at = kl__cursor_leave(kl_cursor_skip(member.value, end), end);
    }
    assert_false(kl_cursor_next(&element));
    assert_ptr_equal(element.at, end - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_documents_read_as_their_trees),
        cmocka_unit_test(a_document_of_one_scalar_is_read),
        cmocka_unit_test(deep_values_end_anywhere_in_a_block),
        cmocka_unit_test(names_with_escapes_match),
        cmocka_unit_test(the_last_member_of_a_name_counts),
        cmocka_unit_test(lookups_chain_over_what_is_absent),
        cmocka_unit_test(a_walk_may_leave_a_value_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
