/*
 * mutate.h - changes to a text that keep it a document of some kind: values,
 * words and lines are taken as wholes.
 */
#ifndef KL_FUZZ_MUTATE_H
#define KL_FUZZ_MUTATE_H

#include <stddef.h>

/* Changes `length` bytes (not 0) in a room of `capacity`; the new length. The
 * same seed makes the same change. */
size_t fuzz_mutate(char *bytes, size_t length, size_t capacity, unsigned seed);

#endif
