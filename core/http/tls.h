/*
 * tls.h - the TLS settings of a connection: CA, client certificate and key,
 * server name. Immutable and reference-counted: when a certificate is rotated,
 * a new kl__tls is made.
 */
#ifndef KL_HTTP_TLS_H
#define KL_HTTP_TLS_H

#include "http/trust.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__tls kl__tls;

/* PEM texts and names, all optional; copied. */
typedef struct kl__tls_options {
    const char *ca;          /* NULL: the CAs of the system */
    const char *cert;        /* client certificate chain */
    const char *key;         /* its private key; wiped from memory when freed */
    const char *server_name; /* the name to verify, instead of the URL's host */
    bool insecure;
} kl__tls_options;

/* The caller gets a reference; NULL when out of memory. Thread-safe. */
kl__tls *kl__tls_new(const kl__tls_options *options);
kl__tls *kl__tls_ref(kl__tls *tls);
void kl__tls_unref(kl__tls *tls); /* NULL is fine */
/* The options it was made with; borrowed. */
const kl__tls_options *kl__tls_get(const kl__tls *tls);
/* The certificates of `ca` that can be read, as PEM; "": none, NULL: there is
 * no `ca`. Borrowed. */
const char *kl__tls_trusted(const kl__tls *tls);
/* The same, to be shared by connections; read by the first call. Borrowed;
 * NULL: there is no `ca`, or it cannot be shared: see kl__trust_of_pem.
 * Thread-safe.
 */
kl__trust *kl__tls_trust(kl__tls *tls);
/* How many certificates of `ca` cannot be read, and are not trusted. */
int kl__tls_left_out(const kl__tls *tls);

#endif
