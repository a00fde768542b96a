/*
 * sim_patch.c - PATCH of an object or a subresource: applies the patch to the
 * current object; the result is then written like an update.
 */
#include "sim/core/write/sim_pipeline.h"

#include "base/str.h"
#include "sim/core/patch/members.h"
#include "sim/core/patch/patch.h"
#include "sim/core/request/sim_said.h"
#include "sim/core/write/sim_fields.h"
#include "sim/core/write/sim_track.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Answers with an error that a function of sim/core/patch has returned. */
static kl_code refuse_patch(kl__sim_write *write, const kl_error *why,
                            kl_error *err)
{
    kl__sim_status status = {.code = why->http_status,
                             .reason = kl__sim_reason(why->http_status)};

    if (why->code == KL_ENOMEM) {
        return kl_error_set(err, KL_ENOMEM, "%s", why->message);
    }
    snprintf(status.message, sizeof(status.message), "%s", why->message);
    if (why->http_status == 422) {
        status.has_details = true;
        snprintf(status.message, sizeof(status.message),
                 "the server rejected our request due to an error in our "
                 "request");
    } else if (why->http_status == 500) {
        status.reason = NULL;
    }
    return kl__sim_answer_status(write->answer, &status, err);
}

static bool is_operations(const kl__sim_write *write)
{
    return strncasecmp(write->answer->ask.content_type, "application/json",
                       16) == 0;
}

/* Collects what strict decoding finds in the patch, in write->sent; a later
 * stage refuses or warns. Not if fieldValidation is "Ignore". */
static kl_code check_strictly(kl__sim_write *write, const kl__node *patch,
                              kl_error *err)
{
    const char *level =
        kl__sim_parameter_get(&write->answer->ask, "fieldValidation");

    return kl__streq(level, "Ignore") || !is_operations(write)
               ? KL_OK
               : kl__patch_check(patch, &write->sent, err);
}

/* The body of a patch as a tree of the write; NULL: see *code. */
static kl__node *decode_patch(kl__sim_write *write, const char *prefix,
                              kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &write->answer->ask;
    kl__node *patch;

    if (ask->doc == NULL) {
        *code = kl__sim_refuse(write->answer, 400, "BadRequest", err, "%s%s",
                               prefix, ask->parse.message);
        return NULL;
    }
    patch = kl__edit_value(write->edit, kl_doc_root(ask->doc));
    *code = patch == NULL ? kl__sim_no_memory(err)
                          : check_strictly(write, patch, err);
    return *code == KL_OK ? patch : NULL;
}

/* Makes write->edit: a copy of the current object, in the request's version. */
static kl_code copy_current(kl__sim_write *write, kl_error *err)
{
    kl__node *root;

    write->edit = kl__edit_new(err);
    if (write->edit == NULL) {
        return KL_ENOMEM;
    }
    root = kl__edit_copy(write->edit, kl__sim_write_old(write));
    if (root == NULL) {
        return kl__sim_no_memory(err);
    }
    kl__edit_set_root(write->edit, root);
    return kl__sim_show_served(write, err);
}

/* Applies a strategic merge patch, which cannot change kind and apiVersion: the
 * old values are put back. */
static kl_code merge_strategic(kl__sim_write *write, kl__node *patch,
                               kl_error *why)
{
    static const char *const kept[] = {"kind", "apiVersion"};
    kl__node *root = kl__sim_write_root(write);
    const kl__schema *schema =
        kl__schema_builtin(write->kind->group, write->answer->ask.route.version,
                           write->kind->kind, why);
    kl_code code;

    if (schema == NULL && why->code == KL_ENOMEM) {
        return KL_ENOMEM;
    }
    code = kl__patch_strategic(write->edit, schema, root, patch, why);
    for (size_t i = 0; i < 2 && code == KL_OK; i++) {
        const kl_type type = kl__node_type(kl__node_get(root, kept[i]));

        /* A value of another type is refused later, when the fields are
         * checked. */
        if ((type == KL_NULL || type == KL_STRING) &&
            !kl__sim_put_copy(
                write->edit, root, kept[i],
                kl__node_get(kl__sim_write_old(write), kept[i]))) {
            code = kl__sim_no_memory(why);
        }
    }
    return code;
}

static kl_code patch_object(kl__sim_write *write, kl_error *err)
{
    bool strategic = kl__sim_is_strategic(write);
    kl_error why = {0};
    kl_code code = copy_current(write, err);
    kl__node *patch, *root;

    if (code != KL_OK) {
        return code;
    }
    patch = decode_patch(write,
                         strategic ? "" : "error decoding patch: ", &code, err);
    if (patch == NULL) {
        return code;
    }
    root = kl__sim_write_root(write);
    if (strategic) {
        code = merge_strategic(write, patch, &why);
    } else if (is_operations(write)) {
        code = kl__patch_json(write->edit, root, patch, &why);
    } else {
        code = kl__patch_merge(write->edit, root, patch, &why);
    }
    return code == KL_OK ? KL_OK : refuse_patch(write, &why, err);
}

