/*
 * sim_fields.c - see sim_fields.h. The stages that use the schemas of built-in
 * kinds: decoding checks types and unknown fields and sets defaults; encoding
 * writes the object as Go would.
 */
#include "sim/core/write/sim_fields.h"

#include "base/mem.h"
#include "sim/core/answer/sim_warnings.h"
#include "sim/core/schema/schema_check.h"
#include "sim/core/schema/schema_normal.h"
#include "sim/core/write/sim_pipeline.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Reads fieldValidation. False: it is invalid; the answer is a refusal, or an
 * error (*code). */
static bool sim_how_strict(kl__sim_write *write, kl__sim_strictness *out,
                           kl_code *code, kl_error *err)
{
    const char *given =
        kl__sim_parameter_get(&write->answer->ask, "fieldValidation");
    char shown[256];

    if (given == NULL || *given == '\0' || strcmp(given, "Warn") == 0) {
        *out = KL__SIM_WARN;
        return true;
    }
    if (strcmp(given, "Strict") == 0 || strcmp(given, "Ignore") == 0) {
        *out = *given == 'S' ? KL__SIM_STRICT : KL__SIM_IGNORE;
        return true;
    }
    snprintf(shown, sizeof(shown), "\"%.200s\"", given);
    *code =
        kl__sim_refuse_option(write->answer, "fieldValidation", shown,
                              "\"\", \"Ignore\", \"Strict\", \"Warn\"", err);
    return false;
}

kl_code kl__sim_found_warn(kl__sim_write *write, char *const *fields,
                           size_t count, kl_error *err)
{
    kl_code code = KL_OK;

    for (size_t i = 0; i < write->sent.field_count && code == KL_OK; i++) {
        code = kl__sim_warn(write->answer, write->sent.fields[i], err);
    }
    for (size_t i = 0; i < count && code == KL_OK; i++) {
        code = kl__sim_warn(write->answer, fields[i], err);
    }
    return code;
}

void kl__sim_found_join(const kl__sim_write *write, char *const *fields,
                        size_t count, kl__buf *out)
{
    const char *comma = "";

    kl__buf_puts(out, "strict decoding error: ");
    for (size_t i = 0; i < write->sent.field_count; i++, comma = ", ") {
        kl__buf_printf(out, "%s%s", comma, write->sent.fields[i]);
    }
    for (size_t i = 0; i < count; i++, comma = ", ") {
        kl__buf_printf(out, "%s%s", comma, fields[i]);
    }
}

/* ---- patches ---- */

bool kl__sim_is_apply(const kl__sim_write *write)
{
    static const char media[] = "application/apply-patch+yaml";
    const kl__sim_ask *ask = &write->answer->ask;
    size_t length = strcspn(ask->content_type, "; ");

    return write->operation == KL__SIM_PATCH && length == sizeof(media) - 1 &&
           strncmp(ask->content_type, media, length) == 0;
}

bool kl__sim_is_strategic(const kl__sim_write *write)
{
    return write->operation == KL__SIM_PATCH &&
           strncasecmp(write->answer->ask.content_type, "application/strategic",
                       21) == 0;
}

kl_code kl__sim_refuse_patched(kl__sim_write *write, const char *why,
                               kl_error *err)
{
    kl__field_errors errors = {0};
    kl__sim_status status = {.errors = &errors};
    const kl__node *cause =
        kl__sim_is_strategic(write)
            ? kl__edit_value(write->edit, kl_doc_root(write->answer->ask.doc))
            : kl__sim_write_root(write);
    char *shown = cause != NULL ? kl__node_json(cause, NULL, err) : NULL;
    kl_code code = KL_ENOMEM;

    if (shown != NULL) {
        kl__field_invalid(&errors, "patch", shown, "%s", why);
        code = errors.failed
                   ? KL_ENOMEM
                   : kl__sim_refuse_invalid(write->answer, &status, "", err);
    }
    kl__field_errors_deinit(&errors);
    kl__free(shown);
    return code == KL_ENOMEM ? kl__sim_no_memory(err) : code;
}

/* ---- stages ---- */

/* The schema of a built-in kind in a version. NULL: the kind is custom, or out
 * of memory (*code). */
static const kl__schema *schema_of(const kl__sim_kind *kind,
                                   const char *version, kl_code *code,
                                   kl_error *err)
{
    kl_error own = {0};
    const kl__schema *schema;

    *code = KL_OK;
    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        return NULL;
    }
    schema = kl__schema_builtin(kind->group, version, kind->kind, &own);
    if (schema == NULL && own.code == KL_ENOMEM) {
        *code = kl__sim_no_memory(err);
    }
    return schema;
}

