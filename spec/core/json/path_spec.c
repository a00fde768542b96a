/*
 * path_spec.c - paths lead to the values that they name, and a wrong one says
 * where it is wrong.
 */
#include "failing_alloc.h"
#include "kubelua/cursor.h"
#include "kubelua/memory.h"
#include "kubelua/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char pod[] =
    "{\"metadata\":{\"labels\":{\"app\":\"shop\",\"a.b/c\":\"d\","
    "\"q\\\"]\":\"odd\"}},"
    "\"spec\":{\"nodeName\":\"n1\",\"hostname\":null,"
    "\"containers\":[{\"image\":\"x\",\"ports\":[{\"p\":1},{\"p\":2}]},"
    "{\"name\":\"no image\"},{\"image\":\"y\",\"ports\":[{\"p\":3}]},"
    "{\"image\":null}]}}";

typedef struct found {
    char text[256];
    size_t stop_after;
} found;

static kl_code note(void *context, const kl_value *value)
{
    found *self = context;
    char *json = kl_value_json(value, NULL, NULL);

    strcat(self->text, json);
    strcat(self->text, " ");
    kl_free(json);
    return --self->stop_after == 0 ? KL_EGONE : KL_OK;
}

static kl_code each(const char *text, size_t stop_after, found *self)
{
    kl_doc *doc = kl_doc_parse(pod, sizeof(pod) - 1, NULL);
    kl_error err = {0};
    kl_path *path = kl_path_parse(text, &err);
    kl_code code;

    if (path == NULL) {
        fail_msg("%s", err.message);
    }
    assert_string_equal(kl_path_text(path), text);
    *self = (found){.stop_after = stop_after};
    code = kl_path_each(path, kl_doc_root(doc), note, self);
    kl_path_free(path);
    kl_doc_unref(doc);
    return code;
}

/* In the text, the first value is found where it stands. */
static void leads_to_first(const char *text, const char *expected)
{
    const char *end = pod + sizeof(pod) - 1;
    kl_path *path = kl_path_parse(text, NULL);
    const char *first = kl_cursor_path(path, pod, end);

    if (first == NULL) {
        assert_string_equal(expected, "");
    } else {
        size_t length = (size_t)(kl_cursor_skip(first, end) - first);

        assert_int_equal(strncmp(first, expected, length), 0);
        assert_int_equal(expected[length], ' ');
    }
    assert_null(kl_cursor_path(path, NULL, end));
    kl_path_free(path);
}

static void leads_to(const char *text, const char *expected)
{
    found self;

    assert_int_equal(each(text, 0, &self), KL_OK);
    assert_string_equal(self.text, expected);
    leads_to_first(text, expected);
}

static void names_indexes_and_stars_lead_to_their_values(void **state)
{
    (void)state;
    leads_to("spec.nodeName", "\"n1\" ");
    leads_to("spec.containers[1].image", "\"x\" ");
    leads_to("spec.containers[*].image", "\"x\" \"y\" ");
    leads_to("spec.containers[*].ports[*].p", "1 2 3 ");
    leads_to("spec.containers[3].ports", "[{\"p\":3}] ");
    leads_to("spec[\"containers\"][2]['name']", "\"no image\" ");
    leads_to("metadata.labels[*]", "\"shop\" \"d\" \"odd\" ");
    leads_to("metadata.labels[\"a.b/c\"]", "\"d\" ");
    leads_to("metadata.labels[\"q\\\"]\"]", "\"odd\" ");
    leads_to("[\"metadata\"].labels.app", "\"shop\" ");
}

static void absent_and_null_members_are_not_found(void **state)
{
    (void)state;
    leads_to("spec.nodename", "");
    leads_to("spec.hostname", "");
    leads_to("spec.hostname.deeper", "");
    leads_to("spec.nodeName.deeper", "");
    leads_to("spec.containers.image", "");
    leads_to("spec.containers[9].image", "");
    leads_to("spec[1]", "");
    leads_to("spec.nodeName[*]", "");
    leads_to("spec.containers[4].image", "");
}

static void a_callback_can_stop_the_iteration(void **state)
{
    found self;

    (void)state;
    assert_int_equal(each("spec.containers[*].ports[*].p", 2, &self), KL_EGONE);
    assert_string_equal(self.text, "1 2 ");
}

static void kl_path_first_returns_the_first_value_that_exists(void **state)
{
    kl_doc *doc = kl_doc_parse(pod, sizeof(pod) - 1, NULL);
    kl_path *path = kl_path_parse("spec.containers[*].name", NULL);

    (void)state;
    assert_string_equal(
        kl_value_string(kl_path_first(path, kl_doc_root(doc)), NULL),
        "no image");
    assert_null(kl_path_first(path, NULL));
    kl_path_free(path);
    kl_path_free(NULL);
    kl_doc_unref(doc);
}

