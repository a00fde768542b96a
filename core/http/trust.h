/*
 * trust.h - the authorities (CAs) that connections trust, read once and shared:
 * libcurl alone reads them again for each connection, which takes it 0.2 ms for
 * one CA, and 40 ms for those of the system. Only where libcurl's TLS is the
 * OpenSSL that KubeLua is linked with; elsewhere all functions return NULL, and
 * libcurl reads the CAs.
 */
#ifndef KL_HTTP_TRUST_H
#define KL_HTTP_TRUST_H

#include <stdbool.h>

/* Immutable and reference-counted. */
typedef struct kl__trust kl__trust;

/*
 * The CAs of a PEM text. NULL: they cannot be shared, or the text has none, or
 * no memory is left: give libcurl the text, which also knows the message.
 * Thread-safe.
 */
kl__trust *kl__trust_of_pem(const char *pem);

/*
 * The CAs of the system: those in a file, and those in a folder as `openssl
 * rehash` makes it; either may be NULL. All callers with the same paths get the
 * same object until the file or the folder changes, or was read five minutes
 * ago. NULL as above. The caller gets a reference. Thread-safe.
 */
kl__trust *kl__trust_of_system(const char *file, const char *folder);

kl__trust *kl__trust_ref(kl__trust *trust);
void kl__trust_unref(kl__trust *trust); /* NULL is fine */

/* A path below which no file can be, another one for other CAs. libcurl gets it
 * as its folder of CAs, as it compares settings: otherwise it would use a
 * connection, or a TLS session, that was made while other CAs were trusted. */
const char *kl__trust_path(const kl__trust *trust);

/* Makes a context of OpenSSL (SSL_CTX) trust these CAs and no others. False: no
 * memory is left. */
bool kl__trust_apply(const kl__trust *trust, void *ssl_context);

#endif
