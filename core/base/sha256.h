/*
 * sha256.h - SHA-256 (FIPS 180-4). It is used for names that are a digest of
 * the content they stand for.
 */
#ifndef KL_BASE_SHA256_H
#define KL_BASE_SHA256_H

#include <stddef.h>

enum { KL__SHA256_SIZE = 32 };

/* The digest of the bytes. */
void kl__sha256(const void *bytes, size_t length,
                unsigned char digest[KL__SHA256_SIZE]);

#endif
