/*
 * inflate.h - decodes a gzip stream step by step. The output of a step is
 * limited by the caller's buffer, so that a small input that expands to
 * gigabytes does no harm.
 */
#ifndef KL_HTTP_INFLATE_H
#define KL_HTTP_INFLATE_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__inflate kl__inflate;

/* The input and output of a step, which updates all four fields. */
typedef struct kl__inflate_io {
    const char *in;
    size_t in_length;
    char *out;
    size_t out_length;
} kl__inflate_io;

/* Makes a decoder for one body; owned by the caller. NULL: out of memory. */
kl__inflate *kl__inflate_new(void);
void kl__inflate_free(kl__inflate *gzip); /* NULL is fine */

/*
 * Decodes until the input is used up or the output is full. Output that did not
 * fit is kept and comes first in the next step, which may have no input.
 * Several gzip members, one after the other, give one text. KL_EPARSE: not
 * gzip, or damaged.
 */
kl_code kl__inflate_step(kl__inflate *gzip, kl__inflate_io *io, kl_error *err);

/* True if the body may end here, between two members. */
bool kl__inflate_is_whole(const kl__inflate *gzip);

#endif
