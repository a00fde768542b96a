/*
 * sim_custom.c - custom objects and the schemas of their versions: removes
 * unknown fields and sets defaults when an object is written, and validates it
 * by its schema. An object is stored in one version; store/sim_convert.h shows
 * it in others.
 */
#include "sim/core/custom/sim_custom.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_warnings.h"
#include "sim/core/schema/custom.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_convert.h"
#include "sim/core/write/sim_fields.h"
#include "sim/core/write/sim_pipeline.h"

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

    if (unknown->length + write->sent.field_count == 0 ||
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

/* ---- the paths of the subresource scale ---- */

const char *kl__sim_scale_path(const kl_value *scale, const char *name)
{
    return kl_value_string(kl_value_get(scale, name), NULL);
}

bool kl__sim_scale_find(const kl__node *root, const char *path,
                        const kl__node **found)
{
    const kl__node *node = root;

    path += *path == '.';
    while (node != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");

        node = kl__node_is(node, KL_OBJECT) ? kl__node_get_n(node, path, length)
                                            : NULL;
        path += length + (path[length] == '.');
    }
    *found = node;
    return node != NULL;
}

bool kl__sim_scale_put(kl__edit *edit, kl__node *root, const char *path,
                       kl__node *value)
{
    kl__node *node = root;

    path += *path == '.';
    for (;;) {
        size_t length = strcspn(path, ".");
        char *name;

        if (path[length] == '\0') {
            return kl__node_put(edit, node, path, value);
        }
        name = kl__strndup(path, length);
        node = name != NULL ? kl__node_ensure(edit, node, name) : NULL;
        kl__free(name);
        if (node == NULL) {
            return false;
        }
        path += length + 1;
    }
}

/* ---- validation ---- */

/* True if the object had the finalizer before. */
static bool is_known(const kl__node *finalizers, const char *text)
{
    kl__node_iter iter = {0};
    const kl__node *element;

    while ((element = kl__node_next(finalizers, &iter, NULL, NULL)) != NULL) {
        const char *other = kl__node_string(element, NULL);

        if (other != NULL && strcmp(other, text) == 0) {
            return true;
        }
    }
    return false;
}

/* Warns of finalizers without a domain: another controller may use the same
 * name. */
static kl_code warn_finalizers(kl__sim_write *write, kl_error *err)
{
    const kl__node *old = kl__node_get(
        kl__node_get(kl__sim_write_old(write), "metadata"), "finalizers");
    const kl__node *finalizers =
        kl__node_get(kl__sim_write_metadata(write), "finalizers");
    kl__node_iter iter = {0};
    const kl__node *element;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (element = kl__node_next(finalizers, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);

        if (text == NULL || strchr(text, '/') != NULL ||
            strcmp(text, "orphan") == 0 ||
            strcmp(text, "foregroundDeletion") == 0 ||
            strcmp(text, "kubernetes") == 0 || is_known(old, text)) {
            continue;
        }
        code = kl__sim_warnf(
            write->answer, err,
            "metadata.finalizers: \"%s\": prefer a domain-qualified finalizer "
            "name %sto avoid accidental conflicts with other finalizer writers",
            text, strchr(text, '.') != NULL ? "including a path (/) " : "");
    }
    return code;
}

/* Refuses a value of the wrong type; types have Go's names. paths[0] is the
 * whole path, paths[1] its part that leads to the value. */
static void refuse_type(kl__sim_write *write, const char *const paths[2],
                        const char *wanted, const char *got,
                        const kl__node *value)
{
    const char *found = kl__node_is(value, KL_INTEGER)  ? "int64"
                        : kl__node_is(value, KL_STRING) ? "string"
                        : kl__node_is(value, KL_BOOL)   ? "bool"
                        : kl__node_is(value, KL_REAL)   ? "float64"
                        : kl__node_is(value, KL_NULL)   ? "<nil>"
                        : kl__node_is(value, KL_ARRAY)
                            ? "[]interface {}"
                            : "map[string]interface {}";
    bool is_bare = kl__node_is(value, KL_OBJECT) && kl__node_size(value) == 0;
    const char *text = is_bare ? "map[]" : kl__node_string(value, NULL);
    char *shown = kl__field_value(value);
    kl__buf why = {0};

    if (shown != NULL) {
        kl__buf_printf(&why,
                       "%s accessor error: %s is of the type %s, expected %s",
                       paths[1], text != NULL ? text : shown, found, wanted);
        kl__field_add(&write->errors, KL__FIELD_INVALID, paths[0], got,
                      why.bytes != NULL ? why.bytes : "");
    }
    write->errors.failed |= shown == NULL || why.failed;
    kl__buf_deinit(&why);
    kl__free(shown);
}

/* The value at a path. NULL: there is none, or a value on the way is no object;
 * then (unless it is null) this adds a refusal that shows `got` as the
 * value. */
static const kl__node *follow_path(kl__sim_write *write, const char *path,
                                   const char *got)
{
    const kl__node *node = kl__sim_write_root(write);
    const char *at = path + (*path == '.');

    while (node != NULL && *at != '\0') {
        size_t length = strcspn(at, ".");

        if (!kl__node_is(node, KL_OBJECT)) {
            char *reached = kl__strndup(path, (size_t)(at - path) + length);
            const char *const paths[2] = {path, reached};

            write->errors.failed |= reached == NULL;
            if (reached != NULL && !kl__node_is(node, KL_NULL)) {
                refuse_type(write, paths, "map[string]interface{}", got, node);
            }
            kl__free(reached);
            return NULL;
        }
        node = kl__node_get_n(node, at, length);
        at += length + (at[length] == '.');
    }
    return node;
}

/* Checks the number of replicas at a path. */
static void check_replicas(kl__sim_write *write, const char *path)
{
    const char *const paths[2] = {path, path};
    const kl__node *value = path != NULL ? follow_path(write, path, "0") : NULL;

    if (value == NULL) {
        return;
    }
    if (!kl__node_is(value, KL_INTEGER)) {
        refuse_type(write, paths, "int64", "0", value);
    } else if (kl__node_integer(value) < 0) {
        kl__field_invalid_node(&write->errors, path, value,
                               "should be a non-negative integer");
    } else if (kl__node_integer(value) > INT32_MAX) {
        kl__field_invalid_node(&write->errors, path, value,
                               "should be less than or equal to %d", INT32_MAX);
    }
}

/* Checks the label selector text at a path. */
static void check_selector(kl__sim_write *write, const char *path)
{
    const char *const paths[2] = {path, path};
    const kl__node *value =
        path != NULL ? follow_path(write, path, "\"\"") : NULL;

    if (value != NULL && !kl__node_is(value, KL_STRING)) {
        refuse_type(write, paths, "string", "\"\"", value);
    }
}

/* kube-apiserver checks CEL rules only if the object is valid otherwise, and
 * else says so. This adds that message; CEL rules are not evaluated here. */
static void add_rules(kl__sim_write *write)
{
    for (size_t i = 0; write->served->has_rules && i < write->errors.count;
         i++) {
        kl__field_fault fault = write->errors.items[i].fault;

        if (fault == KL__FIELD_UNSUPPORTED || fault == KL__FIELD_REQUIRED ||
            fault == KL__FIELD_TOO_LONG || fault == KL__FIELD_TOO_MANY ||
            fault == KL__FIELD_TYPE) {
            kl__field_add(&write->errors, KL__FIELD_INVALID, "<nil>", "null",
                          "some validation rules were not checked because the "
                          "object was invalid; correct the existing errors to "
                          "complete validation");
            return;
        }
    }
}

/* Checks the whole object, or its status. */
static void check_schema(kl__sim_write *write)
{
    const kl_value *source = write->served->source;
    const kl__node *root = kl__sim_write_root(write);
    const kl__node *old = kl__sim_write_old(write);
    const kl_value *scale = write->served->scale;

    if (!kl__sim_write_is_status(write)) {
        kl__custom_validate(source, root, old, "", &write->errors);
        check_replicas(write, kl__sim_scale_path(scale, "specReplicasPath"));
    } else if (kl__node_get(root, "status") != NULL) {
        kl__custom_validate(
            kl_value_get(kl_value_get(source, "properties"), "status"),
            kl__node_get(root, "status"), kl__node_get(old, "status"), "status",
            &write->errors);
    }
    check_replicas(write, kl__sim_scale_path(scale, "statusReplicasPath"));
    check_selector(write, kl__sim_scale_path(scale, "labelSelectorPath"));
}

kl_code kl__sim_custom_validate(kl__sim_write *write, kl_error *err)
{
    const kl__schema *schema = write->served->schema;
    const kl__node *root = kl__sim_write_root(write);
    kl__field_errors before = {0};

    if (!kl__sim_write_is_custom(write)) {
        return KL_OK;
    }
    check_schema(write);
    if (write->old != NULL) {
        kl__custom_validate_lists(schema, kl__sim_write_old(write), &before);
    }
    if (before.count == 0) {
        kl__custom_validate_lists(schema, root, &write->errors);
    }
    write->errors.failed |= before.failed;
    kl__field_errors_deinit(&before);
    add_rules(write);
    return write->errors.failed ? kl__sim_no_memory(err)
                                : warn_finalizers(write, err);
}
