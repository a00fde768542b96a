/*
 * sim_tls.h - a certificate authority and a server certificate, made for one
 * run and never written to disk.
 */
#ifndef KL_SIM_TLS_H
#define KL_SIM_TLS_H

#include "kubelua/error.h"

/* PEM texts, owned. */
typedef struct kl__sim_tls {
    char *ca;
    char *cert;
    char *key;
} kl__sim_tls;

/* Makes both (ECDSA P-256), valid for the IP address or host name `address` and
 * for localhost. KL_ETLS, KL_ENOMEM. */
kl_code kl__sim_tls_make(kl__sim_tls *tls, const char *address, kl_error *err);
/* Wipes the key. */
void kl__sim_tls_clear(kl__sim_tls *tls);

#endif
