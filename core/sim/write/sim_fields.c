/*
 * sim_fields.c - the stages that know the fields of built-in kinds: whether an
 * object has no others, and what it is once it was decoded and completed.
 */
#include "sim/write/sim_pipeline.h"

#include "schema/schema_check.h"
#include "schema/schema_normal.h"
#include "sim/answer/sim_warnings.h"
#include "sim/write/sim_track.h"
#include "sim/write/sim_write.h"

#include <stdio.h>
#include <string.h>

/* The schema of the write's kind, as asked for or stored, in a version; NULL: a
 * custom one, or out of memory (`code`). */
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

typedef enum strict { IGNORE, WARN, STRICT } strict;

static kl_code refuse_strictness(kl__sim_write *write, const char *given,
                                 kl_error *err)
{
    static const char *const verbs[] = {"Create", "Update", "Patch"};
    kl__sim_status status = {.group = "meta.k8s.io"};
    char kind[32], qualified[64];

    snprintf(kind, sizeof(kind), "%sOptions", verbs[write->operation]);
    snprintf(qualified, sizeof(qualified), "%s.meta.k8s.io", kind);
    status.kind = kind;
    kl__sim_cause_add(&status, "FieldValueNotSupported", "fieldValidation",
                      "Unsupported value: \"%s\": supported values: \"\", "
                      "\"Ignore\", \"Strict\", \"Warn\"",
                      given);
    return kl__sim_refuse_invalid(write->answer, &status, qualified, err);
}

/* What fieldValidation asks for; false: it was refused. */
static bool how_strict(kl__sim_write *write, strict *out, kl_code *code,
                       kl_error *err)
{
    const char *given =
        kl__sim_parameter_get(&write->answer->ask, "fieldValidation");

    if (given == NULL || *given == '\0' || strcmp(given, "Warn") == 0) {
        *out = WARN;
        return true;
    }
    if (strcmp(given, "Strict") == 0 || strcmp(given, "Ignore") == 0) {
        *out = *given == 'S' ? STRICT : IGNORE;
        return true;
    }
    *code = refuse_strictness(write, given, err);
    return false;
}

static kl_code refuse(kl__sim_write *write, const char *why, kl_error *err)
{
    const char *kind = write->kind->kind;

    if (write->operation == KL__SIM_PATCH && !kl__sim_is_apply(write)) {
        return kl__sim_refuse_patched(write, why, err);
    }
    return kl__sim_refuse(write->answer, 400, "BadRequest", err,
                          "%s in version \"%s\" cannot be handled as a %s: %s",
                          kind, write->served->name, kind, why);
}

static kl_code tell(kl__sim_write *write, const kl__findings *found,
                    strict strictness, kl_error *err)
{
    kl__buf text = {0};
    kl_code code = KL_OK;

    if (strictness == WARN) {
        for (size_t i = 0; i < found->field_count && code == KL_OK; i++) {
            code = kl__sim_warn(write->answer, found->fields[i], err);
        }
        return code;
    }
    kl__buf_puts(&text, "strict decoding error: ");
    for (size_t i = 0; i < found->field_count; i++) {
        kl__buf_printf(&text, "%s%s", i > 0 ? ", " : "", found->fields[i]);
    }
    code =
        text.failed ? kl__sim_no_memory(err) : refuse(write, text.bytes, err);
    kl__buf_deinit(&text);
    return code;
}

static kl_code check(kl__sim_write *write, const kl__schema *schema,
                     strict strictness, kl_error *err)
{
    kl__findings found = {0};
    kl_code code =
        kl__schema_check(kl__sim_write_root(write), schema, &found, err);

    if (code == KL_OK && found.error != NULL) {
        code = refuse(write, found.error, err);
    } else if (code == KL_OK && found.field_count > 0 && strictness != IGNORE) {
        code = tell(write, &found, strictness, err);
    }
    kl__findings_deinit(&found);
    return code;
}

/* Everything but custom objects goes through Go's structs. */
kl_code kl__sim_decode_fields(kl__sim_write *write, kl_error *err)
{
    kl_code code = KL_OK;
    strict strictness = WARN;
    const kl__schema *schema;
    kl__node *root = kl__sim_write_root(write);

    write->says_status = kl__node_size(kl__node_get(root, "status")) > 0;
    if (!how_strict(write, &strictness, &code, err)) {
        return code;
    }
    schema = schema_of(write->kind, write->served->name, &code, err);
    if (schema == NULL) {
        return code;
    }
    code = check(write, schema, strictness, err);
    if (code == KL_OK && kl__sim_write_goes_on(write) &&
        !(kl__schema_normalize(write->edit, root, schema) &&
          kl__schema_complete(write->edit, root, schema))) {
        code = kl__sim_no_memory(err);
    }
    return code;
}

kl_code kl__sim_encode_fields(kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *stored = write->resource->kind;
    kl_code code = KL_OK;
    const kl__schema *schema = schema_of(stored, stored->storage, &code, err);

    if (schema != NULL &&
        !kl__schema_normalize(write->edit, kl__sim_write_root(write), schema)) {
        code = kl__sim_no_memory(err);
    }
    return code;
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
