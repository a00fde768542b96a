/*
 * sim_scale.c - the scale of what has replicas: an object of its own kind, made
 * of another one at its paths. What is written to it goes the way of an update.
 */
#include "sim/subresources/sim_below.h"

#include "base/mem.h"
#include "sim/answer/sim_status.h"
#include "sim/custom/sim_scale_paths.h"
#include "sim/write/sim_pipeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Where an object has what its scale shows. NULL: nowhere. */
typedef struct scale_paths {
    const char *spec;
    const char *status;
    const char *selector; /* a text; of built-in kinds a label selector */
} scale_paths;

static scale_paths paths_of(const kl__sim_version *served)
{
    scale_paths paths = {".spec.replicas", ".status.replicas", NULL};

    if (served->scale != NULL) {
        paths.spec = kl__sim_scale_path(served->scale, "specReplicasPath");
        paths.status = kl__sim_scale_path(served->scale, "statusReplicasPath");
        paths.selector = kl__sim_scale_path(served->scale, "labelSelectorPath");
    }
    return paths;
}

static int64_t number_at(const kl__node *root, const char *path)
{
    const kl__node *found = NULL;

    return path != NULL && kl__sim_scale_find(root, path, &found)
               ? kl__node_integer(found)
               : 0;
}

/* The selector as a text. Out of memory sticks in `out`. */
static void selector_of(const kl__node *root, const kl__sim_version *served,
                        kl__buf *out)
{
    scale_paths paths = paths_of(served);
    const kl__node *found = NULL;

    if (served->scale == NULL) {
        kl__sim_selector_text(
            kl__node_get(kl__node_get(root, "spec"), "selector"), out);
    } else if (paths.selector != NULL &&
               kl__sim_scale_find(root, paths.selector, &found)) {
        const char *text = kl__node_string(found, NULL);

        kl__buf_puts(out, text != NULL ? text : "");
    }
}

/* Fills the members of a Scale out of an object. */
static bool fill(kl__edit *edit, kl__node *scale, const kl__node *root,
                 const kl__sim_version *served)
{
    static const char *const kept[] = {"name", "namespace", "uid",
                                       "resourceVersion", "creationTimestamp"};
    const kl__node *old = kl__node_get(root, "metadata");
    kl__node *metadata = kl__node_ensure(edit, scale, "metadata");
    kl__node *spec = kl__node_ensure(edit, scale, "spec");
    kl__node *status = kl__node_ensure(edit, scale, "status");
    scale_paths paths = paths_of(served);
    int64_t replicas = number_at(root, paths.spec);
    kl__buf selector = {0};
    bool filled = metadata != NULL && spec != NULL && status != NULL;

    for (size_t i = 0; filled && i < sizeof(kept) / sizeof(kept[0]); i++) {
        filled = kl__sim_put_copy(edit, metadata, kept[i],
                                  kl__node_get(old, kept[i]));
    }
    if (filled && replicas != 0) {
        filled = kl__node_put(edit, spec, "replicas",
                              kl__edit_integer(edit, replicas));
    }
    selector_of(root, served, &selector);
    filled =
        filled && !selector.failed &&
        kl__node_put(edit, status, "replicas",
                     kl__edit_integer(edit, number_at(root, paths.status))) &&
        (selector.length == 0 ||
         kl__sim_put_text(edit, status, "selector", selector.bytes));
    kl__buf_deinit(&selector);
    return filled;
}

/* The Scale of an object; owned by the caller. NULL: KL_ENOMEM. */
static kl__edit *make(const kl__node *root, const kl__sim_version *served,
                      kl_error *err)
{
    kl__edit *edit = kl__edit_new(err);
    kl__node *scale = edit != NULL ? kl__edit_object(edit) : NULL;

    if (scale == NULL || !kl__sim_put_text(edit, scale, "kind", "Scale") ||
        !kl__sim_put_text(edit, scale, "apiVersion", "autoscaling/v1") ||
        !fill(edit, scale, root, served)) {
        kl__edit_free(edit);
        kl__sim_no_memory(err);
        return NULL;
    }
    kl__edit_set_root(edit, scale);
    return edit;
}

static kl_code present(kl__sim_write *write, int status,
                       const kl__sim_view *view, const kl__sim_state *state,
                       kl_error *err)
{
    kl__edit *whole = kl__sim_state_edit(state, err), *scale;
    kl_code code = KL_ENOMEM;

    (void)view;
    if (whole != NULL) {
        scale = make(kl__edit_root(whole), write->served, err);
        if (scale != NULL) {
            code = kl__sim_answer_tree(write->answer, status, scale, err);
        }
        kl__edit_free(scale);
    }
    kl__edit_free(whole);
    return code;
}

static const char *word_for(const kl__node *node)
{
    return kl__node_is(node, KL_STRING)   ? "string"
           : kl__node_is(node, KL_BOOL)   ? "bool"
           : kl__node_is(node, KL_OBJECT) ? "object"
           : kl__node_is(node, KL_ARRAY)  ? "array"
                                          : "number";
}