static kl_code refuse_fields(kl__sim_write *write, const char *why,
                             kl_error *err)
{
    const char *kind = write->kind->kind;

    if (write->operation == KL__SIM_PATCH && !kl__sim_is_apply(write)) {
        return kl__sim_refuse_patched(write, why, err);
    }
    return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                          "%s in version \"%s\" cannot be handled as a %s: %s",
                          kind, write->served->name, kind, why);
}

/* Refuses an object with a value that Go's type of the field cannot hold. An
 * apply has merged it as a tree by then, so its error is none of the client. */
static kl_code refuse_value(kl__sim_write *write, const char *why,
                            kl_error *err)
{
    const kl__sim_kind *kind = write->kind;

    if (!kl__sim_is_apply(write)) {
        return refuse_fields(write, why, err);
    }
    return kl__sim_refuse(write->answer, 500, NULL, err,
                          "failed to convert to unversioned: unable to convert "
                          "unstructured object to %s/%s, Kind=%s: %s",
                          kind->group, write->served->name, kind->kind, why);
}

static kl_code report_findings(kl__sim_write *write, const kl__findings *found,
                               kl__sim_strictness strictness, kl_error *err)
{
    kl__buf text = {0};
    kl_code code = KL_OK;

    if (strictness == KL__SIM_WARN) {
        return kl__sim_found_warn(write, found->fields, found->field_count,
                                  err);
    }
    kl__sim_found_join(write, found->fields, found->field_count, &text);
    code = text.failed ? kl__sim_no_memory(err)
                       : refuse_fields(write, text.bytes, err);
    kl__buf_deinit(&text);
    return code;
}

static kl_code check_fields(kl__sim_write *write, const kl__schema *schema,
                            kl__sim_strictness strictness, kl_error *err)
{
    kl__findings found = {0};
    kl__node *root = kl__sim_write_root(write);
    kl_code code = kl__schema_check(root, schema, &found, err);

    if (code == KL_OK && found.error != NULL) {
        code = refuse_value(write, found.error, err);
    } else if (code == KL_OK && strictness != KL__SIM_IGNORE &&
               found.field_count + write->sent.field_count > 0) {
        code = report_findings(write, &found, strictness, err);
    }
    kl__findings_deinit(&found);
    return code;
}

/* Does nothing for custom objects: custom_shape of kl__sim_hooks decodes these.
 */
kl_code kl__sim_decode_fields(kl__sim_write *write, kl_error *err)
{
    kl_code code = KL_OK;
    kl__sim_strictness strictness = KL__SIM_WARN;
    const kl__schema *schema;
    kl__node *root = kl__sim_write_root(write);

    write->says_status = kl__node_size(kl__node_get(root, "status")) > 0;
    if (!sim_how_strict(write, &strictness, &code, err)) {
        return code;
    }
    schema = schema_of(write->kind, write->served->name, &code, err);
    if (schema == NULL) {
        return code;
    }
    code = check_fields(write, schema, strictness, err);
    if (code == KL_OK && kl__sim_write_goes_on(write) &&
        !(kl__schema_decode(write->edit, root, schema) &&
          kl__schema_complete(write->edit, root, schema))) {
        code = kl__sim_no_memory(err);
    }
    return code;
}

kl_code kl__sim_encode_stored(const kl__sim_kind *stored, kl__edit *edit,
                              kl_error *err)
{
    kl_code code = KL_OK;
    const kl__schema *schema = schema_of(stored, stored->storage, &code, err);

    if (schema != NULL &&
        !kl__schema_normalize(edit, kl__edit_root(edit), schema)) {
        code = kl__sim_no_memory(err);
    }
    return code;
}

kl_code kl__sim_encode_fields(kl__sim_write *write, kl_error *err)
{
    return kl__sim_encode_stored(write->resource->kind, write->edit, err);
}

kl_code kl__sim_complete_stored(kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *stored = write->resource->kind;
    kl_code code = KL_OK;
    kl__node *root = kl__sim_write_root(write);
    const kl__schema *schema = schema_of(stored, stored->storage, &code, err);

    if (schema != NULL && !(kl__schema_normalize(write->edit, root, schema) &&
                            kl__schema_complete(write->edit, root, schema))) {
        code = kl__sim_no_memory(err);
    }
    return code;
}
