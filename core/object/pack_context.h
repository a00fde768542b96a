/*
 * pack_context.h - the contexts of zstd that packers share: each is 70 KB, and
 * in use for microseconds.
 */
#ifndef KL_OBJECT_PACK_CONTEXT_H
#define KL_OBJECT_PACK_CONTEXT_H

#include <zstd.h>

/* One that no other thread uses, as if it were new. NULL: no memory. */
ZSTD_CCtx *kl__pack_context_take(void);
/* Gives it back. */
void kl__pack_context_give(ZSTD_CCtx *context);

#endif
