/*
 * object_spec.c - an object keeps its text except managedFields and whitespace,
 * has its identity, and shares one tree among all its users.
 */
#include "base/thread.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "kubelua/object.h"
#include "object/object.h"
#include "pods.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void an_object_has_key_uid_version_and_kind(void **state)
{
    kl_object *pod = object_of(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"shop-1\",\"namespace\":\"web\",\"uid\":\"u-1\","
        "\"resourceVersion\":\"42\"}}",
        NULL);

    (void)state;
    assert_string_equal(kl_object_key(pod), "web/shop-1");
    assert_string_equal(kl_object_name(pod), "shop-1");
    assert_string_equal(kl_object_namespace(pod), "web");
    assert_string_equal(kl_object_uid(pod), "u-1");
    assert_string_equal(kl_object_resource_version(pod), "42");
    assert_string_equal(kl_object_kind(pod), "Pod");
    assert_string_equal(kl_object_api_version(pod), "v1");
    kl_object_unref(pod);
}

/* The text of an object whose name has so many bytes. */
static char *write_long_name(size_t length)
{
    static const char head[] = "{\"metadata\":{\"namespace\":\"web\",\"uid\":"
                               "\"u-1\",\"name\":\"";
    char *json = malloc(sizeof(head) + length + 4);

    assert_non_null(json);
    memcpy(json, head, sizeof(head) - 1);
    memset(json + sizeof(head) - 1, 'n', length);
    memcpy(json + sizeof(head) - 1 + length, "\"}}", 4);
    return json;
}

static void an_identity_of_up_to_64_kb_is_taken(void **state)
{
    static const size_t lengths[] = {253, 40000, 65515, 65520, 70000, 200000};
    kl_object *object;
    kl_error err;
    char *json;

    (void)state;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        json = write_long_name(lengths[i]);
        object = kl_object_parse(json, strlen(json), NULL, &err);
        if (lengths[i] > 65515) {
            assert_null(object);
            assert_int_equal(err.code, KL_ETOO_LARGE);
        } else {
            assert_non_null(object);
            assert_int_equal(strlen(kl_object_name(object)), lengths[i]);
            assert_string_equal(kl_object_namespace(object), "web");
            assert_string_equal(kl_object_uid(object), "u-1");
            assert_string_equal(kl_object_json(object, NULL, NULL), json);
        }
        kl_object_unref(object);
        free(json);
    }
}

static void an_absent_field_reads_as_an_empty_string(void **state)
{
    kl_object *node =
        object_of("{\"metadata\":{\"name\":\"n1\",\"namespace\":null}}", NULL);

    (void)state;
    assert_string_equal(kl_object_key(node), "n1");
    assert_string_equal(kl_object_name(node), "n1");
    assert_string_equal(kl_object_namespace(node), "");
    assert_string_equal(kl_object_uid(node), "");
    assert_string_equal(kl_object_resource_version(node), "");
    assert_string_equal(kl_object_kind(node), "");
    assert_string_equal(kl_object_api_version(node), "");
    kl_object_unref(node);
}

static void managed_fields_are_cut_at_any_position(void **state)
{
    const kl_object_options keep = {.keep_managed_fields = true};

    (void)state;
    object_becomes(
        "{\"metadata\":{\"managedFields\":[{\"a\":\"]}\\\"\"}],\"name\":"
        "\"x\"}}",
        NULL, "{\"metadata\":{\"name\":\"x\"}}");
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":[{}]},\"a\":1}", NULL,
        "{\"metadata\":{\"name\":\"x\"},\"a\":1}");
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":null,\"b\":[]}}", NULL,
        "{\"metadata\":{\"name\":\"x\",\"b\":[]}}");
    object_becomes(
        "{\"metadata\": {\"name\":\"x\" ,\n \"managedFields\" : [ {} ]\n} }",
        NULL, "{\"metadata\":{\"name\":\"x\"}}");
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"managed\\u0046ields\":[1]}}", NULL,
        "{\"metadata\":{\"name\":\"x\"}}");
    object_becomes("{\"managedFields\":1,\"metadata\":{\"name\":\"x\",\"a\":"
                   "{\"managedFields\":2}}}",
                   NULL,
                   "{\"managedFields\":1,\"metadata\":{\"name\":\"x\",\"a\":"
                   "{\"managedFields\":2}}}");
    object_becomes(
        "{\"metadata\":{\"managedFields\" : {\"a\":{}} , \"name\":\"x\"}}",
        NULL, "{\"metadata\":{\"name\":\"x\"}}");
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":{\"a\":{}} } , "
        "\"a\":{}}",
        NULL, "{\"metadata\":{\"name\":\"x\"},\"a\":{}}");
    object_becomes(
        "{\"a\":{},\"metadata\":{\"name\":\"x\",\"managedFields\":{} }}\n ",
        NULL, "{\"a\":{},\"metadata\":{\"name\":\"x\"}}");
    object_becomes("{\"metadata\":{\"managedFields\":[ 1 ],\"name\":\"x\"}}",
                   &keep,
                   "{\"metadata\":{\"managedFields\":[1],\"name\":\"x\"}}");
}

