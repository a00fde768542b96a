/*
 * names.h - checks DNS names, with the reasons in Kubernetes' words.
 */
#ifndef KL_SCHEMA_NAMES_H
#define KL_SCHEMA_NAMES_H

#include "base/buf.h"

#include <stdbool.h>

/* If one returns false, `why` gets the reasons, separated by commas. */
bool kl__name_is_label(const char *text, kl__buf *why);
bool kl__name_is_dns1035(const char *text, kl__buf *why);
bool kl__name_is_subdomain(const char *text, kl__buf *why);
/* Underscores are allowed, as in names of services that are looked up. */
bool kl__name_is_service(const char *text, kl__buf *why);
/* "*.example.com". */
bool kl__name_is_wildcard(const char *text, kl__buf *why);

#endif
