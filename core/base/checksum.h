/*
 * checksum.h - a checksum that notices damage in memory. It is made for speed:
 * 0.13 us for 4 KB, where XXH64 takes 0.4. It does not protect against bytes
 * that were chosen to have the same checksum.
 */
#ifndef KL_BASE_CHECKSUM_H
#define KL_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of the bytes. Valid in this process only: it depends on the
 * machine's byte order. */
uint32_t kl__checksum(const char *bytes, size_t length);

#endif
