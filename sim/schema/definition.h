/*
 * definition.h - whether a CustomResourceDefinition can be served: what
 * kube-apiserver refuses, in its words. Rules in CEL are not compiled.
 */
#ifndef KL_SCHEMA_DEFINITION_H
#define KL_SCHEMA_DEFINITION_H

#include "sim/schema/field_errors.h"

/* Checks a definition that has its defaults (names, conversion, status); `old`:
 * what it was, NULL if it is new. Its metadata is left to others. */
void kl__definition_validate(const kl_value *root, const kl_value *old,
                             kl__field_errors *errors);

/* Calls `note` with each format of the schemas that is unknown, and so is not
 * checked. Stops when it returns anything but KL_OK. */
kl_code kl__definition_formats(const kl_value *root,
                               kl_code (*note)(void *context, const char *name,
                                               kl_error *err),
                               void *context, kl_error *err);

#endif
