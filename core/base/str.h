/*
 * str.h - the few string calls that allocate.
 */
#ifndef KL_BASE_STR_H
#define KL_BASE_STR_H

#include "base/for_sim.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Copies, owned by the caller (kl__free); NULL when out of memory. A NULL text
 * gives NULL as well: use only where NULL means absent. */
KL__FOR_SIM char *kl__strdup(const char *text);
KL__FOR_SIM char *kl__strndup(const char *text, size_t length);

/* A formatted string, owned by the caller; NULL when out of memory. */
KL__FOR_SIM char *kl__strprintf(const char *format, ...) KL_PRINTF(1, 2);

/* Puts three texts one after the other into `size` bytes, for names that are
 * looked up all the time. False: they do not fit. */
KL__FOR_SIM bool kl__strjoin(char *to, size_t size, const char *const parts[3]);

/* Equality where NULL equals NULL alone. */
KL__FOR_SIM bool kl__streq(const char *a, const char *b);

/* Whether a name is one of those. */
KL__FOR_SIM bool kl__stramong(const char *const *names, size_t count,
                              const char *name);

/* Overwrites secrets so that the compiler cannot drop it. */
KL__FOR_SIM void kl__wipe(void *bytes, size_t length);

#endif
