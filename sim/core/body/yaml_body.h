/*
 * yaml_body.h - a request's body in YAML, read as kube-apiserver reads it: only
 * the first document.
 */
#ifndef KL_SIM_BODY_YAML_BODY_H
#define KL_SIM_BODY_YAML_BODY_H

#include "base/buf.h"
#include "kubelua/value.h"

/* The document, owned by the caller; an empty text gives a JSON null. NULL:
 * KL_EPARSE, KL_ETOO_LARGE, KL_ENOMEM. */
kl_doc *kl__yaml_body(const char *text, size_t length, kl_error *err);

#endif
