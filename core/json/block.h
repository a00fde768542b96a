/*
 * block.h - sixty-four bytes of JSON looked at together: which of them are
 * brackets or whitespace outside of strings. For skip.c.
 */
#ifndef KL_JSON_BLOCK_H
#define KL_JSON_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { KL__BLOCK_SIZE = 64 };

/* Bit i is byte i. */
typedef struct kl__block {
    uint64_t brackets; /* outside of strings */
    uint64_t spaces;   /* likewise */
    bool ends_in_string;
    bool ends_escaped; /* its last byte is a backslash that counts */
} kl__block;

/* Looks at KL__BLOCK_SIZE bytes. False: they must be looked at one by one, as
 * there is a backslash outside of strings, or the machine has no means. */
bool kl__block_read(kl__block *block, const char *bytes, bool in_string,
                    bool is_escaped);

#endif
