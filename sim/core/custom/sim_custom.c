/*
 * sim_custom.c - custom objects and the schemas of their versions: removes
 * unknown fields and sets defaults when an object is written. An object is
 * stored in one version; store/sim_convert.h shows it in others.
 */
#include "sim/core/custom/sim_custom.h"

#include "base/mem.h"
#include "sim/core/schema/custom.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_convert.h"
#include "sim/core/write/sim_found.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Prunes an object to a version's schema and sets its defaults. */
static kl_code shape_object(const kl__sim_version *version, kl__edit *edit,
                            kl__buf *unknown, kl_error *err)
{
    kl_code code = kl__sim_custom_reduce(version, edit, unknown, err);

    return code == KL_OK ? kl__custom_default(version->schema, edit,
                                              kl__edit_root(edit), err)
                         : code;
}

/* --- Unknown fields. ------------------------------------------------------ */

static int compare_lines(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Cuts a text into lines, in place. The caller owns the array; NULL: out of
 * memory. */
static char **cut_lines(kl__buf *text, size_t *count)
{
    char **lines;

    *count = 0;
    for (size_t i = 0; i < text->length; i++) {
        *count += text->bytes[i] == '\n';
    }
    lines = kl__calloc(*count + 1, sizeof(*lines));
    for (size_t i = 0, at = 0; lines != NULL && i < *count; i++) {
        lines[i] = text->bytes + at;
        at += strcspn(text->bytes + at, "\n");
        text->bytes[at++] = '\0';
    }
    return lines;
}

/* Refuses the object that a patch has made; the message contains the object. */
static kl_code refuse_patched(kl__sim_write *write, const char *shown,
                              const char *why, kl_error *err)
{
    kl__field_errors errors = {0};
    kl__sim_status status = {.errors = &errors};
    kl_code code;

    kl__field_invalid(&errors, "patch", shown, "%s", why);
    code = errors.failed
               ? kl__sim_no_memory(err)
               : kl__sim_refuse_invalid(write->answer, &status, "", err);
    kl__field_errors_deinit(&errors);
    return code;
}

static kl_code refuse_fields(kl__sim_write *write, const char *shown,
                             char *const *lines, size_t count, kl_error *err)
{
    const char *kind = write->kind->kind;
    kl__buf why = {0};
    kl_code code;

    kl__sim_found_join(write, lines, count, &why);
    if (why.failed) {
        code = kl__sim_no_memory(err);
    } else if (write->operation == KL__SIM_PATCH) {
        code = refuse_patched(write, shown, why.bytes, err);
    } else {
        code = kl__sim_refuse(write->answer, 400, "BadRequest", err,
                              "%s in version \"%s\" cannot be handled as a "
                              "%s: %s",
                              kind, write->served->name, kind, why.bytes);
    }
    kl__buf_deinit(&why);
    return code;
}

/* Writes `unknown field "PATH"` for each path, sorted. */
static bool put_fields(kl__buf *out, kl__buf *paths)
{
    size_t count = 0;
    char **lines = cut_lines(paths, &count);

    if (lines == NULL) {
        return false;
    }
    qsort(lines, count, sizeof(*lines), compare_lines);
    for (size_t i = 0; i < count; i++) {
        kl__buf_printf(out, "unknown field \"%s\"\n", lines[i]);
    }
    kl__free(lines);
    return !out->failed;
}

/* Warns of unknown fields, or refuses them, as the parameter fieldValidation
 * says. */
static kl_code report_unknown(kl__sim_write *write, const char *shown,
                              kl__buf *unknown, kl_error *err)
{
    const char *level =
        kl__sim_parameter_get(&write->answer->ask, "fieldValidation");
    kl__buf all = {0};
    kl_code code = KL_OK;
    size_t count = 0;
    char **lines = NULL;

    if (unknown->length + kl__sim_found_sent(write) == 0 ||
        (level != NULL && strcmp(level, "Ignore") == 0)) {
        return KL_OK;
    }
    if (put_fields(&all, unknown)) {
        lines = cut_lines(&all, &count);
    }
    if (lines == NULL) {
        code = kl__sim_no_memory(err);
    } else if (level != NULL && strcmp(level, "Strict") == 0) {
        code = refuse_fields(write, shown, lines, count, err);
    } else {
        code = kl__sim_found_warn(write, lines, count, err);
    }
    kl__free(lines);
    kl__buf_deinit(&all);
    return code;
}

static kl_code refuse_ending(kl__sim_write *write, kl_error *err)
{
    const char *name = kl__node_text(kl__sim_write_metadata(write), "name");
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .name = name,
                             .group = write->kind->group,
                             .kind = write->kind->plural};

    snprintf(status.message, sizeof(status.message),
             "%s \"%.253s\" is forbidden: create not allowed while custom "
             "resource definition is terminating",
             write->kind->qualified, name != NULL ? name : "");
    return kl__sim_answer_status(write->answer, &status, err);
}