static void refuses(const char *text, size_t character, const char *message)
{
    char expected[64];
    kl_error err = {0};

    assert_null(kl_path_parse(text, &err));
    assert_int_equal(err.code, KL_EINVAL);
    snprintf(expected, sizeof(expected), "path, character %zu: ", character);
    if (strncmp(err.message, expected, strlen(expected)) != 0 ||
        strstr(err.message, message) == NULL) {
        fail_msg("%s: \"%s\"", text, err.message);
    }
}

static void a_wrong_path_says_where_it_is_wrong(void **state)
{
    kl_error err = {0};

    (void)state;
    refuses("", 1, "a field's name");
    refuses("spec.", 6, "a field's name");
    refuses("a..b", 3, "a field's name");
    refuses("a b", 2, "[\"name\"]");
    refuses("a.*", 3, "a field's name");
    refuses("a[", 3, "expected *");
    refuses("a[]", 3, "expected *");
    refuses("a[x]", 3, "quoted name");
    refuses("a[0]", 3, "counted from 1");
    refuses("a[-1]", 3, "expected *");
    refuses("a[99999999999999999999999]", 3, "too large");
    refuses("a[1", 4, "expected \"]\"");
    refuses("a[*", 4, "expected \"]\"");
    refuses("a[\"b]", 3, "never closed");
    refuses("a[\"b\\", 3, "never closed");
    refuses("a[1]b", 5, "expected \".\"");
    assert_null(kl_path_parse("spec.x[0]", &err));
    assert_non_null(strstr(err.message, "\n    spec.x[0]\n           ^"));
}

/* As they are typed for `kubectl get -o jsonpath`: they would match nothing. */
static void a_path_of_kubectl_is_refused_with_the_right_form(void **state)
{
    (void)state;
    refuses("metadata.labels.app\\.kubernetes\\.io/name", 20,
            "write metadata.labels[\"app.kubernetes.io/name\"]");
    refuses("metadata.labels.app.kubernetes.io/name", 20,
            "write metadata.labels[\"app.kubernetes.io/name\"]");
    refuses("spec.template.metadata.annotations.a.b", 37,
            "write spec.template.metadata.annotations[\"a.b\"]");
    refuses("status.capacity.nvidia\\.com/gpu", 23,
            "write status.capacity[\"nvidia.com/gpu\"]");
    refuses("{.metadata.name}", 1, "write metadata.name,");
    refuses("{.metadata.labels.app\\.kubernetes\\.io/name}", 1,
            "write metadata.labels[\"app.kubernetes.io/name\"],");
    refuses("{.metadata.labels['a.b']}", 1, "write metadata.labels['a.b'],");
    refuses("$.spec.nodeName", 1, "write spec.nodeName,");
    refuses(".spec.containers[*].image", 1, "write spec.containers[*].image,");
    refuses("{.spec.containers[0].image}", 1,
            "write spec.containers[1].image,");
    refuses("{.items[?(@.a==1)].b}", 1, "write fields as spec.nodeName,");
    refuses("{", 1, "write fields as spec.nodeName,");
}

static void a_key_with_a_slash_and_no_dot_needs_no_quotes(void **state)
{
    (void)state;
    leads_to("metadata.labels.a/b", "");
    leads_to("metadata.labels[\"a\\.b/c\"]", "\"d\" ");
    leads_to("metadata.labels.app", "\"shop\" ");
}

static bool begins(const char *text, const char *name)
{
    kl_path *path = kl_path_parse(text, NULL);
    bool begins_with = kl_path_begins_with(path, name);

    kl_path_free(path);
    return begins_with;
}

static void a_path_tells_its_first_member(void **state)
{
    (void)state;
    assert_true(begins("metadata.labels.app", "metadata"));
    assert_true(begins("metadata", "metadata"));
    assert_true(begins("[\"metadata\"].labels", "metadata"));
    assert_false(begins("metadatas.labels", "metadata"));
    assert_false(begins("meta", "metadata"));
    assert_false(begins("spec.metadata", "metadata"));
    assert_false(begins("[*]", "metadata"));
    assert_false(begins("[1].metadata", "metadata"));
}

static kl_code compile(void *context)
{
    kl_error err = {0};
    kl_path *path = kl_path_parse(context, &err);

    kl_path_free(path);
    return path != NULL ? KL_OK : err.code;
}

static void running_out_of_memory_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(failing_alloc_each(compile, "a[*].b[\"c\"]"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_indexes_and_stars_lead_to_their_values),
        cmocka_unit_test(absent_and_null_members_are_not_found),
        cmocka_unit_test(a_callback_can_stop_the_iteration),
        cmocka_unit_test(kl_path_first_returns_the_first_value_that_exists),
        cmocka_unit_test(a_wrong_path_says_where_it_is_wrong),
        cmocka_unit_test(a_path_of_kubectl_is_refused_with_the_right_form),
        cmocka_unit_test(a_key_with_a_slash_and_no_dot_needs_no_quotes),
        cmocka_unit_test(a_path_tells_its_first_member),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
