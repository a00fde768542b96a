/*
 * inflate.c - see inflate.h. In a compressed watch the API server ends a gzip
 * member at each flush (docs/KUBERNETES.md#gzip), so a body has many members.
 */
#include "http/inflate.h"

#include "base/mem.h"
#include "http/zlib_memory.h"

#include <limits.h>
#include <stdint.h>

/* 15 bits of window; 16 means a gzip header rather than a zlib header. */
enum { GZIP_WINDOW_BITS = 15 + 16 };

struct kl__inflate {
    z_stream z;
    bool in_member;
};

kl__inflate *kl__inflate_new(void)
{
    kl__inflate *gzip = kl__calloc(1, sizeof(*gzip));

    if (gzip == NULL) {
        return NULL;
    }
    kl__zlib_prepare(&gzip->z);
    if (inflateInit2(&gzip->z, GZIP_WINDOW_BITS) != Z_OK) {
        kl__free(gzip);
        return NULL;
    }
    return gzip;
}

void kl__inflate_free(kl__inflate *gzip)
{
    if (gzip != NULL) {
        inflateEnd(&gzip->z);
        kl__free(gzip);
    }
}

static uInt to_uint(size_t length)
{
    return length < UINT_MAX ? (uInt)length : UINT_MAX;
}

/* Calls zlib once, and updates `io`. */
static int inflate_some(kl__inflate *gzip, kl__inflate_io *io)
{
    z_stream *z = &gzip->z;
    uInt in = to_uint(io->in_length), out = to_uint(io->out_length);
    int status;

    z->next_in = (Bytef *)(uintptr_t)io->in;
    z->avail_in = in;
    z->next_out = (Bytef *)io->out;
    z->avail_out = out;
    status = inflate(z, Z_NO_FLUSH);
    io->in += in - z->avail_in;
    io->in_length -= in - z->avail_in;
    io->out += out - z->avail_out;
    io->out_length -= out - z->avail_out;
    return status;
}

kl_code kl__inflate_step(kl__inflate *gzip, kl__inflate_io *io, kl_error *err)
{
    while (io->out_length > 0 && (io->in_length > 0 || gzip->in_member)) {
        int status;

        gzip->in_member = true;
        status = inflate_some(gzip, io);
        if (status == Z_STREAM_END) {
            gzip->in_member = false;
            inflateReset(&gzip->z);
        } else if (status == Z_BUF_ERROR) {
            break; /* no room for output, or no input: not an error */
        } else if (status == Z_MEM_ERROR) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for gzip");
        } else if (status != Z_OK) {
            return kl_error_set(err, KL_EPARSE, "the answer's gzip is damaged");
        }
    }
    return KL_OK;
}

bool kl__inflate_is_whole(const kl__inflate *gzip)
{
    return !gzip->in_member;
}
