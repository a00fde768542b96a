/*
 * str.h - copying, joining and comparing C strings, and wiping secrets.
 */
#ifndef KL_BASE_STR_H
#define KL_BASE_STR_H

#include "base/for_sim.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A copy, owned by the caller (kl__free); NULL when out of memory. A NULL text
 * gives NULL as well; the caller cannot tell that from out of memory. */
KL__FOR_SIM char *kl__strdup(const char *text);
KL__FOR_SIM char *kl__strndup(const char *text, size_t length);

/* A formatted string, owned by the caller; NULL when out of memory. */
KL__FOR_SIM char *kl__strprintf(const char *format, ...) KL_PRINTF(1, 2);

/* Writes three texts one after the other to `to`, which has `size` bytes. It
 * allocates nothing, for keys that are built for each lookup. False: too
 * long. */
KL__FOR_SIM bool kl__strjoin(char *to, size_t size, const char *const parts[3]);

/* True if both are equal or both are NULL. */
KL__FOR_SIM bool kl__streq(const char *a, const char *b);

/* True if `name` is one of `names`. */
bool kl__stramong(const char *const *names, size_t count, const char *name);

/* Overwrites a secret with zeros; the compiler cannot optimise this away. */
KL__FOR_SIM void kl__wipe(void *bytes, size_t length);

#endif
