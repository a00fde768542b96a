/*
 * random.c - see random.h.
 */
#include "base/random.h"

#include <sys/random.h>

uint64_t kl__random_seed(const void *address)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
        seed = (uint64_t)(uintptr_t)address;
    }
    return seed;
}
