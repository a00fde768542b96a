/*
 * zlib_memory.h - makes zlib use the library's allocator.
 */
#ifndef KL_HTTP_ZLIB_MEMORY_H
#define KL_HTTP_ZLIB_MEMORY_H

#include "base/mem.h"

#include <zlib.h>

static inline voidpf kl__zlib_take(voidpf context, uInt count, uInt size)
{
    (void)context;
    return kl__calloc(count, size);
}

static inline void kl__zlib_give_back(voidpf context, voidpf block)
{
    (void)context;
    kl__free(block);
}

/* Call before the stream is initialised. */
static inline void kl__zlib_prepare(z_stream *z)
{
    z->zalloc = kl__zlib_take;
    z->zfree = kl__zlib_give_back;
}

#endif
