/*
 * random.h - seeds that differ from process to process, for the jitter of
 * backoff and watch timeouts, and for hashes. Shortly after the boot of the
 * machine they may be guessed.
 */
#ifndef KL_BASE_RANDOM_H
#define KL_BASE_RANDOM_H

#include <stdint.h>

/* Never blocks. Shortly after the machine has booted the kernel may have no
 * random numbers yet; then `address` is the seed (address space randomisation
 * makes it differ). Thread-safe. */
uint64_t kl__random_seed(const void *address);

#endif
