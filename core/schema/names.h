/*
 * names.h - whether texts are names as DNS has them, and why not in the words
 * of Kubernetes.
 */
#ifndef KL_SCHEMA_NAMES_H
#define KL_SCHEMA_NAMES_H

#include "base/buf.h"

#include <stdbool.h>

/* False: `why` gets the reasons, separated by commas. */
bool kl__name_is_label(const char *text, kl__buf *why);
bool kl__name_is_dns1035(const char *text, kl__buf *why);
bool kl__name_is_subdomain(const char *text, kl__buf *why);

#endif
