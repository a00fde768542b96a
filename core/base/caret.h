/*
 * caret.h - an error that points into the text which a user wrote: a selector,
 * a path. The message shows the text, and a caret under the place.
 */
#ifndef KL_BASE_CARET_H
#define KL_BASE_CARET_H

#include "kubelua/error.h"

#include <stddef.h>

typedef struct kl__caret {
    const char *what; /* "label selector" */
    const char *text; /* NUL terminated */
    size_t position;  /* in bytes, from 0; the text's length: its end */
} kl__caret;

/* Fills `err` with KL_EINVAL: "WHAT, character N: ...", and the text with a
 * caret below where it is one printable line that fits; returns KL_EINVAL. */
kl_code kl__caret_error(kl_error *err, const kl__caret *at, const char *format,
                        ...) KL_PRINTF(3, 4);

#endif
