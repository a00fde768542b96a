/*
 * yaml_write.h - writes JSON as YAML in the form of kubectl and kube-apiserver:
 * names in order, quotes only where a text needs them.
 */
#ifndef KL_SIM_BODY_YAML_WRITE_H
#define KL_SIM_BODY_YAML_WRITE_H

#include "base/buf.h"
#include "kubelua/value.h"

/* Appends a value as one document. KL_ENOMEM. */
kl_code kl__yaml_print(const kl_value *value, kl__buf *out, kl_error *err);

#endif
