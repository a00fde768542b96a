/*
 * patch_spec.c - JSON patches and strategic merge patches, compared with
 * answers of a real kube-apiserver.
 */
#include "base/buf.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "patch_check.h"
#include "spec_case.h"

PLAIN_CASE(operations_change_members_and_elements)
{
    static const patch_case cases[] = {
        {"{a: 1}", "[]", "{a: 1}", 0, NULL},
        {"{a: 1}", "null", "{a: 1}", 0, NULL},
        {"{}", "[{op: add, path: /a, value: {b: 1}}]", "{a: {b: 1}}", 0, NULL},
        {"{a: 1}", "[{op: add, path: /a, value: 2}]", "{a: 2}", 0, NULL},
        {"{}", "[{op: add, path: /a}]", "{a: null}", 0, NULL},
        {"{a: [1, 2]}", "[{op: add, path: /a/0, value: 0}]", "{a: [0, 1, 2]}",
         0, NULL},
        {"{a: [1, 2]}", "[{op: add, path: /a/2, value: 3}]", "{a: [1, 2, 3]}",
         0, NULL},
        {"{a: [1, 2]}", "[{op: add, path: /a/-, value: 3}]", "{a: [1, 2, 3]}",
         0, NULL},
        {"{a: [1, 2]}", "[{op: add, path: /a/-1, value: 3}]", "{a: [1, 2, 3]}",
         0, NULL},
        {"{a: [1, 2]}", "[{op: add, path: /a/-3, value: 3}]", "{a: [3, 1, 2]}",
         0, NULL},
        {"{a/b: {'~c': 1}}", "[{op: replace, path: '/a~1b/~0c', value: 2}]",
         "{a/b: {'~c': 2}}", 0, NULL},
        {"{'': {'': 1}}", "[{op: remove, path: //}]", "{'': {}}", 0, NULL},
        {"{a: [1, 2, 3]}", "[{op: remove, path: /a/-1}]", "{a: [1, 2]}", 0,
         NULL},
        {"{a: 1}", "[{op: replace, path: /b, value: 2}]", "{a: 1, b: 2}", 0,
         NULL},
        {"{a: [1, 2]}", "[{op: replace, path: /a/1, value: null}]",
         "{a: [1, null]}", 0, NULL},
        {"{a: 1}",
         "[{op: replace, path: '', value: {b: 1}}, {op: add, path: /c, value: "
         "2}]",
         "{b: 1, c: 2}", 0, NULL},
        {"{a: {b: [1, 2]}}", "[{op: move, from: /a/b/0, path: /c}]",
         "{a: {b: [2]}, c: 1}", 0, NULL},
        {"{a: {b: 1}}",
         "[{op: copy, from: /a, path: /c}, {op: add, path: /c/b, value: 2}]",
         "{a: {b: 1}, c: {b: 2}}", 0, NULL},
        {"{a: 1}", "[{op: copy, from: /b, path: /c}]", "{a: 1, c: null}", 0,
         NULL},
        {"{a: {b: 1, c: []}}", "[{op: test, path: /a, value: {c: [], b: 1}}]",
         "{a: {b: 1, c: []}}", 0, NULL},
        {"{a: 1}", "[{op: test, path: /b, value: null}]", "{a: 1}", 0, NULL},
        {"{a: 1}", "[{op: test, path: '', value: {a: 1}}]", "{a: 1}", 0, NULL}};

    PATCH_CHECK_ALL(cases, kl__patch_json);
}

PLAIN_CASE(operations_that_do_not_apply_are_refused)
{
    static const char *const patches[] = {
        "[{op: x}]",
        "[null]",
        "[{op: add, value: 1}]",
        "[{op: add, path: '', value: 1}]",
        "[{op: add, path: o, value: 1}]",
        "[{op: add, path: /x/y, value: 1}]",
        "[{op: add, path: /s/y, value: 1}]",
        "[{op: add, path: /a/3, value: 1}]",
        "[{op: add, path: /a/-4, value: 1}]",
        "[{op: add, path: /a/x, value: 1}]",
        "[{op: add, path: /a/99999999999999999999, value: 1}]",
        "[{op: remove, path: /x}]",
        "[{op: remove, path: /a/2}]",
        "[{op: remove, path: ''}]",
        "[{op: replace, path: /a/2, value: 1}]",
        "[{op: replace, path: '', value: 1}]",
        "[{op: replace, path: ''}]",
        "[{op: move, from: /x, path: /y}]",
        "[{op: move, path: /y}]",
        "[{op: move, from: /o, path: /o/b}]",
        "[{op: copy, from: /a/2, path: /y}]",
        "[{op: test, path: /s, value: 'y'}]",
        "[{op: test, path: /s}]",
        "[{op: test, path: /o, value: null}]",
        "[{\"op\":\"test\",\"path\":\"/n\",\"value\":1.0}]",
        "[{op: test, path: '', value: {}}]"};

    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        const patch_case one = {"{a: [1, 2], o: {b: 1}, s: x, 'n': 1}",
                                patches[i], NULL, 422, NULL};

        patch_check(&one, kl__patch_json);
    }
}

