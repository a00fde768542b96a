/*
 * text_hash.c - see text_hash.h.
 */
#include "base/text_hash.h"

#include "base/random.h"

#include <endian.h>
#include <string.h>

typedef struct siphash_state {
    uint64_t a, b, c, d;
} siphash_state;

static uint64_t process_key[2];

__attribute__((constructor)) static void choose_process_key(void)
{
    process_key[0] = kl__random_seed(&process_key[0]);
    process_key[1] = kl__random_seed(&process_key[1]);
}

static inline uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void mix(siphash_state *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = rotate(s->b, 13) ^ s->a;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a = rotate(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = rotate(s->b, 17) ^ s->c;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c = rotate(s->c, 32);
}

static inline void mix_word(siphash_state *s, uint64_t word)
{
    s->d ^= word;
    mix(s);
    s->a ^= word;
}

uint64_t kl__siphash(const uint64_t key[2], const char *text, size_t length)
{
    siphash_state s = {
        key[0] ^ 0x736f6d6570736575ULL, key[1] ^ 0x646f72616e646f6dULL,
        key[0] ^ 0x6c7967656e657261ULL, key[1] ^ 0x7465646279746573ULL};
    const char *end = text + length / 8 * 8;
    uint64_t word;

    for (; text < end; text += sizeof(word)) {
        memcpy(&word, text, sizeof(word));
        mix_word(&s, le64toh(word));
    }
    word = 0;
    memcpy(&word, text, length % 8);
    mix_word(&s, le64toh(word) | (uint64_t)length << 56);
    s.c ^= 0xff;
    mix(&s);
    mix(&s);
    mix(&s);
    return s.a ^ s.b ^ s.c ^ s.d;
}

uint32_t kl__hash(const char *text, size_t length)
{
    return (uint32_t)kl__siphash(process_key, text, length);
}
