/*
 * xorshift.h - random numbers that are the same in each run (Marsaglia's
 * xorshift), for specs that compare something with a model.
 */
#ifndef KL_SPEC_XORSHIFT_H
#define KL_SPEC_XORSHIFT_H

#include <stdint.h>

/* The next number. Not thread-safe; each file that includes this has a sequence
 * of its own. */
static inline uint32_t next_random(void)
{
    static uint32_t state = 2463534242U;

    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

#endif
