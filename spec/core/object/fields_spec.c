/*
 * fields_spec.c - the fields of an object have the values that its tree has,
 * and outlive the object.
 */
#include "kubelua/fields.h"

#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "pods.h"
#include "random_json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POD                                                                   \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web\"," \
    "\"labels\":{\"app\":\"shop\",\"tier\":\"front\"}},\"spec\":{"            \
    "\"nodeName\":\"n1\",\"hostname\":null,\"priority\":1500,"                \
    "\"containers\":[{\"image\":\"x\\n\\u0000y\"},{\"image\":\"z\"}]},"       \
    "\"status\":{\"phase\":\"Running\",\"ready\":true,\"load\":0.25,"         \
    "\"big\":123456789012345678901234567890}}"

enum { LENGTH = 3000, DOCUMENTS = 500 };

static kl_fields *fields_of(const char *const *paths, size_t count)
{
    kl_error err = {0};
    kl_fields *fields = kl_fields_new(paths, count, &err);

    if (fields == NULL) {
        fail_msg("%s", err.message);
    }
    return fields;
}

static void reads(kl_fields *fields, const kl_object *object)
{
    kl_error err = {0};

    assert_int_equal(kl_fields_read(fields, object, &err), KL_OK);
}

static void is_text(const kl_value *value, const char *text, size_t length)
{
    size_t found;
    const char *bytes = kl_value_string(value, &found);

    assert_int_equal(found, length);
    assert_memory_equal(bytes, text, length + 1); /* and a NUL */
}

static void a_field_has_its_type_and_value(void **state)
{
    static const char *const paths[] = {"spec.nodeName",
                                        "status.phase",
                                        "spec.priority",
                                        "status.ready",
                                        "status.load",
                                        "status.big",
                                        "spec.containers[1].image"};
    kl_fields *fields = fields_of(paths, 7);
    kl_object *pod = object_of(POD, NULL);

    (void)state;
    reads(fields, pod);
    kl_object_unref(pod);
    assert_int_equal(kl_value_type(kl_fields_value(fields, 0)), KL_STRING);
    is_text(kl_fields_value(fields, 0), "n1", 2);
    is_text(kl_fields_value(fields, 1), "Running", 7);
    assert_int_equal(kl_value_type(kl_fields_value(fields, 2)), KL_INTEGER);
    assert_int_equal(kl_value_integer(kl_fields_value(fields, 2)), 1500);
    assert_true(kl_value_bool(kl_fields_value(fields, 3)));
    assert_true(kl_value_real(kl_fields_value(fields, 4)) == 0.25);
    assert_int_equal(kl_value_type(kl_fields_value(fields, 5)), KL_NUMBER);
    is_text(kl_fields_value(fields, 5), "123456789012345678901234567890", 30);
    is_text(kl_fields_value(fields, 6), "x\n\0y", 4);
    kl_fields_free(fields);
}

static void what_is_absent_or_null_is_null(void **state)
{
    static const char *const paths[] = {
        "spec.hostname", "spec.nodename", "spec.nodeName.deeper",
        "spec.containers[3].image", "none.at.all"};
    kl_fields *fields = fields_of(paths, 5);
    kl_object *pod = object_of(POD, NULL);

    (void)state;
    assert_null(kl_fields_value(fields, 0)); /* nothing was read yet */
    reads(fields, pod);
    for (size_t i = 0; i < 6; i++) {
        assert_null(kl_fields_value(fields, i));
    }
    kl_object_unref(pod);
    kl_fields_free(fields);
}

static void arrays_and_objects_are_values_as_all_others(void **state)
{
    static const char *const paths[] = {"metadata.labels", "spec.containers",
                                        "spec.containers[*].image"};
    kl_fields *fields = fields_of(paths, 3);
    kl_object *pod = object_of(POD, NULL);

    (void)state;
    reads(fields, pod);
    kl_object_unref(pod);
    is_text(kl_value_get(kl_fields_value(fields, 0), "app"), "shop", 4);
    assert_int_equal(kl_value_size(kl_fields_value(fields, 1)), 2);
    is_text(kl_fields_value(fields, 2), "x\n\0y", 4);
    kl_fields_free(fields);
}

static void a_read_replaces_all_values_of_the_one_before(void **state)
{
    static const char *const paths[] = {"spec.nodeName", "metadata.labels"};
    kl_fields *fields = fields_of(paths, 2);
    kl_object *pod = object_of(POD, NULL);
    kl_object *other =
        object_of("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"},\"spec\":{"
                  "\"nodeName\":\"a-longer-name\"}}",
                  NULL);

    (void)state;
    reads(fields, pod);
    reads(fields, other);
    is_text(kl_fields_value(fields, 0), "a-longer-name", 13);
    assert_null(kl_fields_value(fields, 1));
    kl_object_unref(other);
    kl_object_unref(pod);
    kl_fields_free(fields);
}

