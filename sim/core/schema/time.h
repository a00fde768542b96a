/*
 * time.h - times in objects (metav1.Time and MicroTime): reads RFC 3339, with
 * Go's error messages, and writes it in UTC, which is the stored form.
 */
#ifndef KL_SCHEMA_TIME_H
#define KL_SCHEMA_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The size of a buffer for any time. */
#define KL__TIME_SIZE 96

typedef struct kl__time {
    int64_t seconds; /* since 1970, UTC */
    int microseconds;
} kl__time;

/* Reads a time; `micro`: with six digits after the seconds. False: it is
 * malformed, and `why` (`size` bytes) gets Go's message. */
bool kl__time_read(const char *text, bool micro, kl__time *out, char *why,
                   size_t size);

void kl__time_write(const kl__time *time, bool micro, char out[KL__TIME_SIZE]);

/* ---- durations as Go's time.ParseDuration reads them: "1h5m" ---- */

/* Reads a duration, which may be negative. False: it is malformed, and `why`
 * (`size` bytes) gets Go's message. */
bool kl__duration_read(const char *text, double *seconds, char *why,
                       size_t size);

#endif
