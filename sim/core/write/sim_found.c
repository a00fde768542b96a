/*
 * sim_found.c - see sim_found.h.
 */
#include "sim/core/write/sim_found.h"

#include "sim/core/answer/sim_warnings.h"

#include <stdio.h>
#include <string.h>

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

bool kl__sim_how_strict(kl__sim_write *write, kl__sim_strictness *out,
                        kl_code *code, kl_error *err)
{
    const char *given =
        kl__sim_parameter_get(&write->answer->ask, "fieldValidation");

    if (given == NULL || *given == '\0' || strcmp(given, "Warn") == 0) {
        *out = KL__SIM_WARN;
        return true;
    }
    if (strcmp(given, "Strict") == 0 || strcmp(given, "Ignore") == 0) {
        *out = *given == 'S' ? KL__SIM_STRICT : KL__SIM_IGNORE;
        return true;
    }
    *code = refuse_strictness(write, given, err);
    return false;
}

size_t kl__sim_found_sent(const kl__sim_write *write)
{
    return write->sent.field_count;
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