PLAIN_CASE(a_malformed_patch_is_a_bad_request)
{
    static const patch_case cases[] = {
        {"{}", "{}", NULL, 400,
         "error decoding patch: json: cannot unmarshal object into Go value of "
         "type []handlers.jsonPatchOp"},
        {"{}", "[1]", NULL, 400,
         "error decoding patch: json: cannot unmarshal number into Go value of "
         "type handlers.jsonPatchOp"},
        {"{}", "[{op: add, path: []}]", NULL, 400,
         "error decoding patch: json: cannot unmarshal array into Go struct "
         "field jsonPatchOp.path of type string"}};

    PATCH_CHECK_ALL(cases, kl__patch_json);
}

PLAIN_CASE(merge_patches_merge_replace_and_remove)
{
    static const patch_case cases[] = {
        {"{a: b}", "{a: c}", "{a: c}", 0, NULL},
        {"{a: b}", "{b: c}", "{a: b, b: c}", 0, NULL},
        {"{a: b}", "{a: null}", "{}", 0, NULL},
        {"{a: b, b: c}", "{a: null, x: null}", "{b: c}", 0, NULL},
        {"{a: [b]}", "{a: c}", "{a: c}", 0, NULL},
        {"{a: c}", "{a: [b]}", "{a: [b]}", 0, NULL},
        {"{a: {b: c}}", "{a: {b: d, c: null}}", "{a: {b: d}}", 0, NULL},
        {"{a: [{b: c}]}", "{a: [1]}", "{a: [1]}", 0, NULL},
        {"{}", "{a: {bb: {ccc: null}}}", "{a: {bb: {}}}", 0, NULL},
        {"{e: null}", "{a: 1}", "{e: null, a: 1}", 0, NULL},
        {"{a: 1}", "{a: {b: null, c: [null, {d: null}]}}",
         "{a: {c: [null, {}]}}", 0, NULL},
        {"{a: {}}", "{a: [{d: null}]}", "{a: [{d: null}]}", 0, NULL},
        {"{}", "[1]", NULL, 400,
         "error decoding patch: json: cannot unmarshal array into Go value of "
         "type map[string]interface {}"}};

    PATCH_CHECK_ALL(cases, kl__patch_merge);
}

/* `count` operations, each the text, separated. */
static char *repeated(const char *operation, int count)
{
    kl__buf buf = {0};

    kl__buf_putc(&buf, '[');
    for (int i = 0; i < count; i++) {
        kl__buf_puts(&buf, i > 0 ? "," : "");
        kl__buf_puts(&buf, operation);
    }
    kl__buf_putc(&buf, ']');
    return kl__buf_take(&buf, NULL);
}

static void refuses(const char *target, const char *operation, int count,
                    int status)
{
    char *patch = repeated(operation, count);
    const patch_case one = {target, patch, NULL, status, NULL};

    patch_check(&one, kl__patch_json);
    kl_free(patch);
}

PLAIN_CASE(hostile_patches_are_bounded)
{
    char *ones = repeated("1", 400000);
    char *deep = malloc(2 * KL__NODE_DEPTH + 1);

    refuses("{}", "{\"op\":\"add\",\"path\":\"/a\",\"value\":1}", 10001, 413);
    /* Doubles each time; grows deeper each time; walks far each time. */
    refuses("{\"a\":[\"x\"]}",
            "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}", 10000, 422);
    refuses("{\"a\":{}}", "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/b\"}",
            10000, 422);
    refuses(ones, "{\"op\":\"test\",\"path\":\"/399999\",\"value\":1}", 10000,
            413);
    for (int i = 0; i < KL__NODE_DEPTH; i++) {
        deep[i] = '[';
        deep[2 * KL__NODE_DEPTH - 1 - i] = ']';
    }
    deep[2 * KL__NODE_DEPTH] = '\0';
    refuses(deep,
            "{\"op\":\"add\",\"path\":\"/0\",\"value\":[]},"
            "{\"op\":\"move\",\"from\":\"/1\",\"path\":\"/0/-\"}",
            1, 422);
    free(deep);
    kl_free(ones);
}

