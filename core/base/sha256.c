/*
 * sha256.c - see sha256.h. The variables have the names of FIPS 180-4, section
 * 6.2.
 */
#include "base/sha256.h"

#include <stdint.h>
#include <string.h>

enum { BLOCK = 64 };

/* Section 4.2.2: from the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t word, int by)
{
    return word >> by | word << (32 - by);
}

/* Computes the words of the message schedule. */
static void expand_schedule(uint32_t w[64], const unsigned char block[BLOCK])
{
    for (int t = 0; t < 16; t++) {
        const unsigned char *byte = block + (size_t)t * 4;

        w[t] = (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 |
               (uint32_t)byte[2] << 8 | byte[3];
    }
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotate_right(w[t - 15], 7) ^ rotate_right(w[t - 15], 18) ^
                      w[t - 15] >> 3;
        uint32_t s1 = rotate_right(w[t - 2], 17) ^ rotate_right(w[t - 2], 19) ^
                      w[t - 2] >> 10;

        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
}

static void add_block(uint32_t state[8], const unsigned char block[BLOCK])
{
    uint32_t w[64], v[8]; /* v: the variables a to h */

    expand_schedule(w, block);
    memcpy(v, state, sizeof(v));
    for (int t = 0; t < 64; t++) {
        uint32_t s1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^
                      rotate_right(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + K[t] + w[t];
        uint32_t s0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^
                      rotate_right(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++) {
        state[i] += v[i];
    }
}

void kl__sha256(const void *bytes, size_t length,
                unsigned char digest[KL__SHA256_SIZE])
{
    /* Section 5.3.3: from the square roots of the first 8 primes. */
    uint32_t state[8] = {
        0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
    };
    unsigned char last[2 * BLOCK] = {0};
    size_t whole = length / BLOCK * BLOCK;
    size_t left = length - whole;
    size_t end = left + 9 <= BLOCK ? BLOCK : 2 * BLOCK;

    for (size_t at = 0; at < whole; at += BLOCK) {
        add_block(state, (const unsigned char *)bytes + at);
    }
    if (left > 0) {
        memcpy(last, (const unsigned char *)bytes + whole, left);
    }
    last[left] = 0x80;
    for (int i = 0; i < 8; i++) { /* the length in bits, at the end */
        last[end - 1 - (size_t)i] =
            (unsigned char)((uint64_t)length * 8 >> (8 * i));
    }
    for (size_t at = 0; at < end; at += BLOCK) {
        add_block(state, last + at);
    }
    for (int i = 0; i < KL__SHA256_SIZE; i++) {
        digest[i] = (unsigned char)(state[i / 4] >> (24 - i % 4 * 8));
    }
}
