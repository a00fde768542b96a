/*
 * deflate.h - gzip, encoded as bytes come: the other side of inflate.h.
 */
#ifndef KL_HTTP_DEFLATE_H
#define KL_HTTP_DEFLATE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__deflate kl__deflate;

/* For one body, at the speed that kube-apiserver chooses (level 1); owned by
 * the caller. NULL: out of memory. */
kl__deflate *kl__deflate_new(void);
void kl__deflate_free(kl__deflate *gzip); /* NULL is fine */

/* Encodes `in` and appends what comes of it, maybe nothing yet; with `is_last`
 * all there is. Out of memory sticks in `out`. */
void kl__deflate_add(kl__deflate *gzip, const char *in, size_t length,
                     bool is_last, kl__buf *out);

#endif