static kl_code patch_both(void *context)
{
    static const char operations[] =
        "[{\"op\":\"add\",\"path\":\"/a~1b\",\"value\":[]},"
        "{\"op\":\"copy\",\"from\":\"/x\",\"path\":\"/a~1b/-\"},"
        "{\"op\":\"move\",\"from\":\"/x\",\"path\":\"/y\"},"
        "{\"op\":\"test\",\"path\":\"/y\",\"value\":{\"z\":1}}]";
    static const char merge[] = "{\"y\":{\"q\":{\"r\":1}},\"s\":[1]}";
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *target, *patch, *other;
    kl_code code = KL_ENOMEM;
    kl_error err = {0};

    (void)context;
    if (edit == NULL) {
        return KL_ENOMEM;
    }
    target = kl__edit_parse(edit, "{\"x\":{\"z\":1}}", 13, NULL);
    patch = kl__edit_parse(edit, operations, sizeof(operations) - 1, NULL);
    other = kl__edit_parse(edit, merge, sizeof(merge) - 1, NULL);
    if (target != NULL && patch != NULL && other != NULL) {
        code = kl__patch_json(edit, target, patch, &err);
        if (code == KL_OK) {
            code = kl__patch_merge(edit, target, other, &err);
        }
    }
    kl__edit_free(edit);
    return code;
}

