/*
 * deflate.h - compresses an answer's body with gzip, piece by piece, while the
 * body is being made. inflate.h does the reverse.
 */
#ifndef KL_SIM_BODY_DEFLATE_H
#define KL_SIM_BODY_DEFLATE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__deflate kl__deflate;

/* A compressor for one body, at the level that kube-apiserver uses (1); owned
 * by the caller. NULL: out of memory. */
kl__deflate *kl__deflate_new(void);
void kl__deflate_free(kl__deflate *gzip); /* NULL is fine */

/* Compresses `in` and appends the result, which may be nothing yet; with
 * `is_last` everything is written. When memory runs out, `out` keeps the
 * failure. */
void kl__deflate_add(kl__deflate *gzip, const char *in, size_t length,
                     bool is_last, kl__buf *out);

#endif
