/*
 * checksum.c - see checksum.h. As Fletcher's checksum: in each of four lanes,
 * the sum of the words, and the sum of all these sums, which depends on the
 * order of the words. The sums are mixed at the end.
 */
#include "base/checksum.h"

#include <string.h>

#define FACTOR 0x9e3779b97f4a7c15ULL /* 2^64 / the golden ratio; odd */

/* Two words. Compilers have this type for every machine; where there is SSE2 or
 * NEON, it is one register. */
typedef uint64_t pair __attribute__((vector_size(16)));

static uint64_t mix_pair(uint64_t hash, pair words)
{
    for (int i = 0; i < 2; i++) {
        hash = (hash ^ words[i]) * FACTOR;
        hash ^= hash >> 32;
    }
    return hash;
}

uint32_t kl__checksum(const char *bytes, size_t length)
{
    pair first = {length}, second = {0}; /* sums of words */
    pair first_order = {0}, second_order = {0};
    pair words[2];
    uint64_t hash;

    for (; length >= sizeof(words); length -= sizeof(words)) {
        memcpy(words, bytes, sizeof(words));
        bytes += sizeof(words);
        first += words[0];
        second += words[1];
        first_order += first;
        second_order += second;
    }
    memset(words, 0, sizeof(words));
    memcpy(words, bytes, length);
    first += words[0];
    second += words[1];
    first_order += first;
    second_order += second;
    hash = mix_pair(mix_pair(0, first), second);
    hash = mix_pair(mix_pair(hash, first_order), second_order);
    return (uint32_t)(hash >> 32);
}
