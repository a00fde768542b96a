/*
 * pair.c - see pair.h. The command openssl of Debian 12 makes certificates of a
 * day at least.
 */
#include "pair.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <gnutls/crypto.h>
#include <gnutls/x509.h>

static int make(gnutls_x509_crt_t cert, gnutls_x509_privkey_t key,
                const char *name, long seconds)
{
    unsigned char serial[8] = {1};
    time_t now = time(NULL);
    int status = gnutls_x509_privkey_generate2(
        key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
        0, NULL, 0);

    if (status >= 0) {
        status = gnutls_rnd(GNUTLS_RND_NONCE, serial + 1, sizeof(serial) - 1);
    }
    if (status >= 0) {
        gnutls_x509_crt_set_version(cert, 3);
        gnutls_x509_crt_set_serial(cert, serial, sizeof(serial));
        gnutls_x509_crt_set_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0,
                                      name, (unsigned)strlen(name));
        gnutls_x509_crt_set_activation_time(cert, now - 3600);
        gnutls_x509_crt_set_expiration_time(cert, now + seconds);
        gnutls_x509_crt_set_key(cert, key);
        status = gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0);
    }
    return status;
}

int pair_print(const char *name, long seconds)
{
    gnutls_x509_crt_t cert;
    gnutls_x509_privkey_t key;
    gnutls_datum_t text;
    int status;

    if (gnutls_x509_crt_init(&cert) < 0 || gnutls_x509_privkey_init(&key) < 0) {
        return 1;
    }
    status = make(cert, key, name, seconds);
    if (status >= 0) {
        status = gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &text);
    }
    if (status >= 0) {
        printf("%s", text.data);
        gnutls_free(text.data);
        status = gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &text);
    }
    if (status >= 0) {
        printf("%s", text.data);
        gnutls_free(text.data);
    } else {
        fprintf(stderr, "%s\n", gnutls_strerror(status));
    }
    gnutls_x509_crt_deinit(cert);
    gnutls_x509_privkey_deinit(key);
    return status >= 0 ? 0 : 1;
}
