/*
 * inflate.h - gzip, decoded as room is made: what comes out is bounded by the
 * caller's buffer, however much a few bytes would swell to.
 */
#ifndef KL_HTTP_INFLATE_H
#define KL_HTTP_INFLATE_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__inflate kl__inflate;

/* Where a step reads and writes; it moves all four on. */
typedef struct kl__inflate_io {
    const char *in;
    size_t in_length;
    char *out;
    size_t out_length;
} kl__inflate_io;

/* For one body; owned by the caller. NULL: out of memory. */
kl__inflate *kl__inflate_new(void);
void kl__inflate_free(kl__inflate *gzip); /* NULL is fine */

/*
 * Decodes until the input is used up or the output is full; what did not fit is
 * kept and comes first in the next step, with or without input. Members that
 * follow each other are one text. KL_EPARSE: it is no gzip, or is damaged.
 */
kl_code kl__inflate_step(kl__inflate *gzip, kl__inflate_io *io, kl_error *err);

/* Whether the body may end here: between members, not inside of one. */
bool kl__inflate_is_whole(const kl__inflate *gzip);

#endif
