/*
 * selector_spec.c - label selectors select what an API server would, and a
 * wrong one says where it is wrong.
 */
#include "failing_alloc.h"
#include "kubelua/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool selects(const char *text, const char *labels)
{
    kl_error err = {0};
    kl_selector *selector = kl_selector_parse(text, &err);
    kl_doc *doc = kl_doc_parse(labels, strlen(labels), NULL);
    bool matches;

    if (selector == NULL) {
        fail_msg("%s: %s", text, err.message);
    }
    matches = kl_selector_matches(selector, kl_doc_root(doc));
    kl_doc_unref(doc);
    kl_selector_free(selector);
    return matches;
}

static const char shop[] =
    "{\"app\":\"shop\",\"tier\":\"web\",\"empty\":\"\",\"a.io/b\":\"c\","
    "\"size\":\"12\",\"in\":\"x\"}";

static void equality_compares_one_value(void **state)
{
    (void)state;
    assert_true(selects("app=shop", shop));
    assert_true(selects("app==shop", shop));
    assert_true(selects(" app = shop , tier == web ", shop));
    assert_false(selects("app=shop,tier=db", shop));
    assert_false(selects("app=sho", shop));
    assert_false(selects("gone=x", shop));
    assert_true(selects("a.io/b=c", shop));
    assert_true(selects("in=x", shop));
}

static void an_empty_value_is_a_value(void **state)
{
    (void)state;
    assert_true(selects("empty=", shop));
    assert_true(selects("empty=,app=shop", shop));
    assert_false(selects("app=", shop));
    assert_false(selects("gone=", shop));
    assert_true(selects("empty in (,x)", shop));
    assert_true(selects("empty in (x,)", shop));
    assert_true(selects("empty in ()", shop));
    assert_false(selects("app in ()", shop));
    assert_false(selects("empty!=", shop));
}

static void not_equal_matches_objects_without_the_label(void **state)
{
    (void)state;
    assert_true(selects("app!=other", shop));
    assert_false(selects("app!=shop", shop));
    assert_true(selects("gone!=x", shop));
    assert_true(selects("gone notin (x,y)", shop));
    assert_true(selects("tier notin (db,queue)", shop));
    assert_false(selects("tier notin (db,web)", shop));
}

static void sets_hold_several_values(void **state)
{
    (void)state;
    assert_true(selects("tier in (db,web)", shop));
    assert_true(selects("tier in(web)", shop));
    assert_true(selects("tier  in\t( db , web ),app", shop));
    assert_false(selects("tier in (db,queue)", shop));
    assert_false(selects("gone in (x)", shop));
}

static void a_key_alone_matches_any_value(void **state)
{
    (void)state;
    assert_true(selects("app", shop));
    assert_true(selects("app,!gone", shop));
    assert_true(selects("! gone", shop));
    assert_false(selects("gone", shop));
    assert_false(selects("!app", shop));
}

static void greater_and_less_compare_integers(void **state)
{
    (void)state;
    assert_true(selects("size>11", shop));
    assert_true(selects("size < 13", shop));
    assert_false(selects("size>12", shop));
    assert_false(selects("size<12", shop));
    assert_false(selects("app>1", shop));
    assert_false(selects("gone<1", shop));
}

static void no_labels_match_a_selector_for_missing_labels(void **state)
{
    kl_selector *selector = kl_selector_parse("!app,tier!=web", NULL);

    (void)state;
    assert_true(kl_selector_matches(selector, NULL));
    kl_selector_free(selector);
    assert_false(selects("app", "null"));
    assert_true(selects("!app", "{\"app\":1}"));
}

static void an_empty_selector_selects_everything(void **state)
{
    const char *const texts[] = {NULL, "", "  "};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        kl_selector *selector = kl_selector_parse(texts[i], NULL);

        assert_true(kl_selector_is_empty(selector));
        assert_true(kl_selector_matches(selector, NULL));
        kl_selector_free(selector);
    }
    kl_selector_free(NULL);
    assert_true(selects("", shop));
}

