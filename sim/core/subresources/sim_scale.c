/*
 * sim_scale.c - the subresource scale. GET answers with an object of kind
 * Scale, which has the number of replicas of the object. PUT and PATCH of this
 * Scale update the object.
 */
#include "sim/core/subresources/sim_below.h"

#include "sim/core/answer/sim_status.h"
#include "sim/core/custom/sim_custom.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The paths of the fields of an object that its Scale shows; NULL: there is no
 * such field. */
typedef struct scale_paths {
    const char *spec;
    const char *status;
    const char *selector; /* of a text; NULL for built-in kinds */
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

/* Appends the selector of the object's pods as a text. When memory runs out,
 * `out` keeps the failure. */
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

/* Fills a Scale from an object. */
static bool fill_scale(kl__edit *edit, kl__node *scale, const kl__node *root,
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

/* Makes the Scale of an object; owned by the caller. NULL: KL_ENOMEM. */
static kl__edit *make_scale(const kl__node *root, const kl__sim_version *served,
                            kl_error *err)
{
    kl__edit *edit = kl__edit_new(err);
    kl__node *scale = edit != NULL ? kl__edit_object(edit) : NULL;

    if (scale == NULL || !kl__sim_put_text(edit, scale, "kind", "Scale") ||
        !kl__sim_put_text(edit, scale, "apiVersion", "autoscaling/v1") ||
        !fill_scale(edit, scale, root, served)) {
        kl__edit_free(edit);
        kl__sim_no_memory(err);
        return NULL;
    }
    kl__edit_set_root(edit, scale);
    return edit;
}

static kl_code present_scale(kl__sim_write *write, int status,
                             const kl__sim_view *view,
                             const kl__sim_state *state, kl_error *err)
{
    kl__edit *whole = kl__sim_state_edit(state, err), *scale;
    kl_code code = KL_ENOMEM;

    (void)view;
    if (whole != NULL) {
        scale = make_scale(kl__edit_root(whole), write->served, err);
        if (scale != NULL) {
            code = kl__sim_answer_tree(write->answer, status, scale, err);
        }
        kl__edit_free(scale);
    }
    kl__edit_free(whole);
    return code;
}

/* Refuses a Scale with a negative number of replicas. */
static kl_code check_scale(kl__sim_write *write, const kl__sim_write *scale,
                           kl_error *err)
{
    const kl__node *root = kl__sim_write_root(scale);
    int64_t number =
        kl__node_integer(kl__node_get(kl__node_get(root, "spec"), "replicas"));
    kl__sim_status status = {
        .name = write->old->name, .group = "autoscaling", .kind = "Scale"};

    /* The schema of a custom object decides what its replicas may be. */
    if (kl__sim_write_is_custom(write)) {
        return KL_OK;
    }
    if (number < 0) {
        kl__sim_cause_add(&status, "FieldValueInvalid", "spec.replicas",
                          "Invalid value: %" PRId64
                          ": must be greater than or equal to 0",
                          number);
        return kl__sim_refuse_invalid(write->answer, &status,
                                      "Scale.autoscaling", err);
    }
    return KL_OK;
}

/* Sets the object's replicas to those of the Scale. */
static kl_code set_replicas(kl__sim_write *write, const kl__edit *scale,
                            kl_error *err)
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

/* Refuses a patch of a custom object if neither the object nor the patched
 * Scale has replicas. */
static kl_code check_found(kl__sim_write *write, const kl__sim_write *scale,
                           kl_error *err)
{
    static const char *const path[] = {"spec", "replicas", NULL};
    const char *in = paths_of(write->served).spec;
    const kl__node *found = NULL;

    if (!kl__sim_write_is_custom(write) || write->operation != KL__SIM_PATCH ||
        kl__sim_scale_find(kl__sim_write_old(write), in, &found) ||
        kl__node_find(kl__sim_write_root(scale), path) != NULL) {
        return KL_OK;
    }
    return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                          "the spec replicas field \"%s\" cannot be empty", in);
}

/* Makes the new Scale: applies a patch to the current one (a PUT has it in its
 * body), then decodes it like an object. */
static kl_code change_scale(kl__sim_write *write, kl__sim_write *scale,
                            kl_error *err)
{
    kl_code code = KL_OK;

    if (write->operation == KL__SIM_PATCH) {
        code = kl__sim_patch_apply(scale, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = check_found(write, scale, err);
    }
    return code == KL_OK && kl__sim_write_goes_on(write)
               ? kl__sim_decode_fields(scale, err)
               : code;
}

/* Makes the current Scale of the object, changes it as the request asks, and
 * copies the new replicas to the object. */
static kl_code change_through(kl__sim_write *write, kl__sim_write *scale,
                              kl_error *err)
{
    kl_code code;

    scale->before = make_scale(kl__sim_write_old(write), write->served, err);
    if (scale->before == NULL) {
        return KL_ENOMEM;
    }
    code = change_scale(write, scale, err);
    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = check_scale(write, scale, err);
    }
    return code == KL_OK && kl__sim_write_goes_on(write)
               ? set_replicas(write, scale->edit, err)
               : code;
}

static kl_code change_object(kl__sim_write *write, kl_error *err)
{
    static const kl__sim_builtin row = {
        "autoscaling", "v1", "scales", "scale", "Scale", "", "", "", 0};
    kl__sim_kind *kind = kl__sim_kind_builtin(&row);
    kl__sim_write scale = {.answer = write->answer,
                           .kind = kind,
                           .served = kind != NULL ? kind->versions : NULL,
                           .operation = write->operation,
                           .subresource = write->subresource};
    kl_code code =
        kind == NULL              ? kl__sim_no_memory(err)
        : kl__sim_is_apply(write) ? kl__sim_refuse_media(write->answer, err)
        : write->operation == KL__SIM_PATCH
            ? kl__sim_patch_check(write, err)
            : kl__sim_below_body(write->answer, "Scale", &scale.edit, err);

    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = kl__sim_write_find(write, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        scale.old = kl__sim_state_ref(write->old);
        code = change_through(write, &scale, err);
    }
    kl__sim_write_close(&scale);
    kl__sim_kind_unref(kind);
    return code == KL_OK && kl__sim_write_goes_on(write)
               ? kl__sim_write_run(write, err)
               : code;
}

static kl_code get_scale(kl__sim_write *write, kl_error *err)
{
    kl_code code = kl__sim_write_find(write, err);

    return code == KL_OK && kl__sim_write_goes_on(write)
               ? present_scale(write, 200, NULL, write->old, err)
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
    write.present = present_scale;
    code = strcmp(method, "GET") == 0 ? get_scale(&write, err)
                                      : change_object(&write, err);
    kl__sim_write_close(&write);
    return code;
}