/* The same text, or both absent. */
static void is_the_same(const kl_value *of_tree, const kl_value *read)
{
    char *a = kl_value_json(of_tree, NULL, NULL);
    char *b = kl_value_json(read, NULL, NULL);

    assert_int_equal(of_tree == NULL, read == NULL);
    assert_int_equal(kl_value_type(of_tree), kl_value_type(read));
    assert_string_equal(a, b);
    kl_free(a);
    kl_free(b);
}

static void a_packed_object_is_read_as_a_plain_one(void **state)
{
    static const char *const paths[] = {"metadata.name", "metadata",
                                        "spec.none"};
    kl_fields *fields = fields_of(paths, 3);
    kl__packer *packer = pack_trained();
    kl_object *object = pack_one(packer, 7);
    const kl_value *root;

    (void)state;
    assert_true(kl__object_is_packed(object));
    reads(fields, object);
    root = kl_object_open(object, NULL);
    is_the_same(kl_value_get(root, "metadata"), kl_fields_value(fields, 1));
    is_text(kl_fields_value(fields, 0), kl_object_name(object),
            strlen(kl_object_name(object)));
    assert_null(kl_fields_value(fields, 2));
    kl_object_close(object);
    kl_object_unref(object);
    kl__packer_free(packer);
    kl_fields_free(fields);
}

/* In the tree the same path finds the same. */
static void random_objects_read_as_their_trees(void **state)
{
    static const char *const paths[] = {
        "spec",           "spec.a",  "spec[*].a", "spec.nodeName[1]",
        "spec[\"\\\\\"]", "spec[*]", "spec[2]",   "spec.a[*].b",
        "metadata.name"};
    static char text[LENGTH + 100];
    enum { COUNT = sizeof(paths) / sizeof(paths[0]) };
    kl_fields *fields = fields_of(paths, COUNT);
    kl_path *compiled[COUNT];

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        compiled[i] = kl_path_parse(paths[i], NULL);
    }
    for (int i = 0; i < DOCUMENTS; i++) {
        size_t head = (size_t)sprintf(
            text, "{\"metadata\":{\"name\":\"n%d\"},\"spec\":", i);
        size_t length = head + random_json(text + head, LENGTH);
        const kl_value *root;
        kl_object *object;

        text[length] = '}';
        text[length + 1] = '\0';
        object = object_of(text, NULL);
        reads(fields, object);
        root = kl_object_open(object, NULL);
        for (size_t at = 0; at < COUNT; at++) {
            is_the_same(kl_path_first(compiled[at], root),
                        kl_fields_value(fields, at));
        }
        kl_object_close(object);
        kl_object_unref(object);
    }
    for (size_t i = 0; i < COUNT; i++) {
        kl_path_free(compiled[i]);
    }
    kl_fields_free(fields);
}

static void a_wrong_path_is_refused_with_its_position(void **state)
{
    static const char *const paths[] = {"spec.nodeName", "spec..a"};
    kl_error err = {0};

    (void)state;
    assert_null(kl_fields_new(paths, 2, &err));
    assert_int_equal(err.code, KL_EINVAL);
    assert_non_null(strstr(err.message, "spec..a"));
    assert_null(kl_fields_new(paths, 0, &err));
    assert_int_equal(err.code, KL_EINVAL);
    assert_null(kl_fields_new(paths, 65, &err));
    assert_int_equal(err.code, KL_EINVAL);
    kl_fields_free(NULL);
}

static kl_code read_all(void *context)
{
    static const char *const paths[] = {"spec.nodeName", "metadata.labels",
                                        "spec.containers"};
    kl_error err = {0};
    kl_fields *fields = kl_fields_new(paths, 3, &err);

    if (fields != NULL && kl_fields_read(fields, context, &err) != KL_OK) {
        for (size_t i = 0; i < 3; i++) {
            assert_null(kl_fields_value(fields, i));
        }
    }
    kl_fields_free(fields);
    return err.code;
}

static void each_failed_allocation_leaves_no_values(void **state)
{
    kl_object *pod = object_of(POD, NULL);

    (void)state;
    failing_alloc_each(read_all, pod);
    kl_object_unref(pod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_has_its_type_and_value),
        cmocka_unit_test(what_is_absent_or_null_is_null),
        cmocka_unit_test(arrays_and_objects_are_values_as_all_others),
        cmocka_unit_test(a_read_replaces_all_values_of_the_one_before),
        cmocka_unit_test(a_packed_object_is_read_as_a_plain_one),
        cmocka_unit_test(random_objects_read_as_their_trees),
        cmocka_unit_test(a_wrong_path_is_refused_with_its_position),
        cmocka_unit_test(each_failed_allocation_leaves_no_values),
    };

    return cmocka_run_group_tests(tests, pack_choose_usual_limits, NULL);
}