kl_code kl__sim_custom_shape(kl__sim_write *write, kl_error *err)
{
    kl__buf unknown = {0};
    char *shown = NULL;
    kl_code code;

    if (!kl__sim_write_is_custom(write)) {
        return KL_OK;
    }
    if (write->operation == KL__SIM_PATCH) {
        shown = kl__field_value(kl__sim_write_root(write));
        if (shown == NULL) {
            return kl__sim_no_memory(err);
        }
    }
    code = shape_object(write->served, write->edit, &unknown, err);
    if (code == KL_OK) {
        code = report_unknown(write, shown, &unknown, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write) &&
        write->operation == KL__SIM_CREATE &&
        kl__sim_kind_is(write->kind, KL__SIM_ENDING)) {
        code = refuse_ending(write, err);
    }
    kl__free(shown);
    kl__buf_deinit(&unknown);
    return code;
}

/* --- Versions. ------------------------------------------------------------ */

kl_code kl__sim_custom_convert(kl__sim_write *write, kl_error *err)
{
    return kl__sim_write_is_custom(write) && write->served->differs
               ? shape_object(&write->kind->stored, write->edit, NULL, err)
               : KL_OK;
}

kl_code kl__sim_custom_before(kl__sim_write *write, kl_error *err)
{
    const kl__sim_version *served = write->served;
    kl__node *root = kl__edit_root(write->before);
    char version[600];

    if (!kl__sim_write_is_custom(write) ||
        strcmp(served->name, write->kind->storage) == 0) {
        return KL_OK;
    }
    snprintf(version, sizeof(version), "%s/%s", write->kind->group,
             served->name);
    if (!kl__sim_put_text(write->before, root, "apiVersion", version)) {
        return kl__sim_no_memory(err);
    }
    return served->differs
               ? kl__sim_custom_reduce(served, write->before, NULL, err)
               : KL_OK;
}

/* Makes an object anew for its changed kind. If it was stored in another
 * version, no defaults are added: it keeps those of that version. */
static kl__sim_state *renew_state(const kl__sim_state *state,
                                  const kl__sim_kind *kind, kl_error *err)
{
    kl__edit *edit = kl__sim_state_edit(state, err);
    kl__sim_state *renewed = NULL;
    const char *version =
        edit != NULL ? kl__node_text(kl__edit_root(edit), "apiVersion") : NULL;
    const char *slash = version != NULL ? strchr(version, '/') : NULL;
    bool is_same = slash != NULL && strcmp(slash + 1, kind->storage) == 0;

    if (edit != NULL && (is_same ? shape_object(&kind->stored, edit, NULL, err)
                                 : kl__sim_custom_reduce(&kind->stored, edit,
                                                         NULL, err)) == KL_OK) {
        renewed = kl__sim_compose(kind, edit, state->version, err);
    }
    kl__edit_free(edit);
    return renewed;
}

static kl_code renew_all(kl__sim_resource *resource, kl_error *err)
{
    for (kl__sim_node *node = resource->items.first[0]; node != NULL;
         node = node->next[0]) {
        kl__sim_state *renewed = renew_state(node->state, resource->kind, err);

        if (renewed == NULL) {
            return KL_ENOMEM;
        }
        kl__sim_state_unref(node->state);
        node->state = renewed;
    }
    return KL_OK;
}

kl_code kl__sim_reserve(kl_sim *sim, kl__sim_resource *resource,
                        kl__sim_kind *kind, kl_error *err)
{
    /* The name stays the same: only the memory of the map's key changes. */
    if (!kl__map_put(&sim->by_name, kind->qualified, resource, NULL)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a resource");
    }
    kl__sim_kind_unref(resource->kind);
    resource->kind = kl__sim_kind_ref(kind);
    return renew_all(resource, err);
}
