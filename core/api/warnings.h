/*
 * warnings.h - logs a server's Warning headers (mostly about deprecated APIs):
 * each different text once for a client.
 */
#ifndef KL_API_WARNINGS_H
#define KL_API_WARNINGS_H

typedef struct kl__warnings kl__warnings;

/* Owned by the caller; NULL when out of memory. */
kl__warnings *kl__warnings_new(void);
void kl__warnings_free(kl__warnings *warnings); /* NULL is fine */

/* Logs each line ("": none) that was not logged before. Thread-safe. */
void kl__warnings_note(kl__warnings *warnings, const char *lines);

#endif
