/*
 * buf.h - a growable byte buffer. Out of memory sets `failed`, and every later
 * append does nothing: append as often as you like and check `failed` once, at
 * the end.
 */
#ifndef KL_BASE_BUF_H
#define KL_BASE_BUF_H

#include "base/for_sim.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__buf {
    char *bytes; /* NUL terminated after an append; NULL: no memory yet */
    size_t length;
    size_t capacity;
    bool failed;
} kl__buf;

/* Frees the bytes and zeroes the buffer. A zeroed kl__buf is empty and
 * valid. */
KL__FOR_SIM void kl__buf_deinit(kl__buf *buf);

/* Sets the length to 0 and clears `failed`; keeps the memory for the next
 * use. */
KL__FOR_SIM void kl__buf_reset(kl__buf *buf);

/* Makes room for `extra` more bytes and a NUL, and returns the address where
 * they go; NULL when out of memory. The caller writes them, with or without a
 * NUL, and then adds their number to `length`. */
KL__FOR_SIM char *kl__buf_reserve(kl__buf *buf, size_t extra);

KL__FOR_SIM void kl__buf_append(kl__buf *buf, const void *bytes, size_t length);
KL__FOR_SIM void kl__buf_puts(kl__buf *buf, const char *text);
KL__FOR_SIM void kl__buf_putc(kl__buf *buf, char byte);
KL__FOR_SIM void kl__buf_printf(kl__buf *buf, const char *format, ...)
    KL_PRINTF(2, 3);

/* Drops the first `length` bytes. */
void kl__buf_consume(kl__buf *buf, size_t length);

/* Returns the NUL-terminated bytes ("" for an empty buffer), which the caller
 * now owns; NULL when out of memory. The buffer is empty afterwards. */
KL__FOR_SIM char *kl__buf_take(kl__buf *buf, size_t *length);

#endif
