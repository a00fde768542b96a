/*
 * field_selector.h - checks the syntax of a field selector. Which fields can be
 * selected by, only the server knows.
 */
#ifndef KL_INFORMER_FIELD_SELECTOR_H
#define KL_INFORMER_FIELD_SELECTOR_H

#include "kubelua/error.h"

/* "spec.nodeName=n1,status.phase!=Running"; a backslash escapes ',', '=' and
 * itself in values. NULL and "" are fine. KL_EINVAL names the term. */
kl_code kl__field_selector_check(const char *text, kl_error *err);

#endif