PLAIN_CASE(patches_say_when_memory_runs_out)
{
    failing_alloc_install();
    assert_true(failing_alloc_each(patch_both, NULL) > 0);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

/* ---- Strategic merge patches, compared with answers of a real
 * kube-apiserver. */

static kl_code on_pod(kl__edit *edit, kl__node *target, kl__node *patch,
                      kl_error *err)
{
    const kl__schema *schema = kl__schema_builtin("", "v1", "Pod", err);

    assert_non_null(schema);
    return kl__patch_strategic(edit, schema, target, patch, err);
}

PLAIN_CASE(lists_of_objects_are_merged_by_their_keys)
{
    static const patch_case cases[] = {
        {"{spec: {containers: [{name: a, image: '1'}, {name: b}]}}",
         "{spec: {containers: [{name: b, image: '2'}]}}",
         "{spec: {containers: [{name: a, image: '1'}, {name: b, image: '2'}]}}",
         0, NULL},
        /* What is new comes first. */
        {"{spec: {containers: [{name: a}]}}",
         "{spec: {containers: [{name: c}]}}",
         "{spec: {containers: [{name: c}, {name: a}]}}", 0, NULL},
        {"{spec: {containers: [{name: a}, {name: b}]}}",
         "{spec: {containers: [{'$patch': delete, name: a}]}}",
         "{spec: {containers: [{name: b}]}}", 0, NULL},
        {"{spec: {containers: [{name: a}, {name: b}]}}",
         "{spec: {containers: [{'$patch': replace}, {name: c}]}}",
         "{spec: {containers: [{name: c}]}}", 0, NULL},
        {"{spec: {containers: [{name: a}, {name: b}]}}",
         "{spec: {'$setElementOrder/containers': [{name: c}, {name: b}, {name: "
         "a}], containers: [{name: c}]}}",
         "{spec: {containers: [{name: c}, {name: b}, {name: a}]}}", 0, NULL},
        /* No merge key, no merging. */
        {"{spec: {tolerations: [{key: a}]}}",
         "{spec: {tolerations: [{key: b}]}}",
         "{spec: {tolerations: [{key: b}]}}", 0, NULL},
        {"{spec: {containers: [{name: a, args: [x]}]}}",
         "{spec: {containers: [{name: a, args: ['y']}]}}",
         "{spec: {containers: [{name: a, args: ['y']}]}}", 0, NULL}};

    PATCH_CHECK_ALL(cases, on_pod);
}

PLAIN_CASE(lists_of_primitives_are_merged_or_reduced)
{
    static const patch_case cases[] = {
        {"{metadata: {finalizers: [a, b]}}", "{metadata: {finalizers: [c, a]}}",
         "{metadata: {finalizers: [c, a, b]}}", 0, NULL},
        {"{metadata: {finalizers: [a, b]}}",
         "{metadata: {'$deleteFromPrimitiveList/finalizers': [a]}}",
         "{metadata: {finalizers: [b]}}", 0, NULL},
        {"{metadata: {finalizers: [a, b]}}",
         "{metadata: {'$setElementOrder/finalizers': [b, a]}}",
         "{metadata: {finalizers: [b, a]}}", 0, NULL}};

    PATCH_CHECK_ALL(cases, on_pod);
}

PLAIN_CASE(objects_obey_their_directives)
{
    static const patch_case cases[] = {
        {"{spec: {nodeName: a, hostPID: true}}",
         "{spec: {'$patch': replace, nodeName: b}}", "{spec: {nodeName: b}}", 0,
         NULL},
        {"{spec: {nodeName: a}}", "{spec: {'$patch': delete, nodeName: b}}",
         "{spec: {}}", 0, NULL},
        {"{spec: {nodeName: a, hostPID: true}}",
         "{spec: {'$retainKeys': [nodeName], nodeName: b}}",
         "{spec: {nodeName: b}}", 0, NULL},
        {"{metadata: {labels: {a: '1', b: '2'}}}",
         "{metadata: {labels: {a: null, c: '3'}}}",
         "{metadata: {labels: {b: '2', c: '3'}}}", 0, NULL},
        {"{spec: {}}", "{spec: {securityContext: {runAsUser: null}}}",
         "{spec: {securityContext: {}}}", 0, NULL}};

    PATCH_CHECK_ALL(cases, on_pod);
}

PLAIN_CASE(what_cannot_be_merged_is_refused)
{
    static const patch_case cases[] = {
        {"{spec: {containers: [{name: a}]}}",
         "{spec: {containers: [{image: x}]}}", NULL, 500,
         "an element of a list does not contain its declared merge key: name"},
        {"{spec: {}}", "{spec: {'$patch': merge, a: [1]}}", NULL, 500,
         "unknown patch type: merge"},
        {"{spec: {}}", "{spec: {'$retainKeys': 1}}", NULL, 400,
         "invalid patch format of retainKeys"},
        {"{spec: {a: 1}}", "{spec: {'$retainKeys': [b], a: 1}}", NULL, 400,
         "invalid patch format of retainKeys"},
        {"{spec: {}}", "{spec: {'$setElementOrder': []}}", NULL, 400,
         "invalid patch format of setElementOrder list"},
        {"{spec: {}}", "{spec: {'$deleteFromPrimitiveList': []}}", NULL, 400,
         "invalid patch format of primitive list"},
        {"{spec: {}}",
         "{spec: {'$setElementOrder/containers': [{name: a}], containers: []}}",
         NULL, 500, "no elements in any of the given slices"},
        {"{metadata: {finalizers: [a]}}", "{metadata: {finalizers: [[a]]}}",
         NULL, 422, NULL},
        {"{}", "[]", NULL, 400,
         "json: cannot unmarshal array into Go value of type "
         "map[string]interface {}"}};

    PATCH_CHECK_ALL(cases, on_pod);
}

static kl_code merge_all(void *context)
{
    static const char target[] =
        "{\"metadata\":{\"finalizers\":[\"a\",\"b\"]},\"spec\":{\"containers\":"
        "[{\"name\":\"a\"},{\"name\":\"b\",\"ports\":[{\"containerPort\":1}]}]"
        "}}";
    static const char patch[] =
        "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"a\"]},"
        "\"spec\":{\"$retainKeys\":[\"containers\"],"
        "\"$setElementOrder/containers\":[{\"name\":\"b\"},{\"name\":\"c\"}],"
        "\"containers\":[{\"name\":\"b\",\"ports\":[{\"containerPort\":2}]},"
        "{\"name\":\"c\"},{\"name\":\"a\",\"$patch\":\"delete\"}]}}";
    kl__edit *edit = kl__edit_new(NULL);
    kl_code code = KL_ENOMEM;
    kl_error err = {0};
    kl__node *a, *b;

    if (edit == NULL) {
        return KL_ENOMEM;
    }
    a = kl__edit_parse(edit, target, sizeof(target) - 1, NULL);
    b = kl__edit_parse(edit, patch, sizeof(patch) - 1, NULL);
    if (a != NULL && b != NULL) {
        code = kl__patch_strategic(edit, context, a, b, &err);
    }
    kl__edit_free(edit);
    return code;
}

PLAIN_CASE(merging_says_when_memory_runs_out)
{
    const kl__schema *schema;

    failing_alloc_install();
    kl__schema_hold();
    schema = kl__schema_builtin("", "v1", "Pod", NULL);
    assert_non_null(schema);
    assert_true(failing_alloc_each(merge_all, (void *)(uintptr_t)schema) > 0);
    kl__schema_release();
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}
