/*
 * credential.h - the certificate of a TLS server and its key. It is replaced
 * while the server runs: a handshake takes the one that is there when it
 * begins, and finishes with it.
 */
#ifndef KUBELUA_SERVE_CREDENTIAL_H
#define KUBELUA_SERVE_CREDENTIAL_H

#include "kubelua/error.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#pragma GCC visibility push(hidden)

typedef struct credential credential;

/* Reads a chain of certificates and the key of its first one, in PEM. NULL:
 * KL_EINVAL (what is wrong with which), KL_ENOMEM. */
credential *credential_new(const char *chain, const char *key, kl_error *err);
void credential_free(credential *self);

/* The credential of the process's one TLS server from now on; takes it. That
 * before stays for the handshakes that have begun, and is freed with the next
 * call after a minute. Thread-safe. */
void credential_use(credential *self);
/* Frees all of them, once the server has ended. */
void credential_clear(void);

/* What GnuTLS asks for each handshake: a function of
 * MHD_OPTION_HTTPS_CERT_CALLBACK. */
gnutls_certificate_retrieve_function2 credential_retrieve;

#pragma GCC visibility pop

#endif
