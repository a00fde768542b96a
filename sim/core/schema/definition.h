/*
 * definition.h - validates CustomResourceDefinitions, with the messages of
 * kube-apiserver. Rules in CEL are not compiled.
 */
#ifndef KL_SCHEMA_DEFINITION_H
#define KL_SCHEMA_DEFINITION_H

#include "sim/core/schema/field_errors.h"

/* Checks a definition whose defaults are set (names, conversion, status).
 * `old`: the definition before the write; NULL: it is new. The write pipeline
 * checks its metadata. */
void kl__definition_validate(const kl_value *root, const kl_value *old,
                             kl__field_errors *errors);

/* Calls `note` for each unknown format in the schemas; values of such formats
 * are not checked. Stops when `note` does not return KL_OK, and returns that
 * code. */
kl_code kl__definition_formats(const kl_value *root,
                               kl_code (*note)(void *context, const char *name,
                                               kl_error *err),
                               void *context, kl_error *err);

#endif
