/*
 * pair.h - makes a certificate that lives for seconds.
 */
#ifndef CHAOS_PAIR_H
#define CHAOS_PAIR_H

/* Writes FOLDER/crt.pem and FOLDER/key.pem: a certificate of this name that
 * ends in `seconds` (below 0: has ended). Returns an exit status. */
int pair_write(const char *folder, const char *name, long seconds);

#endif