static void numbers_and_strings_keep_their_spelling(void **state)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"x\"},\"n\":[1.50,1E2,-0,"
        "123456789012345678901234567890,\"\\u0041\\/ \\\" é\",{},[],null]}";

    (void)state;
    object_becomes(text, NULL, text);
    object_becomes(
        "\n{ \"metadata\" : {\"name\":\"a b\"},\t\"n\":[1 , 2.0 ]\r\n}\n", NULL,
        "{\"metadata\":{\"name\":\"a b\"},\"n\":[1,2.0]}");
}

static void a_missing_kind_or_api_version_is_added(void **state)
{
    const kl_object_options pods = {.kind = "Pod", .api_version = "v\"1"};
    kl_object *object;

    (void)state;
    object_becomes("{\"metadata\":{\"name\":\"x\"}}", &pods,
                   "{\"apiVersion\":\"v\\\"1\",\"kind\":\"Pod\",\"metadata\":"
                   "{\"name\":\"x\"}}");
    object_becomes("{\"kind\":\"P\",\"metadata\":{\"name\":\"x\"}}", &pods,
                   "{\"apiVersion\":\"v\\\"1\",\"kind\":\"P\",\"metadata\":"
                   "{\"name\":\"x\"}}");
    object_becomes(
        "{\"apiVersion\":\"v2\",\"kind\":\"P\",\"metadata\":{\"name\":"
        "\"x\",\"managedFields\":[]}}",
        &pods,
        "{\"apiVersion\":\"v2\",\"kind\":\"P\",\"metadata\":{\"name\":"
        "\"x\"}}");
    object = object_of(" { \"metadata\":{\"name\":\"x\"}}", &pods);
    assert_string_equal(kl_object_kind(object), "Pod");
    assert_string_equal(kl_object_api_version(object), "v\"1");
    kl_object_unref(object);
}

static void refuses(const char *json, const char *message)
{
    const kl_object_options options = {.kind = "Pod"};
    kl_error err = {0};

    assert_null(kl_object_parse(json, strlen(json), &options, &err));
    assert_int_equal(err.code, KL_EPARSE);
    if (strstr(err.message, message) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", err.message, message);
    }
}

static void an_invalid_object_is_an_error_that_names_it(void **state)
{
    (void)state;
    refuses("[]", "is a JSON object");
    refuses("{}", "Pod (unnamed): metadata is missing");
    refuses("{\"metadata\":1}", "metadata is not an object");
    refuses("{\"metadata\":{}}", "metadata.name is missing");
    refuses("{\"metadata\":{\"namespace\":\"web\",\"name\":\"\"}}",
            "Pod web/: metadata.name is missing");
    refuses("{\"metadata\":{\"name\":1}}", "name is not a string");
    refuses("{\"metadata\":{\"name\":\"a\",\"uid\":7}}",
            "Pod a: uid is not a string");
    refuses("{\"kind\":{},\"metadata\":{\"name\":\"a\"}}",
            "kind is not a string");
    refuses("{\"metadata\":{\"name\":\"a\\u0000b\"}}", "holds a NUL byte");
    refuses("{\"metadata\":{\"name\":\"a/b\"}}", "holds a slash");
    refuses("{\"metadata\":{\"name\":\"a\",\"namespace\":\"/\"}}",
            "holds a slash");
    refuses("{\"metadata\":{\"name\":\"a\"}", "before it is complete");
    refuses("{\"metadata\":{\"name\":\"a\"},\"x\":1 2}", "not JSON");
    refuses("{\"metadata\":{\"name\":\"a\xff\"}}", "not JSON");
}

