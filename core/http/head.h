/*
 * head.h - the head of an HTTP response, line by line as it comes in.
 */
#ifndef KL_HTTP_HEAD_H
#define KL_HTTP_HEAD_H

#include "base/buf.h"
#include "http/transport.h"

#include <stdbool.h>
#include <stddef.h>

/* How a body is encoded; what was not asked for cannot be decoded. */
typedef enum kl__encoding {
    KL__ENCODING_IDENTITY,
    KL__ENCODING_GZIP,
    KL__ENCODING_OTHER
} kl__encoding;

/* A zeroed one waits for a status line. */
typedef struct kl__head {
    kl__response response;
    kl__encoding encoding;
    bool complete; /* what follows are trailers */
} kl__head;

/*
 * Takes in one line, with or without its line end. A status line begins anew:
 * interim responses (1xx) leave nothing behind. True with the empty line that
 * ends a final head; lines after it are ignored.
 */
bool kl__head_line(kl__head *head, const char *line, size_t length);

/* Keeps the fields of a head for kl__stream_headers, line by line as above: a
 * status line begins anew; what goes beyond 32 KB is left out. */
void kl__head_keep(kl__buf *lines, const char *line, size_t length);

#endif