/* Whether the Scale asks for a number of replicas that there can be. */
static kl_code check(kl__sim_write *write, const kl__edit *scale, bool patched,
                     kl_error *err)
{
    const kl__node *root = kl__edit_root(scale);
    const kl__node *replicas =
        kl__node_get(kl__node_get(root, "spec"), "replicas");
    kl__sim_status status = {
        .name = write->old->name, .group = "autoscaling", .kind = "Scale"};
    int64_t number = kl__node_integer(replicas);
    char why[160];

    if (replicas != NULL && !kl__node_is(replicas, KL_NULL) &&
        !kl__node_is(replicas, KL_INTEGER)) {
        snprintf(why, sizeof(why),
                 "json: cannot unmarshal %s into Go struct field "
                 "ScaleSpec.spec.replicas of type int32",
                 word_for(replicas));
        if (patched) {
            status = (kl__sim_status){0};
            kl__sim_cause_add(&status, "FieldValueInvalid", "patch",
                              "Invalid value: \"%.200s\": %s",
                              write->answer->ask.body, why);
            return kl__sim_refuse_invalid(write->answer, &status, "", err);
        }
        return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                              "Scale in version \"v1\" cannot be handled as a "
                              "Scale: %s",
                              why);
    }
    /* Of a custom object, its own schema has a say. */
    if (number >= 0 || kl__sim_write_is_custom(write)) {
        return KL_OK;
    }
    kl__sim_cause_add(&status, "FieldValueInvalid", "spec.replicas",
                      "Invalid value: %" PRId64
                      ": must be greater than or equal to 0",
                      number);
    return kl__sim_refuse_invalid(write->answer, &status, "Scale.autoscaling",
                                  err);
}

/* What the object is to be: as it is, but for what the Scale says. */
static kl_code take(kl__sim_write *write, const kl__edit *scale, kl_error *err)
{
    static const char *const told[] = {"name", "namespace", "uid",
                                       "resourceVersion"};
    const kl__node *root = kl__edit_root(scale);
    const kl__node *from = kl__node_get(root, "metadata");
    const kl__node *replicas =
        kl__node_get(kl__node_get(root, "spec"), "replicas");
    kl__node *whole, *metadata;
    bool taken;

    kl__edit_free(write->edit);
    write->edit = kl__edit_new(err);
    if (write->edit == NULL) {
        return KL_ENOMEM;
    }
    whole = kl__edit_copy(write->edit, kl__sim_write_old(write));
    metadata = kl__node_get(whole, "metadata");
    taken = whole != NULL;
    kl__edit_set_root(write->edit, whole);
    for (size_t i = 0; taken && i < sizeof(told) / sizeof(told[0]); i++) {
        taken = kl__sim_put_copy(write->edit, metadata, told[i],
                                 kl__node_get(from, told[i]));
    }
    taken =
        taken && kl__sim_scale_put(
                     write->edit, whole, paths_of(write->served).spec,
                     kl__edit_integer(write->edit, kl__node_integer(replicas)));
    return taken ? KL_OK : kl__sim_no_memory(err);
}

/* The Scale as the patch leaves it: the patch sees no more of the object. */
static kl_code patch(kl__sim_write *write, kl__edit **scale, kl_error *err)
{
    kl__edit *before = write->before;
    kl_code code;

    write->before = make(kl__edit_root(before), write->served, err);
    code = write->before != NULL ? kl__sim_patch_apply(write, err) : KL_ENOMEM;
    kl__edit_free(write->before);
    write->before = before;
    *scale = write->edit;
    write->edit = NULL;
    return code;
}

static kl_code change(kl__sim_write *write, kl_error *err)
{
    bool patches = write->operation == KL__SIM_PATCH;
    kl__edit *scale = NULL;
    kl_code code =
        patches ? KL_OK
                : kl__sim_below_body(write->answer, "Scale", &scale, err);

    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = kl__sim_write_find(write, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write) && patches) {
        code = patch(write, &scale, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = check(write, scale, patches, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = take(write, scale, err);
    }
    kl__edit_free(scale);
    return code == KL_OK && kl__sim_write_goes_on(write)
               ? kl__sim_write_run(write, err)
               : code;
}

static kl_code get(kl__sim_write *write, kl_error *err)
{
    kl_code code = kl__sim_write_find(write, err);

    return code == KL_OK && kl__sim_write_goes_on(write)
               ? present(write, 200, NULL, write->old, err)
               : code;
}

kl_code kl__sim_scale(kl__sim_answer *answer, kl__sim_resource *resource,
                      const kl__sim_version *served, kl_error *err)
{
    const char *method = answer->ask.method;
    kl__sim_write write;
    kl_code code;

    if (strcmp(method, "GET") != 0 && strcmp(method, "PUT") != 0 &&
        strcmp(method, "PATCH") != 0) {
        return kl__sim_refuse_method(answer, err);
    }
    kl__sim_write_open(&write, answer, resource, served);
    write.operation =
        strcmp(method, "PATCH") == 0 ? KL__SIM_PATCH : KL__SIM_UPDATE;
    write.present = present;
    code = strcmp(method, "GET") == 0 ? get(&write, err) : change(&write, err);
    kl__sim_write_close(&write);
    return code;
}
