/*
 * sim_tls.h - a certificate authority, the server's certificate and those of
 * users: made for one run and never written to disk.
 */
#ifndef KL_HTTP_SIM_TLS_H
#define KL_HTTP_SIM_TLS_H

#include "base/buf.h"
#include "kubelua/error.h"

#include <microhttpd.h>
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

/* Makes an authority and a server's certificate (ECDSA P-256), valid for
 * `address` (an IP address or host name) and for localhost. KL_ETLS,
 * KL_ENOMEM. */
kl_code kl__sim_tls_make(kl__sim_tls *tls, const char *address, kl_error *err);
/* Makes another server's certificate of the same authority: valid for `seconds`
 * (0: a year; negative: it expired so long ago). KL_ETLS, KL_ENOMEM. */
kl_code kl__sim_tls_renew(kl__sim_tls *tls, const char *address,
                          int64_t seconds, kl_error *err);
/* Frees all, and overwrites the keys. */
void kl__sim_tls_clear(kl__sim_tls *tls);

/* Makes a client certificate: CN is the user's name, and each of the groups,
 * separated by commas, is an O (kubernetes.io, "X509 client certificates").
 * KL_ETLS, KL_ENOMEM. */
kl_code kl__sim_tls_issue(const kl__sim_tls *tls, const char *name,
                          const char *groups, kl__sim_pair *pair,
                          kl_error *err);
void kl__sim_pair_clear(kl__sim_pair *pair); /* frees, and overwrites the key */

/* ---- the user and groups that a client certificate names ---- */

/* Appends the user's name and the groups, a line each, if the client has sent a
 * certificate that the listener's certificate authority signed; else appends
 * nothing. When memory runs out, `out` keeps the failure. */
void kl__sim_certified(struct MHD_Connection *connection, kl__buf *out);

#endif
