/*
 * path.h - the steps of a compiled path (kl_path in kubelua/value.h), for code
 * that walks JSON by itself: search.c and object/prune.c.
 */
#ifndef KL_JSON_PATH_H
#define KL_JSON_PATH_H

#include "kubelua/value.h"

#include <stddef.h>

/* [*] of one path at most: walks recurse at each of them. */
enum { KL__PATH_STARS = 32 };

typedef enum kl__step_kind {
    KL__STEP_NAME,  /* the member of this name */
    KL__STEP_INDEX, /* the element of this index */
    KL__STEP_ALL    /* [*]: every element of an array, or member of an object */
} kl__step_kind;

typedef struct kl__path_step {
    kl__step_kind kind;
    const char *name; /* into the path */
    size_t length;
    size_t index; /* from 0 */
} kl__path_step;

struct kl_path {
    char *bytes;  /* the path's text, then the names; stored behind the steps */
    size_t count; /* at least 1 */
    kl__path_step steps[];
};

#endif
