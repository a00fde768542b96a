/*
 * entry.c - libFuzzer's entry into one target: built once for each, with
 * FUZZ_TARGET its function and FUZZ_MUTATOR where its inputs are documents.
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

/* Every other time bytes, as libFuzzer would; else whole values and lines. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t length, size_t capacity,
                               unsigned seed)
{
    if (seed % 2 == 0 || length == 0) {
        return LLVMFuzzerMutate(bytes, length, capacity);
    }
    return fuzz_mutate((char *)bytes, length, capacity, seed / 2);
}
