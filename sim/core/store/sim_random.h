/*
 * sim_random.h - random UIDs and suffixes of generated names.
 */
#ifndef KL_SIM_RANDOM_H
#define KL_SIM_RANDOM_H

#include <stdint.h>

enum { KL__SIM_UID_SIZE = 37, KL__SIM_SUFFIX_SIZE = 6 };

/* Random bits. Thread-safe. */
uint64_t kl__sim_random(void);
/* A random UUID (version 4) in 37 bytes. */
void kl__sim_random_uid(char *uid);
/* Five letters and digits, as generateName appends. */
void kl__sim_random_suffix(char *suffix);

#endif
