/*
 * entry.c - libFuzzer's entry into one target. It is built once for each
 * target: FUZZ_TARGET is the target's function; FUZZ_MUTATOR is set if its
 * inputs are documents.
 */
#include "fuzz.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t capacity,
                               unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t length, size_t capacity);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    fuzz_run(FUZZ_TARGET, (const char *)bytes, length);
    return 0;
}

/* Half of the mutations are libFuzzer's own, of bytes; the others move whole
 * values and lines. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t capacity,
                               unsigned seed)
{
    if (seed % 2 == 0 || length == 0) {
        return LLVMFuzzerMutate(bytes, length, capacity);
    }
    return fuzz_mutate((char *)bytes, length, capacity, seed / 2);
}