static void refuses(const char *text, size_t character, const char *message)
{
    char expected[64];
    kl_error err = {0};

    assert_null(kl_selector_parse(text, &err));
    assert_int_equal(err.code, KL_EINVAL);
    snprintf(expected, sizeof(expected),
             "label selector, character %zu: ", character);
    if (strncmp(err.message, expected, strlen(expected)) != 0 ||
        strstr(err.message, message) == NULL) {
        fail_msg("%s: \"%s\"", text, err.message);
    }
}

static void an_invalid_selector_is_an_error_with_its_position(void **state)
{
    (void)state;
    refuses(",", 1, "expected a label's key");
    refuses("a,", 3, "expected a label's key");
    refuses("a,,b", 3, "expected a label's key");
    refuses("=a", 1, "expected a label's key");
    refuses("!", 2, "expected a label's key");
    refuses("a b", 3, "expected \"=\"");
    refuses("a=b c", 5, "expected \",\" or the end");
    refuses("!a=b", 3, "expected \",\" or the end");
    refuses("a in b", 6, "expected \"(\"");
    refuses("a in (", 7, "expected \",\" or \")\"");
    refuses("a in (b c)", 9, "expected \",\" or \")\"");
    refuses("a=b=c", 4, "expected \",\" or the end");
    refuses("a>", 3, "an integer");
    refuses("a>x", 3, "an integer");
    refuses("a>=1", 3, "an integer");
    refuses("a<99999999999999999999", 3, "an integer");
}

static void an_invalid_label_is_an_error_with_its_position(void **state)
{
    char text[400];
    kl_error err = {0};

    (void)state;
    refuses("-a", 1, "letters, digits");
    refuses("a-=b", 2, "letters, digits");
    refuses("a$b", 2, "letters, digits");
    refuses("a=b/c", 4, "letters, digits");
    refuses("a=.b", 3, "letters, digits");
    refuses("x.y/", 5, "after the prefix");
    refuses("/x", 1, "1 to 253");
    refuses("X.y/z", 1, "lower case");
    refuses("x..y/z", 2, "lower case");
    refuses("x_y/z", 2, "lower case");
    refuses("a/b/c", 4, "letters, digits");
    memset(text, 'a', sizeof(text));
    text[63] = '\0';
    assert_true(selects(text, "{}") == false);
    text[63] = 'a';
    text[64] = '\0';
    refuses(text, 64, "at most 63");
    memset(text, 'a', 300);
    strcpy(text + 254, "/b");
    refuses(text, 1, "1 to 253");
    strcpy(text, "a=");
    memset(text + 2, 'v', 64);
    text[66] = '\0';
    refuses(text, 66, "at most 63");
    assert_null(kl_selector_parse("app=shop,-b", &err));
    assert_non_null(strstr(err.message, "\n    app=shop,-b\n             ^"));
}

static kl_code compile(void *context)
{
    kl_error err = {0};
    kl_selector *selector = kl_selector_parse(context, &err);

    kl_selector_free(selector);
    return selector != NULL ? KL_OK : err.code;
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    assert_int_equal(failing_alloc_each(compile, "a in (b,c),d!=e"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equality_compares_one_value),
        cmocka_unit_test(an_empty_value_is_a_value),
        cmocka_unit_test(not_equal_matches_objects_without_the_label),
        cmocka_unit_test(sets_hold_several_values),
        cmocka_unit_test(a_key_alone_matches_any_value),
        cmocka_unit_test(greater_and_less_compare_integers),
        cmocka_unit_test(no_labels_match_a_selector_for_missing_labels),
        cmocka_unit_test(an_empty_selector_selects_everything),
        cmocka_unit_test(an_invalid_selector_is_an_error_with_its_position),
        cmocka_unit_test(an_invalid_label_is_an_error_with_its_position),
        cmocka_unit_test(running_out_of_memory_is_an_error_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
