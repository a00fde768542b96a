/*
 * block.h - sixty-four bytes of JSON looked at together: where strings are, and
 * what stands outside of them. For skip.c, which finds a value's end, and for
 * check.c, which says whether it is JSON.
 */
#ifndef KL_JSON_BLOCK_H
#define KL_JSON_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum { KL__BLOCK_SIZE = 64 };

/* Bit i is byte i. */
typedef struct kl__block {
    uint64_t strings; /* from an opening quote to before the closing one */
    uint64_t quotes;  /* opening (in `strings`) and closing ones (not in it) */
    uint64_t escaped; /* bytes that a backslash takes the meaning of */
    /* Outside of strings: */
    uint64_t opens;  /* brackets and braces */
    uint64_t closes; /* likewise */
    uint64_t braces; /* which of both are braces; means nothing elsewhere */
    uint64_t colons;
    uint64_t commas;
    uint64_t spaces; /* all whitespace */
    /* Anywhere: */
    uint64_t controls; /* below 0x20: legal as whitespace only */
    uint64_t high;     /* not ASCII */
    bool ends_in_string;
    bool ends_escaped; /* its last byte is a backslash that counts */
} kl__block;

/* Looks at KL__BLOCK_SIZE bytes. False: they must be looked at one by one, as
 * there is a backslash outside of strings, or the machine has no means. */
bool kl__block_read(kl__block *block, const char *bytes, bool in_string,
                    bool is_escaped);

#endif
