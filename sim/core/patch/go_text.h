/*
 * go_text.h - values and names of types as Go's fmt prints them, for messages
 * in kube-apiserver's words.
 */
#ifndef KL_PATCH_GO_TEXT_H
#define KL_PATCH_GO_TEXT_H

#include "sim/core/json/edit.h"

/* "map[a:1 b:[x y]]"; owned by the caller (kl__free). NULL: out of memory. */
char *kl__go_text(const kl__node *node);

/* "map[string]interface {}", "[]interface {}", "string", "int64", ... */
const char *kl__go_type(const kl__node *node);

#endif
