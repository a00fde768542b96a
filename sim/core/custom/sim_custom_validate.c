/*
 * sim_custom_validate.c - validates a custom object: by its schema, and by the
 * paths of its subresource scale.
 */
#include "sim/core/write/sim_pipeline.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/custom.h"
#include "sim/core/answer/sim_warnings.h"
#include "sim/core/custom/sim_custom.h"
#include "sim/core/custom/sim_scale_paths.h"

#include <stdio.h>
#include <string.h>

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
