/*
 * edit_spec.c - documents that can be changed: inserting, removing, comparing;
 * and running out of memory changes nothing.
 */
#include "spec_case.h"
#include "failing_alloc.h"
#include "sim/core/json/edit.h"
#include "kubelua/memory.h"

enum { MANY = 60000, MOST_MEMBERS = 5 };

static kl__edit *edit_of(const char *json)
{
    kl_error err = {0};
    kl__edit *edit = kl__edit_new(&err);
    kl__node *root;

    assert_non_null(edit);
    root = kl__edit_parse(edit, json, strlen(json), &err);
    if (root == NULL) {
        fail_msg("%s: %s", json, err.message);
    }
    kl__edit_set_root(edit, root);
    return edit;
}

static void says(const kl__edit *edit, const char *expected)
{
    kl_error err = {0};
    size_t length;
    char *json = kl__edit_json(edit, &length, &err);
    kl_doc *doc = kl__edit_doc(edit, &err);

    assert_non_null(json);
    assert_non_null(doc);
    assert_string_equal(json, expected);
    assert_int_equal(length, strlen(expected));
    kl_doc_unref(doc);
    kl_free(json);
}

PLAIN_CASE(a_put_replaces_the_first_the_last_and_the_only_member)
{
    static const char *const cases[][3] = {
        {"{\"a\":1,\"b\":2,\"c\":3}", "a", "{\"a\":\"x\",\"b\":2,\"c\":3}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "b", "{\"a\":1,\"b\":\"x\",\"c\":3}"},
        {"{\"a\":1,\"b\":2,\"c\":3}", "c", "{\"a\":1,\"b\":2,\"c\":\"x\"}"},
        {"{\"a\":1}", "a", "{\"a\":\"x\"}"},
        {"{\"a\":1}", "b", "{\"a\":1,\"b\":\"x\"}"},
        {"{}", "a", "{\"a\":\"x\"}"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kl__edit *edit = edit_of(cases[i][0]);
        kl__node *root = kl__edit_root(edit);

        assert_true(
            kl__node_put(edit, root, cases[i][1], kl__edit_text(edit, "x")));
        says(edit, cases[i][2]);
        /* What was put can be replaced and followed in its turn. */
        assert_true(
            kl__node_put(edit, root, cases[i][1], kl__edit_text(edit, "x")));
        says(edit, cases[i][2]);
        assert_true(kl__node_put(edit, root, "z", kl__edit_null(edit)));
        assert_non_null(kl__node_remove(root, "z"));
        says(edit, cases[i][2]);
        kl__edit_free(edit);
    }
}

PLAIN_CASE(members_can_be_dropped_during_iteration)
{
    /* Each set of members of objects of each size. */
    for (unsigned count = 0; count <= MOST_MEMBERS; count++) {
        for (unsigned mask = 0; mask < 1u << count; mask++) {
            kl__edit *edit = edit_of("{\"o\":{},\"a\":[]}");
            kl__node *object = kl__node_get(kl__edit_root(edit), "o");
            kl__node *array = kl__node_get(kl__edit_root(edit), "a");
            kl__node_iter members = {0}, elements = {0};
            kl__node *value;
            const char *name;
            unsigned seen = 0;

            for (unsigned i = 0; i < count; i++) {
                const char text[] = {(char)('0' + i), '\0'};

                kl__node_put(edit, object, text, kl__edit_integer(edit, i));
                kl__node_append(array, kl__edit_integer(edit, i));
            }
            while ((value = kl__node_next(object, &members, &name, NULL))) {
                kl__node *element = kl__node_next(array, &elements, NULL, NULL);

                assert_int_equal(kl__node_integer(value), seen);
                assert_int_equal(name[0], '0' + (int)seen);
                assert_int_equal(kl__node_integer(element), seen);
                if ((mask & 1u << seen) != 0) {
                    kl__node_drop(&members);
                    kl__node_drop(&elements);
                }
                seen++;
            }
            assert_int_equal(seen, count);
            assert_null(kl__node_next(array, &elements, NULL, NULL));
            for (unsigned i = 0; i < count; i++) {
                const char text[] = {(char)('0' + i), '\0'};

                assert_int_equal(kl__node_get(object, text) != NULL,
                                 (mask & 1u << i) == 0);
            }
            assert_int_equal(kl__node_size(object), kl__node_size(array));
            assert_true(kl__node_put(edit, object, "z", kl__edit_null(edit)));
            assert_true(kl__node_append(array, kl__edit_null(edit)));
            assert_int_equal(kl__node_size(object), kl__node_size(array));
            kl__edit_free(edit);
        }
    }
}

PLAIN_CASE(elements_are_inserted_removed_and_replaced)
{
    kl__edit *edit = edit_of("[1,2]");
    kl__node *root = kl__edit_root(edit);

    assert_true(kl__node_insert(root, 0, kl__edit_integer(edit, 0)));
    assert_true(kl__node_insert(root, 3, kl__edit_integer(edit, 3)));
    assert_false(kl__node_insert(root, 5, kl__edit_integer(edit, 9)));
    says(edit, "[0,1,2,3]");
    assert_int_equal(kl__node_integer(kl__node_remove_at(root, 1)), 1);
    assert_null(kl__node_remove_at(root, 3));
    says(edit, "[0,2,3]");
    kl__node_clear(root);
    says(edit, "[]");
    assert_true(kl__node_append(root, kl__edit_real(edit, 1.5)));
    says(edit, "[1.5]");
    kl__edit_free(edit);
}

PLAIN_CASE(putting_a_null_node_changes_nothing)
{
    kl__edit *edit = edit_of("{\"a\":[1]}");
    kl__node *root = kl__edit_root(edit);
    kl__node *array = kl__node_get(root, "a");

    assert_false(kl__node_put(edit, root, "a", NULL));
    assert_false(kl__node_add_n(edit, root, "b", 1, NULL));
    assert_false(kl__node_append(array, NULL));
    assert_false(kl__node_insert(array, 0, NULL));
    says(edit, "{\"a\":[1]}");
    kl__edit_free(edit);
}

PLAIN_CASE(a_node_is_replaced_in_place)
{
    kl__edit *edit = edit_of("{\"a\":1,\"b\":[2],\"c\":3}");
    kl__node *root = kl__edit_root(edit);
    kl__node *whole = kl__edit_object(edit);

    assert_true(kl__node_put(edit, whole, "x", kl__edit_text(edit, "y")));
    kl__node_become(kl__node_get(root, "b"), whole);
    says(edit, "{\"a\":1,\"b\":{\"x\":\"y\"},\"c\":3}");
    assert_true(
        kl__node_put(edit, kl__node_get(root, "b"), "z", kl__edit_null(edit)));
    kl__node_become(kl__node_get(root, "c"), kl__edit_array(edit));
    says(edit, "{\"a\":1,\"b\":{\"x\":\"y\",\"z\":null},\"c\":[]}");
    kl__edit_free(edit);
}

PLAIN_CASE(numbers_texts_and_absent_nodes_are_read)
{
    static const char *const path[] = {"a", "b", NULL};
    kl__edit *edit = edit_of("{\"a\":{\"b\":\"x\\u0000y\"},\"n\":-5,"
                             "\"u\":18446744073709551615,\"r\":2.5}");
    const kl__node *root = kl__edit_root(edit);
    size_t length;

    assert_memory_equal(kl__node_string(kl__node_find(root, path), &length),
                        "x\0y", 3);
    assert_int_equal(length, 3);
    assert_int_equal(kl__node_integer(kl__node_get(root, "n")), -5);
    assert_int_equal(kl__node_unsigned(kl__node_get(root, "n")), 0);
    assert_int_equal(kl__node_type(kl__node_get(root, "u")), KL_UNSIGNED);
    assert_true(kl__node_unsigned(kl__node_get(root, "u")) == UINT64_MAX);
    assert_int_equal(kl__node_integer(kl__node_get(root, "u")), 0);
    assert_true(kl__node_real(kl__node_get(root, "r")) > 2.4);
    assert_null(kl__node_text(root, "n"));
    assert_int_equal(kl__node_type(NULL), KL_NULL);
    assert_false(kl__node_is(NULL, KL_NULL));
    assert_int_equal(kl__node_size(NULL), 0);
    assert_null(kl__node_get(NULL, "a"));
    assert_null(kl__node_next(NULL, &(kl__node_iter){0}, NULL, NULL));
    kl__edit_free(edit);
}

/* {"0":0,"1":1,...}, or from the other end. */
static kl__node *numbered(kl__edit *edit, bool from_the_end)
{
    kl__node *object = kl__edit_object(edit);

    for (int i = 0; i < MANY; i++) {
        int number = from_the_end ? MANY - 1 - i : i;
        char name[16];

        snprintf(name, sizeof(name), "%d", number);
        assert_true(kl__node_add_n(edit, object, name, strlen(name),
                                   kl__edit_integer(edit, number)));
    }
    return object;
}

/* Quadratic, this would take minutes. */
PLAIN_CASE(large_objects_in_another_order_are_compared_quickly)
{
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *a = numbered(edit, false), *b = numbered(edit, true);

    assert_true(kl__node_equal(a, b));
    kl__node_become(kl__node_get(b, "17"), kl__edit_integer(edit, 18));
    assert_false(kl__node_equal(a, b));
    kl__edit_free(edit);
}

PLAIN_CASE(equality_ignores_the_order_of_members)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } cases[] = {{"{\"a\":1,\"b\":[]}", "{\"b\":[],\"a\":1}", true},
                 {"{\"a\":null}", "{\"b\":null}", false},
                 {"[1,2]", "[2,1]", false},
                 {"[1]", "[1,1]", false},
                 {"1", "1.0", false},
                 {"1.5", "1.5", true},
                 {"\"a\"", "\"a\\u0000\"", false},
                 {"\"\\u0061\"", "\"a\"", true},
                 {"[]", "{}", false},
                 {"null", "false", false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        kl__edit *a = edit_of(cases[i].a), *b = edit_of(cases[i].b);

        assert_int_equal(kl__node_equal(kl__edit_root(a), kl__edit_root(b)),
                         cases[i].equal);
        kl__edit_free(a);
        kl__edit_free(b);
    }
}

PLAIN_CASE(depth_is_counted_up_to_the_limit)
{
    kl__edit *edit = edit_of("{\"a\":[1,{}]}");
    kl__node *node = kl__edit_null(edit);
    kl_error err = {0};

    assert_int_equal(kl__node_depth(kl__edit_root(edit)), 3);
    assert_int_equal(kl__node_depth(node), 0);
    for (int i = 0; i < KL__NODE_DEPTH; i++) {
        kl__node *outer = kl__edit_array(edit);

        assert_true(kl__node_append(outer, node));
        node = outer;
    }
    kl__edit_set_root(edit, node);
    assert_int_equal(kl__node_depth(node), KL__NODE_DEPTH);
    kl_free(kl__edit_json(edit, NULL, &err));
    for (int i = 0; i < 3; i++) {
        kl__node *outer = kl__edit_array(edit);

        assert_true(kl__node_append(outer, node));
        node = outer;
    }
    kl__edit_set_root(edit, node);
    assert_int_equal(kl__node_depth(node), KL__NODE_DEPTH + 1);
    assert_null(kl__edit_json(edit, NULL, &err));
    assert_int_equal(err.code, KL_EPARSE);
    assert_null(kl__edit_doc(edit, &err));
    kl__edit_free(edit);
}

/* Every call that allocates, once; KL_ENOMEM as soon as one of them fails. */
static kl_code build(void *context)
{
    kl_doc *source = kl_doc_parse("{\"a\":[1,\"x\"]}", 13, NULL);
    kl__edit *edit =
        source != NULL ? kl__edit_of(kl_doc_root(source), NULL) : NULL;
    kl__node *root = edit != NULL ? kl__edit_root(edit) : NULL;
    kl_code code = KL_ENOMEM;
    kl_doc *doc = NULL;
    char *json = NULL;

    (void)context;
    if (root != NULL && kl__node_ensure(edit, root, "e") != NULL &&
        kl__node_put(edit, root, "t", kl__edit_text_n(edit, "text", 4)) &&
        kl__node_put(edit, root, "c",
                     kl__edit_copy(edit, kl__node_get(root, "a"))) &&
        kl__node_put(edit, root, "p", kl__edit_parse(edit, "[{}]", 4, NULL)) &&
        kl__node_append(kl__node_get(root, "a"), kl__edit_real(edit, 1)) &&
        (json = kl__edit_json(edit, NULL, NULL)) != NULL &&
        (doc = kl__edit_doc(edit, NULL)) != NULL) {
        assert_string_equal(json,
                            "{\"a\":[1,\"x\",1.0],\"e\":{},\"t\":\"text\","
                            "\"c\":[1,\"x\"],\"p\":[{}]}");
        code = KL_OK;
    }
    kl_free(json);
    kl_doc_unref(doc);
    kl__edit_free(edit);
    kl_doc_unref(source);
    return code;
}

PLAIN_CASE(each_call_says_when_memory_runs_out)
{
    failing_alloc_install();
    assert_true(failing_alloc_each(build, NULL) > 0);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

static bool equal_but(const char *a, const char *b)
{
    static const char *const names[] = {"time", NULL};
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *left = kl__edit_parse(edit, a, strlen(a), NULL);
    kl__node *right = kl__edit_parse(edit, b, strlen(b), NULL);
    bool equal = kl__node_equal_but(left, right, names);

    kl__edit_free(edit);
    return equal;
}

PLAIN_CASE(named_members_are_ignored_in_a_comparison)
{
    assert_true(equal_but("{\"a\":1,\"time\":1}", "{\"time\":2,\"a\":1}"));
    assert_true(equal_but("{\"a\":1}", "{\"a\":1,\"time\":2}"));
    assert_false(equal_but("{\"a\":1}", "{\"a\":2}"));
    assert_false(equal_but("{}", "{\"a\":2}"));
    assert_false(equal_but("{\"a\":2}", "[]"));
    assert_true(equal_but("[1]", "[1]"));
    assert_false(equal_but("[1]", "[2]"));
}
