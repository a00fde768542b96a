/*
 * definition.h - validates CustomResourceDefinitions, in kube-apiserver's
 * words. CEL rules are not compiled.
 */
#ifndef KL_SCHEMA_DEFINITION_H
#define KL_SCHEMA_DEFINITION_H

#include "sim/schema/field_errors.h"

/* Checks a definition with its defaults (names, conversion, status); `old`: the
 * definition before, NULL if it is new. Its metadata is checked elsewhere. */
void kl__definition_validate(const kl_value *root, const kl_value *old,
                             kl__field_errors *errors);

/* Calls `note` with each unknown format in the schemas: these are not checked.
 * Stops when `note` returns anything but KL_OK. */
kl_code kl__definition_formats(const kl_value *root,
                               kl_code (*note)(void *context, const char *name,
                                               kl_error *err),
                               void *context, kl_error *err);

#endif
