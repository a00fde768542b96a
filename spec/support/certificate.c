/*
 * certificate.c - see certificate.h. Made with GnuTLS, which the simulator
 * needs anyway.
 */
#include "certificate.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gnutls/gnutls.h>
#include <gnutls/crypto.h>
#include <gnutls/x509.h>

enum { HOUR_S = 3600 };

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "certificate: %s\n", gnutls_strerror(status));
        abort();
    }
}

static char *copy_datum(gnutls_datum_t *datum)
{
    char *text = strndup((const char *)datum->data, datum->size);

    if (text == NULL) {
        abort();
    }
    gnutls_free(datum->data);
    return text;
}

static certificate export_pair(gnutls_x509_crt_t cert,
                               gnutls_x509_privkey_t key)
{
    gnutls_datum_t pem;
    certificate made;

    must(gnutls_x509_crt_export2(cert, GNUTLS_X509_FMT_PEM, &pem));
    made.cert = copy_datum(&pem);
    must(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem));
    made.key = copy_datum(&pem);
    return made;
}

/* Begins a certificate with a new key, a serial number, a name and dates. */
static void begin(gnutls_x509_crt_t *cert, gnutls_x509_privkey_t *key,
                  const char *common_name, time_t from, time_t until)
{
    static unsigned char serial[8] = {1};

    must(gnutls_x509_privkey_init(key));
    must(gnutls_x509_privkey_generate2(
        *key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1),
        0, NULL, 0));
    must(gnutls_x509_crt_init(cert));
    must(gnutls_x509_crt_set_version(*cert, 3));
    must(gnutls_rnd(GNUTLS_RND_NONCE, serial + 1, sizeof(serial) - 1));
    must(gnutls_x509_crt_set_serial(*cert, serial, sizeof(serial)));
    must(gnutls_x509_crt_set_dn_by_oid(*cert, GNUTLS_OID_X520_COMMON_NAME, 0,
                                       common_name,
                                       (unsigned)strlen(common_name)));
    must(gnutls_x509_crt_set_activation_time(*cert, from));
    must(gnutls_x509_crt_set_expiration_time(*cert, until));
    must(gnutls_x509_crt_set_key(*cert, *key));
}

certificate certificate_authority(const char *common_name)
{
    time_t now = time(NULL);
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
    certificate made;

    begin(&cert, &key, common_name, now - HOUR_S, now + 24 * HOUR_S);
    must(gnutls_x509_crt_set_basic_constraints(cert, 1, -1));
    must(gnutls_x509_crt_set_key_usage(cert, GNUTLS_KEY_KEY_CERT_SIGN));
    must(gnutls_x509_crt_sign2(cert, cert, key, GNUTLS_DIG_SHA256, 0));
    made = export_pair(cert, key);
    gnutls_x509_crt_deinit(cert);
    gnutls_x509_privkey_deinit(key);
    return made;
}

static void import_pair(const certificate *from, gnutls_x509_crt_t *cert,
                        gnutls_x509_privkey_t *key)
{
    gnutls_datum_t cert_pem = {(unsigned char *)from->cert,
                               (unsigned)strlen(from->cert)};
    gnutls_datum_t key_pem = {(unsigned char *)from->key,
                              (unsigned)strlen(from->key)};

    must(gnutls_x509_crt_init(cert));
    must(gnutls_x509_crt_import(*cert, &cert_pem, GNUTLS_X509_FMT_PEM));
    must(gnutls_x509_privkey_init(key));
    must(gnutls_x509_privkey_import(*key, &key_pem, GNUTLS_X509_FMT_PEM));
}

static void set_purpose(gnutls_x509_crt_t cert,
                        const certificate_options *options)
{
    struct in_addr address;

    must(gnutls_x509_crt_set_key_purpose_oid(
        cert,
        options->client ? GNUTLS_KP_TLS_WWW_CLIENT : GNUTLS_KP_TLS_WWW_SERVER,
        0));
    if (options->dns != NULL) {
        must(gnutls_x509_crt_set_subject_alt_name(
            cert, GNUTLS_SAN_DNSNAME, options->dns,
            (unsigned)strlen(options->dns), GNUTLS_FSAN_APPEND));
    }
    if (options->ip != NULL) {
        must(inet_pton(AF_INET, options->ip, &address) == 1 ? 0 : -1);
        must(gnutls_x509_crt_set_subject_alt_name(cert, GNUTLS_SAN_IPADDRESS,
                                                  &address, sizeof(address),
                                                  GNUTLS_FSAN_APPEND));
    }
}

certificate certificate_sign(const certificate *authority,
                             const certificate_options *options)
{
    const char *name =
        options->common_name != NULL ? options->common_name : "kubelua test";
    time_t now = time(NULL);
    time_t until = options->expired ? now - HOUR_S : now + 24 * HOUR_S;
    gnutls_x509_privkey_t key, ca_key;
    gnutls_x509_crt_t cert, ca;
    certificate made;

    import_pair(authority, &ca, &ca_key);
    begin(&cert, &key, name, now - 24 * HOUR_S, until);
    must(gnutls_x509_crt_set_basic_constraints(cert, 0, -1));
    set_purpose(cert, options);
    must(gnutls_x509_crt_sign2(cert, ca, ca_key, GNUTLS_DIG_SHA256, 0));
    made = export_pair(cert, key);
    gnutls_x509_crt_deinit(cert);
    gnutls_x509_privkey_deinit(key);
    gnutls_x509_crt_deinit(ca);
    gnutls_x509_privkey_deinit(ca_key);
    return made;
}

char *certificate_locked_key(const certificate *of, const char *passphrase)
{
    gnutls_x509_crt_t cert;
    gnutls_x509_privkey_t key;
    gnutls_datum_t pem;

    import_pair(of, &cert, &key);
    must(gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, passphrase,
                                           GNUTLS_PKCS_PBES2_AES_256, &pem));
    gnutls_x509_crt_deinit(cert);
    gnutls_x509_privkey_deinit(key);
    return copy_datum(&pem);
}

void certificate_clear(certificate *made)
{
    free(made->cert);
    free(made->key);
    *made = (certificate){0};
}
