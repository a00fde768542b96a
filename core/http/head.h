/*
 * head.h - parses the status line and headers of an HTTP response, line by line
 * as they arrive.
 */
#ifndef KL_HTTP_HEAD_H
#define KL_HTTP_HEAD_H

#include "base/buf.h"
#include "http/transport.h"

#include <stdbool.h>
#include <stddef.h>

/* The Content-Encoding of a body. KL__ENCODING_OTHER cannot be decoded. */
typedef enum kl__encoding {
    KL__ENCODING_IDENTITY,
    KL__ENCODING_GZIP,
    KL__ENCODING_OTHER
} kl__encoding;

/* Zeroed: ready for a status line. */
typedef struct kl__head {
    kl__response response;
    kl__encoding encoding;
    bool complete; /* later lines are trailers */
} kl__head;

/*
 * Parses one line, with or without its line end. A status line resets the head,
 * so interim responses (1xx) leave nothing. True for the empty line that ends
 * the head of the final response; lines after it are ignored.
 */
bool kl__head_line(kl__head *head, const char *line, size_t length);

/* Stores headers for kl__stream_headers, line by line as above. A status line
 * resets them; headers beyond 32 KB in total are left out. */
void kl__head_keep(kl__buf *lines, const char *line, size_t length);

#endif
