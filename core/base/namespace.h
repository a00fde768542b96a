/*
 * namespace.h - what can be the name of a namespace: an impossible one is
 * refused at once, rather than watched in vain.
 */
#ifndef KL_BASE_NAMESPACE_H
#define KL_BASE_NAMESPACE_H

#include "kubelua/error.h"

/* KL_OK if `text` can be a namespace (a DNS label, RFC 1123); else KL_EINVAL
 * with what one looks like. */
kl_code kl__namespace_check(const char *text, kl_error *err);

#endif