/* Only an apply does not need an object that exists. */
kl_code kl__sim_patch_apply(kl__sim_write *write, kl_error *err)
{
    kl_code code = KL_OK;

    if (kl__sim_is_apply(write)) {
        return kl__sim_apply(write, err);
    }
    if (write->before == NULL) { /* else sim_scale.c has set it to a Scale */
        code = kl__sim_write_find(write, err);
    }
    return code == KL_OK && kl__sim_write_goes_on(write)
               ? patch_object(write, err)
               : code;
}

/* Copies kind and apiVersion of a built-in object from the old one if the patch
 * removed them. */
static bool complete_type(kl__sim_write *write)
{
    static const char *const names[] = {"kind", "apiVersion"};
    kl__node *root = kl__sim_write_root(write);

    for (size_t i = 0; i < 2 && !kl__sim_write_is_custom(write); i++) {
        const char *given = kl__node_text(root, names[i]);

        if ((given == NULL || *given == '\0') &&
            !kl__sim_put_copy(
                write->edit, root, names[i],
                kl__node_get(kl__sim_write_old(write), names[i]))) {
            return false;
        }
    }
    return true;
}

/* True if an apiVersion is that of the request, or of the stored object. */
static bool is_served_as(const kl__sim_write *write, const char *api_version)
{
    const char *group = write->kind->group;
    size_t length = strlen(group);

    if (kl__streq(api_version,
                  kl__node_text(kl__sim_write_old(write), "apiVersion"))) {
        return true;
    }
    if (length > 0 && (strncmp(api_version, group, length) != 0 ||
                       api_version[length] != '/')) {
        return false;
    }
    return strcmp(api_version + length + (length > 0),
                  write->answer->ask.route.version) == 0;
}

/* Refuses a patch whose result is no object of the kind. */
static kl_code check_patched(kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *kind = write->kind;
    const kl__node *root = kl__sim_write_root(write);
    const kl__node *old = kl__sim_write_old(write);
    const char *given, *version;
    char why[512];
    const char *fault;

    if (kl__sim_is_strategic(write)) {
        return KL_OK;
    }
    fault = kl__sim_node_fault(root, why);
    if (fault != NULL) {
        return kl__sim_refuse_patched(write, fault, err);
    }
    if (!complete_type(write)) {
        return kl__sim_no_memory(err);
    }
    given = kl__node_text(root, "kind");
    version = kl__node_text(root, "apiVersion");
    if (!kl__sim_write_is_custom(write) && old != NULL &&
        (strcmp(given, kind->kind) != 0 || !is_served_as(write, version))) {
        snprintf(why, sizeof(why),
                 "no kind \"%.100s\" is registered for version \"%.100s\" in "
                 "scheme \"pkg/runtime/scheme.go:111\"",
                 given, version);
    } else if (given == NULL || strcmp(given, kind->kind) != 0) {
        snprintf(why, sizeof(why),
                 "converting (%.60s) to (%.60s): unknown conversion",
                 given != NULL ? given : "", kind->kind);
    } else if (kl__sim_metadata_fits(kind, root, why, sizeof(why))) {
        return KL_OK;
    }
    return kl__sim_refuse_patched(write, why, err);
}

static bool is_media(const kl__sim_ask *ask, const char *media)
{
    size_t length = strcspn(ask->content_type, "; ");

    return length == strlen(media) &&
           strncmp(ask->content_type, media, length) == 0;
}

/* Answers 415 unless the kind takes this type of patch. */
static kl_code check_media(kl__sim_write *write, kl_error *err)
{
    static const char *const media[] = {
        "application/json-patch+json", "application/merge-patch+json",
        "application/strategic-merge-patch+json"};
    bool is_custom = kl__sim_write_is_custom(write);
    kl__sim_status status = {.code = 415,
                             .reason = "UnsupportedMediaType",
                             .message = "415: Unsupported Media Type"};

    if (kl__sim_is_apply(write)) {
        return KL_OK;
    }
    for (size_t i = 0; i < (is_custom ? 2 : 3); i++) {
        if (is_media(&write->answer->ask, media[i])) {
            return KL_OK;
        }
    }
    status.has_details = !is_custom;
    if (is_custom) {
        snprintf(status.message, sizeof(status.message),
                 "the body of the request was in an unknown format - accepted "
                 "media types include: %s, %s, application/apply-patch+yaml",
                 media[0], media[1]);
    }
    return kl__sim_answer_status(write->answer, &status, err);
}

kl_code kl__sim_patch_check(kl__sim_write *write, kl_error *err)
{
    kl_code code = check_media(write, err);

    return code == KL_OK && kl__sim_write_goes_on(write)
               ? kl__sim_check_manager(write, err)
               : code;
}

kl_code kl__sim_patch(kl__sim_answer *answer, kl__sim_resource *resource,
                      const kl__sim_version *served, kl_error *err)
{
    static const kl__sim_step steps[] = {kl__sim_patch_check,
                                         kl__sim_patch_apply, check_patched,
                                         kl__sim_write_run};
    kl__sim_write write;
    kl_code code;

    kl__sim_write_open(&write, answer, resource, served);
    write.operation = KL__SIM_PATCH;
    code = kl__sim_write_steps(&write, steps, sizeof(steps) / sizeof(steps[0]),
                               err);
    kl__sim_write_close(&write);
    return code;
}
