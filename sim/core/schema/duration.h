/*
 * duration.h - durations as Go's time.ParseDuration reads them: "1h5m", "1.5s".
 */
#ifndef KL_SCHEMA_DURATION_H
#define KL_SCHEMA_DURATION_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a duration, which may be negative. False: it is malformed, and `why`
 * (`size` bytes) gets Go's message. */
bool kl__duration_read(const char *text, double *seconds, char *why,
                       size_t size);

#endif
