/*
 * yaml_body.h - a request's body in YAML as kube-apiserver reads it: its first
 * document, with what is there twice; in the words of sigs.k8s.io/yaml.
 */
#ifndef KL_CONFIG_YAML_BODY_H
#define KL_CONFIG_YAML_BODY_H

#include "base/buf.h"
#include "kubelua/value.h"

/* The document, which the caller owns; of nothing at all it is null. `twice`
 * gets a line `line 7: key "a" already set in map` for each name that came
 * again. NULL: KL_EPARSE, KL_ETOO_LARGE, KL_ENOMEM. */
kl_doc *kl__yaml_body(const char *text, size_t length, kl__buf *twice,
                      kl_error *err);

#endif
