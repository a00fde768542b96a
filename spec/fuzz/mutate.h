/*
 * mutate.h - changes a text so that it stays a document of some kind: it moves
 * whole values, words and lines.
 */
#ifndef KL_FUZZ_MUTATE_H
#define KL_FUZZ_MUTATE_H

#include <stddef.h>

/* Changes `length` bytes (not 0) in a block of `capacity`; returns the new
 * length. The same seed makes the same change. */
size_t fuzz_mutate(char *bytes, size_t length, size_t capacity, unsigned seed);

#endif
