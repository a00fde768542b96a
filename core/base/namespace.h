/*
 * namespace.h - checks that a text can be the name of a namespace. An invalid
 * name is an error at once; a watch of it would stay empty for ever.
 */
#ifndef KL_BASE_NAMESPACE_H
#define KL_BASE_NAMESPACE_H

#include "kubelua/error.h"

/* KL_OK if `text` can be the name of a namespace (a DNS label, RFC 1123); else
 * KL_EINVAL, with the rule in the message. */
kl_code kl__namespace_check(const char *text, kl_error *err);

#endif
