/*
 * certificate.h - certificates made for a test, in memory: an authority, and
 * what it signs.
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
    const char *dns;         /* a name that it is for; NULL: none */
    const char *ip;          /* an IPv4 address that it is for; NULL: none */
    bool expired;            /* since an hour */
    bool client;             /* to prove who a client is, not a server */
} certificate_options;

/* An authority. Valid for a day, like all. Aborts when GnuTLS fails. */
certificate certificate_authority(const char *common_name);
/* One signed by `authority`. */
certificate certificate_sign(const certificate *authority,
                             const certificate_options *options);
void certificate_clear(certificate *made);

#endif
