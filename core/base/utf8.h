/*
 * utf8.h - finds the characters of a text in UTF-8 (RFC 3629).
 */
#ifndef KL_BASE_UTF8_H
#define KL_BASE_UTF8_H

#include <stddef.h>

/* The number of bytes of the character that begins at `at`, 1 to 4. 0: none
 * begins there, or it does not end within `left` bytes: a surrogate, an
 * overlong form, or no UTF-8 at all. */
size_t kl__utf8_length(const char *at, size_t left);

/* The length of the text without a character at its end that was cut. */
size_t kl__utf8_whole(const char *text, size_t length);

#endif
