/*
 * pem.h - reads PEM texts before TLS gets them: finds private keys that have a
 * passphrase, and which certificates of a CA bundle can be read.
 */
#ifndef KL_HTTP_PEM_H
#define KL_HTTP_PEM_H

#include "base/buf.h"

#include <stdbool.h>

/* What messages say after the name of such a key, and the remedy. */
#define KL__PEM_PASSPHRASE                                                  \
    "has a passphrase, which is not supported: decrypt it, as with openssl" \
    " pkey -in KEY -out NEW"

/* True if the text has a private key that only a passphrase opens: PKCS #8, or
 * RFC 1421, section 4.6.1.1. */
bool kl__pem_has_passphrase(const char *text);

/*
 * Appends the certificates of a bundle that can be read, as PEM, and returns
 * how many are left out as broken. Like Go's CertPool.AppendCertsFromPEM, it
 * skips what is no certificate, or has headers. If memory runs
 * out, out->failed is set.
 */
int kl__pem_certificates(const char *text, kl__buf *out);

#endif
