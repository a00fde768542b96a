/*
 * strategic_spec.c - strategic merge patches, compared with answers of a real
 * kube-apiserver.
 */
#include "spec_case.h"
#include "patch_check.h"

#include "failing_alloc.h"
#include "kubelua/memory.h"

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
         "map: map[image:x] does not contain declared merge key: name"},
        {"{spec: {}}", "{spec: {'$patch': merge, a: [1]}}", NULL, 500,
         "unknown patch type: merge in map: map[$patch:merge a:[1]]"},
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
