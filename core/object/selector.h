/*
 * selector.h - a compiled label selector: a list of requirements that an
 * object's labels must all meet.
 */
#ifndef KL_OBJECT_SELECTOR_H
#define KL_OBJECT_SELECTOR_H

#include "kubelua/object.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum kl__label_op {
    KL__LABEL_IN,     /* also = and == */
    KL__LABEL_NOT_IN, /* also != */
    KL__LABEL_EXISTS,
    KL__LABEL_MISSING,
    KL__LABEL_GREATER,
    KL__LABEL_LESS
} kl__label_op;

typedef struct kl__requirement {
    kl__label_op op;
    const char *key; /* into kl_selector.text */
    size_t first;    /* index of its first value in kl_selector.values */
    size_t count;
} kl__requirement;

struct kl_selector {
    char *text; /* a copy, cut into NUL-terminated words */
    kl__requirement *requirements;
    size_t count;
    const char **values; /* of all requirements; in `text`, or a static "" */
};

/* Reads a decimal int64_t, for > and <. False: not an integer of 64 bits. */
bool kl__label_integer(const char *text, int64_t *number);

#endif