static void a_damaged_text_gives_a_valid_object_or_an_error(void **state)
{
    static const char text[] =
        "{ \"kind\":\"P\",\"metadata\":{\"name\":\"x\" ,\"managedFields\":"
        "[{\"a\":\"]\\\\\"}] ,\"uid\":\"u\"},\"n\":[1.5,null,\"\\n\"]}";
    static const char others[] = "{}[]\",:\\ n1\n\xff";
    size_t length = sizeof(text) - 1;
    size_t sound = 0;

    (void)state;
    for (size_t i = 0; i < length * (sizeof(others) - 1); i++) {
        char mangled[sizeof(text)];
        kl_object *object, *again;

        memcpy(mangled, text, sizeof(text));
        mangled[i % length] = others[i / length];
        object = kl_object_parse(mangled, length, NULL, NULL);
        if (object == NULL) {
            continue;
        }
        again = object_of(kl_object_json(object, NULL, NULL), NULL);
        assert_string_equal(kl_object_key(again), kl_object_key(object));
        assert_string_equal(kl_object_uid(again), kl_object_uid(object));
        assert_string_equal(kl_object_json(again, NULL, NULL),
                            kl_object_json(object, NULL, NULL));
        kl_object_unref(again);
        kl_object_unref(object);
        sound++;
    }
    assert_in_range(sound, 100, 600);
}

static void nesting_beyond_10000_levels_is_an_error(void **state)
{
    static const char head[] = "{\"metadata\":{\"name\":\"x\"},\"d\":";
    size_t depth = KL_MAX_DEPTH;
    char *json = malloc(sizeof(head) + 2 * depth + 1);

    (void)state;
    assert_non_null(json);
    memcpy(json, head, sizeof(head) - 1);
    memset(json + sizeof(head) - 1, '[', depth);
    memset(json + sizeof(head) - 1 + depth, ']', depth);
    strcpy(json + sizeof(head) - 1 + 2 * depth, "}");
    refuses(json, "deeper than 10000");
    free(json);
}

static void concurrent_opens_share_one_tree(void **state)
{
    kl_object *object = object_of("{\"metadata\":{\"name\":\"x\"}}", NULL);
    const kl_value *root;

    (void)state;
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
    root = kl_object_open(object, NULL);
    assert_ptr_equal(kl_object_open(object, NULL), root);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 1);
    kl_object_close(object);
    assert_string_equal(
        kl_value_string(kl_value_get(kl_value_get(root, "metadata"), "name"),
                        NULL),
        "x");
    kl_object_close(object);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
    assert_non_null(kl_object_open(object, NULL));
    kl_object_close(object);
    kl_object_unref(object);
}

static void an_object_lives_until_its_last_reference(void **state)
{
    kl_object *object = object_of("{\"metadata\":{\"name\":\"x\"}}", NULL);

    (void)state;
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 1);
    assert_ptr_equal(kl_object_ref(object), object);
    kl_object_unref(object);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 1);
    kl_object_unref(object);
    kl_object_unref(NULL);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

enum { THREADS = 4, ROUNDS = 3000 };

static void *open_and_close(void *arg)
{
    kl_object *object = arg;

    for (int i = 0; i < ROUNDS; i++) {
        const kl_value *root = kl_object_open(object, NULL);

        if (!kl_value_bool(kl_value_get(root, "right"))) {
            abort();
        }
        kl_object_unref(kl_object_ref(object));
        kl_object_close(object);
    }
    kl_object_unref(object);
    return NULL;
}

static void threads_open_and_close_at_the_same_time(void **state)
{
    kl_object *object =
        object_of("{\"metadata\":{\"name\":\"x\"},\"right\":true}", NULL);
    kl__thread threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(kl__thread_start(&threads[i], "opener", open_and_close,
                                          kl_object_ref(object), NULL),
                         KL_OK);
    }
    kl_object_unref(object);
    for (int i = 0; i < THREADS; i++) {
        kl__thread_join(&threads[i]);
    }
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
}

