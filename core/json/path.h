/*
 * path.h - the steps of a compiled path (kl_path in kubelua/value.h), for code
 * that walks JSON by itself: object/prune.c and prune_text.c.
 */
#ifndef KL_JSON_PATH_H
#define KL_JSON_PATH_H

#include "kubelua/value.h"

#include <stddef.h>

typedef enum kl__step_kind {
    KL__STEP_NAME,  /* the member of this name */
    KL__STEP_INDEX, /* the element of this index */
    KL__STEP_ALL    /* [*]: every element of an array, or member of an object */
} kl__step_kind;

typedef struct kl__step {
    kl__step_kind kind;
    const char *name; /* into the path */
    size_t length;
    size_t index; /* from 0 */
} kl__step;

/* At least 1. Thread-safe. */
size_t kl__path_count(const kl_path *path);

/* Step `i` of them, borrowed from the path. Thread-safe. */
const kl__step *kl__path_step(const kl_path *path, size_t i);

#endif
