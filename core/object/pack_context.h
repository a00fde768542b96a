/*
 * pack_context.h - a pool of zstd compression contexts that packers share. Each
 * has 70 KB and is in use for microseconds.
 */
#ifndef KL_OBJECT_PACK_CONTEXT_H
#define KL_OBJECT_PACK_CONTEXT_H

#include <zstd.h>

/* Returns a context that no other thread uses, reset. NULL: out of memory. */
ZSTD_CCtx *kl__pack_context_take(void);
/* Returns the context to the pool. */
void kl__pack_context_give(ZSTD_CCtx *context);

#endif
