/*
 * sim_random.c - see sim_random.h.
 */
#include "sim/core/store/sim_random.h"

#include <stdlib.h>
#include <sys/random.h>

static void fill_random(void *bytes, size_t size)
{
    if (getrandom(bytes, size, 0) != (ssize_t)size) {
        /* getrandom of up to 256 bytes cannot fail after the system's start */
        abort();
    }
}

uint64_t kl__sim_random(void)
{
    uint64_t bits;

    fill_random(&bits, sizeof(bits));
    return bits;
}

void kl__sim_random_uid(char *uid)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[16];

    fill_random(bytes, sizeof(bytes));
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x40); /* UUID version 4 */
    /* the variant of RFC 9562 */
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *uid++ = '-';
        }
        *uid++ = digits[bytes[i] >> 4];
        *uid++ = digits[bytes[i] & 0x0f];
    }
    *uid = '\0';
}

void kl__sim_random_suffix(char *suffix)
{
    /* Kubernetes leaves out vowels and lookalikes, so that no word is
     * formed. */
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t bits = kl__sim_random();

    for (int i = 0; i < KL__SIM_SUFFIX_SIZE - 1; i++) {
        suffix[i] = letters[bits % (sizeof(letters) - 1)];
        bits /= sizeof(letters) - 1;
    }
    suffix[KL__SIM_SUFFIX_SIZE - 1] = '\0';
}
