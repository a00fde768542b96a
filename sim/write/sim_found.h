/*
 * sim_found.h - findings of strict decoding (repeated and unknown fields) in a
 * body's YAML, in a patch and in the object. The parameter fieldValidation
 * decides if they are refused, warned of or ignored:
 * docs/KUBERNETES.md#field-validation.
 */
#ifndef KL_SIM_FOUND_H
#define KL_SIM_FOUND_H

#include "sim/write/sim_pipeline.h"

typedef enum kl__sim_strictness {
    KL__SIM_IGNORE,
    KL__SIM_WARN,
    KL__SIM_STRICT
} kl__sim_strictness;

/* Reads fieldValidation. False: it is invalid and was refused. */
bool kl__sim_how_strict(kl__sim_write *write, kl__sim_strictness *out,
                        kl_code *code, kl_error *err);

/* How many findings the body or patch has, beside the fields of the object. */
size_t kl__sim_found_sent(const kl__sim_write *write);

/* Warns of these, and of `fields`. KL_ENOMEM. */
kl_code kl__sim_found_warn(kl__sim_write *write, char *const *fields,
                           size_t count, kl_error *err);
/* Appends "strict decoding error: ..." with all findings. When memory runs out,
 * `out` keeps the failure. */
void kl__sim_found_join(const kl__sim_write *write, char *const *fields,
                        size_t count, kl__buf *out);

/* Appends "yaml: unmarshal errors:" and its lines. */
void kl__sim_found_yaml(const kl__sim_ask *ask, kl__buf *out);

#endif
