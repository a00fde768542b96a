/*
 * sim_found.h - findings of strict decoding: unknown fields in a JSON patch or
 * in the object. The parameter fieldValidation
 * decides if findings refuse the request, add warnings, or are ignored:
 * docs/KUBERNETES.md#field-validation.
 */
#ifndef KL_SIM_FOUND_H
#define KL_SIM_FOUND_H

#include "sim/core/write/sim_pipeline.h"

typedef enum kl__sim_strictness {
    KL__SIM_IGNORE,
    KL__SIM_WARN,
    KL__SIM_STRICT
} kl__sim_strictness;

/* Reads fieldValidation. False: it is invalid; the answer is a refusal, or an
 * error (*code). */
bool kl__sim_how_strict(kl__sim_write *write, kl__sim_strictness *out,
                        kl_code *code, kl_error *err);

/* How many findings there are in the patch. */
size_t kl__sim_found_sent(const kl__sim_write *write);

/* Adds a warning to the answer for each of these findings, and for each of
 * `fields`, the findings in the object. KL_ENOMEM. */
kl_code kl__sim_found_warn(kl__sim_write *write, char *const *fields,
                           size_t count, kl_error *err);
/* Appends "strict decoding error: ..." with the same findings. When memory runs
 * out, `out` keeps the failure. */
void kl__sim_found_join(const kl__sim_write *write, char *const *fields,
                        size_t count, kl__buf *out);

#endif
