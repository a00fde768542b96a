/*
 * names.h - checks DNS names, with the messages of Kubernetes.
 */
#ifndef KL_SCHEMA_NAMES_H
#define KL_SCHEMA_NAMES_H

#include "base/buf.h"

#include <stdbool.h>

/* If a function returns false, `why` gets the reasons, separated by commas. */
bool kl__name_is_label(const char *text, kl__buf *why);
bool kl__name_is_dns1035(const char *text, kl__buf *why);
bool kl__name_is_subdomain(const char *text, kl__buf *why);
/* "*." before a subdomain: "*.example.com". */
bool kl__name_is_wildcard(const char *text, kl__buf *why);

#endif
