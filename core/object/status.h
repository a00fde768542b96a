/*
 * status.h - makes a kl_error, with a remedy in its message, from an API
 * server's error response: its HTTP status and body (a Status object, or any
 * text).
 */
#ifndef KL_OBJECT_STATUS_H
#define KL_OBJECT_STATUS_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Fills `err` from an HTTP response with a status of 400 or more, and returns
 * its code. The body may be a Status, text, HTML or empty. `retry_after_ms` is
 * from the header Retry-After (-1: none); without it, details.retryAfterSeconds
 * of the Status counts. The rules: docs/KUBERNETES.md#status-objects.
 */
kl_code kl__status_error(int http_status, const char *body, size_t length,
                         long retry_after_ms, kl_error *err);

/* The same for the Status object in an ERROR event of a watch. */
kl_code kl__status_event_error(const kl_value *status, kl_error *err);

/* metadata.continue of the Status of a 410 during a paged list: with this token
 * the server continues the list, but from a newer state
 * (docs/KUBERNETES.md#expired-token). Owned by the caller; NULL: none. */
char *kl__status_continue(const char *body, size_t length);

#endif
