/*
 * status.h - what an API server says when it says no: HTTP status and body (a
 * Status object, or any text) become a kl_error that names the remedy.
 */
#ifndef KL_OBJECT_STATUS_H
#define KL_OBJECT_STATUS_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Fills `err` from an HTTP answer (status >= 400) and returns its code. The
 * body may be a Status, text, HTML or nothing. `retry_after_ms` is the header's
 * (-1: none); details.retryAfterSeconds counts where it is missing. Rules: API
 * conventions, "Response Status Kind"; reference 5.5.
 */
kl_code kl__status_error(int http_status, const char *body, size_t length,
                         long retry_after_ms, kl_error *err);

/* The same for a Status object inside a watch's ERROR event. */
kl_code kl__status_event_error(const kl_value *status, kl_error *err);

/* metadata.continue of a 410's Status: the token of an inconsistent
 * continuation (reference 5.4). Owned by the caller; NULL: none. */
char *kl__status_continue(const char *body, size_t length);

#endif
