/*
 * patch_spec.c - patches, compared with answers of a real kube-apiserver: those
 * of patches.txt, hostile ones, and lack of memory.
 */
#include "base/buf.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "patch_check.h"
#include "spec_case.h"

typedef struct patch_case {
    const char *target;
    const char *patch;
    const char *result; /* as JSON or YAML; NULL: refused */
    int status;         /* of a refusal */
    const char *why;    /* in its message; NULL: any */
} patch_case;

typedef kl_code (*patch_fn)(kl__edit *edit, kl__node *target, kl__node *patch,
                            kl_error *err);

static void patch_check(const patch_case *expected, patch_fn run)
{
    kl_error err = {0};
    kl__edit *edit = kl__edit_new(&err);
    kl__node *target = patch_parse(edit, expected->target);
    kl__node *patch = patch_parse(edit, expected->patch);
    kl_code code = run(edit, target, patch, &err);
    char *json;

    if (expected->result == NULL) {
        if (code == KL_OK || err.http_status != expected->status ||
            (expected->why != NULL &&
             strcmp(err.message, expected->why) != 0)) {
            fail_msg("%s with %s: %d %s", expected->target, expected->patch,
                     err.http_status, err.message);
        }
        kl__edit_free(edit);
        return;
    }
    if (code != KL_OK) {
        fail_msg("%s with %s: %s", expected->target, expected->patch,
                 err.message);
    }
    json = kl__node_json(target, NULL, &err);
    assert_non_null(json);
    if (strcmp(json, sim_json(expected->result)) != 0) {
        fail_msg("%s with %s: %s instead of %s", expected->target,
                 expected->patch, json, expected->result);
    }
    free(json);
    kl__edit_free(edit);
}

static kl_code on_pod(kl__edit *edit, kl__node *target, kl__node *patch,
                      kl_error *err)
{
    const kl__schema *schema = kl__schema_builtin("", "v1", "Pod", err);

    assert_non_null(schema);
    return kl__patch_strategic(edit, schema, target, patch, err);
}

/* Cuts the text at a mark, and returns what is behind it. */
static char *cut_at(char *text, const char *mark)
{
    char *found = strstr(text, mark);

    if (found == NULL) {
        fail_msg("no \"%s\" in: %s", mark, text);
    }
    *found = '\0';
    return found + strlen(mark);
}

static void run_line(char *line)
{
    char *target = cut_at(line, " "), *patch = cut_at(target, " + ");
    char *result = cut_at(patch, " = ");
    bool is_refused = *result != '{';
    int status = is_refused ? (int)strtol(result, &result, 10) : 0;
    const patch_case one = {strcmp(target, "*") == 0
                                ? "{a: [1, 2], o: {b: 1}, s: x, 'n': 1}"
                                : target,
                            patch, is_refused ? NULL : result, status,
                            is_refused && *result == ' ' ? result + 1 : NULL};

    patch_check(&one, strcmp(line, "json") == 0    ? kl__patch_json
                      : strcmp(line, "merge") == 0 ? kl__patch_merge
                                                   : on_pod);
}

static void run_lines(void **state)
{
    const text_case *self = *state;
    char *lines = strdup(self->lines.bytes), *rest = NULL;

    for (char *line = strtok_r(lines, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        run_line(line);
    }
    free(lines);
}

__attribute__((constructor)) static void read_patches(void)
{
    spec_read_cases("sim/spec/core/patch/patches.txt", run_lines, NULL, NULL);
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
