/*
 * deflate.c - see deflate.h. zlib does the work.
 */
#include "sim/core/body/deflate.h"

#include "base/mem.h"
#include "http/zlib_memory.h"

#include <limits.h>
#include <stdint.h>

enum {
    GZIP_WINDOW_BITS = 15 + 16, /* with a gzip header */
    LEVEL = 1,
    MEMORY_LEVEL = 8, /* zlib's default */
    ROOM = 32 * 1024
};

struct kl__deflate {
    z_stream z;
};

kl__deflate *kl__deflate_new(void)
{
    kl__deflate *gzip = kl__calloc(1, sizeof(*gzip));

    if (gzip == NULL) {
        return NULL;
    }
    kl__zlib_prepare(&gzip->z);
    if (deflateInit2(&gzip->z, LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS,
                     MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        kl__free(gzip);
        return NULL;
    }
    return gzip;
}

void kl__deflate_free(kl__deflate *gzip)
{
    if (gzip != NULL) {
        deflateEnd(&gzip->z);
        kl__free(gzip);
    }
}

/* Compresses one part of the input, short enough for zlib's counters. */
static void add_part(kl__deflate *gzip, bool is_last, kl__buf *out)
{
    z_stream *z = &gzip->z;
    int status = Z_OK;

    do {
        char *room = kl__buf_reserve(out, ROOM);

        if (room == NULL) {
            return;
        }
        z->next_out = (Bytef *)room;
        z->avail_out = ROOM;
        status = deflate(z, is_last ? Z_FINISH : Z_NO_FLUSH);
        out->length += ROOM - z->avail_out;
    } while (status == Z_OK && (z->avail_out == 0 || z->avail_in != 0));
    if (status == Z_STREAM_ERROR) {
        out->failed = true;
    }
}

void kl__deflate_add(kl__deflate *gzip, const char *in, size_t length,
                     bool is_last, kl__buf *out)
{
    do {
        size_t part = length < UINT_MAX ? length : UINT_MAX;

        gzip->z.next_in = (Bytef *)(uintptr_t)in;
        gzip->z.avail_in = (uInt)part;
        in += part;
        length -= part;
        add_part(gzip, is_last && length == 0, out);
    } while (length != 0 && !out->failed);
}
