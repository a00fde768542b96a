/*
 * sim_fields.h - findings of strict decoding: unknown fields in a JSON patch or
 * in the object. The parameter fieldValidation decides if findings refuse the
 * request, add warnings, or are ignored: docs/KUBERNETES.md#field-validation.
 */
#ifndef KL_WRITE_SIM_FIELDS_H
#define KL_WRITE_SIM_FIELDS_H

#include "sim/core/write/sim_pipeline.h"

typedef enum kl__sim_strictness {
    KL__SIM_IGNORE,
    KL__SIM_WARN,
    KL__SIM_STRICT
} kl__sim_strictness;

/* Adds a warning to the answer for each finding in the patch, and for each of
 * `fields`, the findings in the object. KL_ENOMEM. */
kl_code kl__sim_found_warn(kl__sim_write *write, char *const *fields,
                           size_t count, kl_error *err);
/* Appends "strict decoding error: ..." with the same findings. When memory runs
 * out, `out` keeps the failure. */
void kl__sim_found_join(const kl__sim_write *write, char *const *fields,
                        size_t count, kl__buf *out);

/* True for a server-side apply. */
bool kl__sim_is_apply(const kl__sim_write *write);
/* True for a strategic merge patch. */
bool kl__sim_is_strategic(const kl__sim_write *write);
/* Answers 422 for a patch whose result is no object of the kind. The message
 * shows that result, or a strategic patch itself. */
kl_code kl__sim_refuse_patched(kl__sim_write *write, const char *why,
                               kl_error *err);

#endif
