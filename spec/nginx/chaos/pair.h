/*
 * pair.h - makes a certificate that lives for seconds.
 */
#ifndef CHAOS_PAIR_H
#define CHAOS_PAIR_H

/* Prints a certificate of this name, which ends in `seconds` (below 0: has
 * ended), and its key, as PEM. Returns an exit status. */
int pair_print(const char *name, long seconds);

#endif