static void a_forked_child_can_read_objects(void **state)
{
    kl_object *object = object_of("{\"metadata\":{\"name\":\"x\"}}", NULL);
    int status = 0;
    pid_t child;

    (void)state;
    assert_non_null(kl_object_open(object, NULL));
    child = fork();
    if (child == 0) {
        bool is_open = kl_object_open(object, NULL) != NULL;

        kl_object_close(object);
        kl_object_close(object);
        kl_object_unref(object);
        _exit(is_open ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    kl_object_close(object);
    kl_object_unref(object);
}

static void an_object_takes_little_more_than_its_text(void **state)
{
    kl_object *object = object_of("{\"metadata\":{\"name\":\"x\"}}", NULL);

    (void)state;
    assert_in_range(kl_object_bytes(object), 25, 25 + 80);
    kl_object_unref(object);
}

static bool are_copies(const char *one, const char *other)
{
    const kl_object_options options = {.kind = "Pod", .api_version = "v1"};
    kl_object *a = object_of(one, &options), *b = object_of(other, &options);
    bool is_copy = kl__object_is_copy(a, b);

    kl_object_unref(a);
    kl_object_unref(b);
    return is_copy;
}

static void
a_copy_out_of_a_list_is_known_beside_one_out_of_a_watch(void **state)
{
    static const char listed[] = "{\"metadata\":{\"name\":\"a\"},\"x\":1}";

    (void)state;
    assert_true(are_copies(listed, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                                   "\"metadata\":{\"name\":\"a\"},\"x\":1}"));
    assert_true(are_copies(listed, listed));
    assert_false(are_copies(listed, "{\"metadata\":{\"name\":\"a\"},\"x\":2}"));
    assert_false(
        are_copies(listed, "{\"metadata\":{\"name\":\"a\"},\"x\":10}"));
    assert_false(are_copies(listed, "{\"kind\":\"Job\",\"apiVersion\":\"v1\","
                                    "\"metadata\":{\"name\":\"a\"},\"x\":1}"));
}

static void versions_compare_as_numbers_of_any_length(void **state)
{
    (void)state;
    assert_true(kl_version_compare("9", "10") < 0);
    assert_true(kl_version_compare("10", "9") > 0);
    assert_true(kl_version_compare("10", "11") < 0);
    assert_int_equal(kl_version_compare("7", "7"), 0);
    assert_int_equal(kl_version_compare("007", "7"), 0);
    assert_int_equal(kl_version_compare("0", "000"), 0);
    assert_true(kl_version_compare("0", "1") < 0);
    assert_true(kl_version_compare("123456789012345678901234567890",
                                   "123456789012345678901234567889") > 0);
    assert_int_equal(kl_version_compare("", "1"), INT_MIN);
    assert_int_equal(kl_version_compare("", ""), 0);
    assert_int_equal(kl_version_compare("1a", "1"), INT_MIN);
    assert_int_equal(kl_version_compare("-1", "1"), INT_MIN);
}

static kl_code parse_and_open(void *context)
{
    const kl_object_options options = {.kind = "Pod", .api_version = "v1"};
    const char *json = context;
    kl_error err = {0};
    kl_object *object = kl_object_parse(json, strlen(json), &options, &err);
    const kl_value *root;

    if (object == NULL) {
        return err.code;
    }
    root = kl_object_open(object, &err);
    if (root != NULL) {
        kl_object_close(object);
    }
    kl_object_unref(object);
    return root != NULL ? KL_OK : err.code;
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    char json[] = "{\"metadata\":{\"name\":\"x\",\"managedFields\":[]}}";

    (void)state;
    assert_true(failing_alloc_each(parse_and_open, json) >= 6);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_has_key_uid_version_and_kind),
        cmocka_unit_test(an_identity_of_up_to_64_kb_is_taken),
        cmocka_unit_test(an_absent_field_reads_as_an_empty_string),
        cmocka_unit_test(managed_fields_are_cut_at_any_position),
        cmocka_unit_test(numbers_and_strings_keep_their_spelling),
        cmocka_unit_test(a_missing_kind_or_api_version_is_added),
        cmocka_unit_test(an_invalid_object_is_an_error_that_names_it),
        cmocka_unit_test(a_damaged_text_gives_a_valid_object_or_an_error),
        cmocka_unit_test(nesting_beyond_10000_levels_is_an_error),
        cmocka_unit_test(concurrent_opens_share_one_tree),
        cmocka_unit_test(an_object_lives_until_its_last_reference),
        cmocka_unit_test(threads_open_and_close_at_the_same_time),
        cmocka_unit_test(a_forked_child_can_read_objects),
        cmocka_unit_test(an_object_takes_little_more_than_its_text),
        cmocka_unit_test(
            a_copy_out_of_a_list_is_known_beside_one_out_of_a_watch),
        cmocka_unit_test(versions_compare_as_numbers_of_any_length),
        cmocka_unit_test(running_out_of_memory_is_an_error_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
