/*
 * sim_tls.h - a certificate authority, its server's certificate and those of
 * users, made for one run and never written to disk.
 */
#ifndef KL_SIM_TLS_H
#define KL_SIM_TLS_H

#include "kubelua/error.h"

#include <stdint.h>

/* PEM texts, owned. */
typedef struct kl__sim_tls {
    char *ca;
    char *cert;
    char *key;
    char *ca_key;
} kl__sim_tls;

/* A certificate of a user and its key, PEM texts, owned. */
typedef struct kl__sim_pair {
    char *cert;
    char *key;
} kl__sim_pair;

/* Makes both (ECDSA P-256), valid for the IP address or host name `address` and
 * for localhost. KL_ETLS, KL_ENOMEM. */
kl_code kl__sim_tls_make(kl__sim_tls *tls, const char *address, kl_error *err);
/* Another one of the server, of the same authority: valid for so many seconds
 * (0: a year; less than 0: it expired so long ago). As above. */
kl_code kl__sim_tls_renew(kl__sim_tls *tls, const char *address,
                          int64_t seconds, kl_error *err);
/* Wipes the keys. */
void kl__sim_tls_clear(kl__sim_tls *tls);

/* Makes a certificate for a user: the name is its CN, and each of the groups,
 * separated by commas, an O (Kubernetes, "X509 client certificates"). KL_ETLS,
 * KL_ENOMEM. */
kl_code kl__sim_tls_issue(const kl__sim_tls *tls, const char *name,
                          const char *groups, kl__sim_pair *pair,
                          kl_error *err);
void kl__sim_pair_clear(kl__sim_pair *pair); /* wipes the key */

#endif
