/*
 * caret.h - an error message for a text that a user wrote, such as a selector
 * or a path. It shows the text and a caret (^) under the wrong character.
 */
#ifndef KL_BASE_CARET_H
#define KL_BASE_CARET_H

#include "kubelua/error.h"

#include <stddef.h>

typedef struct kl__caret {
    const char *what; /* "label selector" */
    const char *text; /* NUL terminated */
    size_t position;  /* offset of the wrong byte, from 0; the length of the
                       * text: something is missing at its end */
} kl__caret;

/* Fills `err` with KL_EINVAL and "WHAT, character N: ...", and returns
 * KL_EINVAL. If the text is one short line of printable ASCII, it is shown too,
 * with the caret below. */
kl_code kl__caret_error(kl_error *err, const kl__caret *at, const char *format,
                        ...) KL_PRINTF(3, 4);

#endif
