/*
 * yaml_write.h - JSON as YAML, in the form in which kubectl and kube-apiserver
 * write it: names in order, texts in quotes only where they must be.
 */
#ifndef KL_CONFIG_YAML_WRITE_H
#define KL_CONFIG_YAML_WRITE_H

#include "base/buf.h"
#include "kubelua/value.h"

/* Appends a value as one document. KL_ENOMEM. */
kl_code kl__yaml_print(const kl_value *value, kl__buf *out, kl_error *err);

#endif
