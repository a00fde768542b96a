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
/* With underscores, as what is looked up may have. */
bool kl__name_is_service(const char *text, kl__buf *why);
/* "*.example.com". */
bool kl__name_is_wildcard(const char *text, kl__buf *why);

#endif
