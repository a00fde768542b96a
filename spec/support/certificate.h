/*
 * certificate.h - certificates for a test, made in memory: an authority, and
 * certificates that it signs.
 */
#ifndef KL_SPEC_CERTIFICATE_H
#define KL_SPEC_CERTIFICATE_H

#include <stdbool.h>

/* A certificate and its private key, as PEM; owned: certificate_clear. */
typedef struct certificate {
    char *cert;
    char *key;
} certificate;

typedef struct certificate_options {
    const char *common_name; /* NULL: "kubelua test" */
    const char *dns;         /* the DNS name of the host; NULL: none */
    const char *ip;          /* the IPv4 address of the host; NULL: none */
    bool expired;            /* expired an hour ago */
    bool client;             /* for a client, not for a server */
} certificate_options;

/* Makes an authority. Every certificate here is valid for a day. Aborts if
 * GnuTLS fails. */
certificate certificate_authority(const char *common_name);
/* Makes a certificate that `authority` signs. */
certificate certificate_sign(const certificate *authority,
                             const certificate_options *options);
void certificate_clear(certificate *made);

/* The private key of `of` as PEM, encrypted with the passphrase (PKCS #8); the
 * caller frees it. */
char *certificate_locked_key(const certificate *of, const char *passphrase);

#endif
