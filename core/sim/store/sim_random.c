/*
 * sim_random.c - see sim_random.h.
 */
#include "sim/store/sim_random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

uint64_t kl__sim_random(void)
{
    uint64_t bits;

    if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)) {
        abort(); /* up to 256 bytes cannot fail once the system is up */
    }
    return bits;
}

void kl__sim_random_uid(char *uid)
{
    uint64_t high = kl__sim_random(), low = kl__sim_random();

    snprintf(uid, KL__SIM_UID_SIZE, "%08x-%04x-4%03x-%04x-%012" PRIx64,
             (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
             (unsigned)(high & 0xfff), (unsigned)(low >> 48 & 0x3fff) | 0x8000,
             low & UINT64_C(0xffffffffffff));
}

void kl__sim_random_suffix(char *suffix)
{
    /* Kubernetes leaves out what could make a word. */
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t bits = kl__sim_random();

    for (int i = 0; i < KL__SIM_SUFFIX_SIZE - 1; i++) {
        suffix[i] = letters[bits % (sizeof(letters) - 1)];
        bits /= sizeof(letters) - 1;
    }
    suffix[KL__SIM_SUFFIX_SIZE - 1] = '\0';
}
