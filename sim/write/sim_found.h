/*
 * sim_found.h - what strict decoding has found in a write: in its body's YAML,
 * in its patch, in the object; refused or warned of as fieldValidation says.
 */
#ifndef KL_SIM_FOUND_H
#define KL_SIM_FOUND_H

#include "sim/write/sim_pipeline.h"

typedef enum kl__sim_strictness {
    KL__SIM_IGNORE,
    KL__SIM_WARN,
    KL__SIM_STRICT
} kl__sim_strictness;

/* What fieldValidation asks for; false: it was refused. */
bool kl__sim_how_strict(kl__sim_write *write, kl__sim_strictness *out,
                        kl_code *code, kl_error *err);

/* How much was found in what was sent, beside the fields of the object. */
size_t kl__sim_found_sent(const kl__sim_write *write);

/* Warns of that, and of `fields`. KL_ENOMEM. */
kl_code kl__sim_found_warn(kl__sim_write *write, char *const *fields,
                           size_t count, kl_error *err);
/* Appends "strict decoding error: ..." with all of it. Out of memory sticks. */
void kl__sim_found_join(const kl__sim_write *write, char *const *fields,
                        size_t count, kl__buf *out);

/* "yaml: unmarshal errors:", and the lines. */
void kl__sim_found_yaml(const kl__sim_ask *ask, kl__buf *out);

#endif
