/*
 * random.h - numbers that differ from process to process: seeds for what
 * spreads clients in time. Not for secrets.
 */
#ifndef KL_BASE_RANDOM_H
#define KL_BASE_RANDOM_H

#include <stdint.h>

/* Never blocks: early in a machine's life it is made of `address`, which
 * differs as far as addresses do. Thread-safe. */
uint64_t kl__random_seed(const void *address);

#endif
