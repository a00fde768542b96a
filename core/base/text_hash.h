/*
 * text_hash.h - the hash of texts for the tables of this process. Any tenant of
 * the cluster chooses names and labels: the hash has a secret key, so that no
 * tenant can choose many texts with equal hashes, which make tables slow.
 */
#ifndef KL_BASE_TEXT_HASH_H
#define KL_BASE_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* SipHash-1-3 (J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input
 * PRF", 2012; with the rounds that CPython, Ruby and Rust take for tables).
 * Thread-safe. */
uint64_t kl__siphash(const uint64_t key[2], const char *text, size_t length);

/* The hash with the key of this process, which is chosen at random when the
 * library is loaded; a child of fork() has its parent's. Nothing that leaves
 * the process, or that a user sees the order of, may depend on it.
 * Thread-safe. */
uint32_t kl__hash(const char *text, size_t length);

#endif
