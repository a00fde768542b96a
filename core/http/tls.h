/*
 * tls.h - what a connection proves and demands: CA, client certificate, name.
 * Immutable and reference-counted, so that a rotated certificate is a new one.
 */
#ifndef KL_HTTP_TLS_H
#define KL_HTTP_TLS_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__tls kl__tls;

/* PEM texts and names, all optional; copied. */
typedef struct kl__tls_options {
    const char *ca;          /* NULL: the system's */
    const char *cert;        /* client certificate chain */
    const char *key;         /* its private key; wiped from memory when freed */
    const char *server_name; /* to verify instead of the URL's host */
    bool insecure;
} kl__tls_options;

/* One reference for the caller; NULL when out of memory. Thread-safe. */
kl__tls *kl__tls_new(const kl__tls_options *options);
kl__tls *kl__tls_ref(kl__tls *tls);
void kl__tls_unref(kl__tls *tls); /* NULL is fine */
/* The options it was made of; borrowed. */
const kl__tls_options *kl__tls_get(const kl__tls *tls);

#endif
