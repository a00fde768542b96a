/*
 * sim_tls.c - see sim_tls.h. GnuTLS makes the certificates, and reads those of
 * clients: libmicrohttpd needs it anyway, and gives its session.
 */
#include "sim/core/http/sim_tls.h"

#include "base/mem.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    HOUR = 3600,
    DAYS = 365 * 24 * HOUR,
    SERIAL_SIZE = 16,
    CERTIFICATE_VERSION = 3
};

/* A key and its certificate. */
typedef struct signer {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t cert;
} signer;

static void clear_signer(signer *identity)
{
    if (identity->cert != NULL) {
        gnutls_x509_crt_deinit(identity->cert);
    }
    if (identity->key != NULL) {
        gnutls_x509_privkey_deinit(identity->key);
    }
}

/* Makes a key, and a certificate with names and dates that is not signed yet.
 * Returns a GnuTLS status. */
static int begin_certificate(signer *identity, const char *common_name)
{
    unsigned char serial[SERIAL_SIZE];
    time_t now = time(NULL);
    int status = gnutls_x509_privkey_init(&identity->key);

    if (status == 0) {
        status = gnutls_x509_privkey_generate(
            identity->key, GNUTLS_PK_ECDSA,
            GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    }
    if (status == 0) {
        status = gnutls_x509_crt_init(&identity->cert);
    }
    if (status != 0) {
        return status;
    }
    if (getrandom(serial, sizeof(serial), 0) != (ssize_t)sizeof(serial)) {
        return GNUTLS_E_RANDOM_FAILED;
    }
    serial[0] &= 0x7f; /* serial numbers are positive and not 0 */
    serial[0] |= 0x40;
    status = gnutls_x509_crt_set_version(identity->cert, CERTIFICATE_VERSION);
    if (status == 0) {
        status =
            gnutls_x509_crt_set_serial(identity->cert, serial, sizeof(serial));
    }
    if (status == 0) {
        status =
            gnutls_x509_crt_set_activation_time(identity->cert, now - HOUR);
    }
    if (status == 0) {
        status =
            gnutls_x509_crt_set_expiration_time(identity->cert, now + DAYS);
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_dn_by_oid(
            identity->cert, GNUTLS_OID_X520_COMMON_NAME, 0, common_name,
            (unsigned)strlen(common_name));
    }
    return status != 0 ? status
                       : gnutls_x509_crt_set_key(identity->cert, identity->key);
}

static int sign_certificate(signer *identity, const signer *issuer)
{
    return gnutls_x509_crt_sign2(identity->cert, issuer->cert, issuer->key,
                                 GNUTLS_DIG_SHA256, 0);
}

static int make_authority(signer *ca)
{
    int status = begin_certificate(ca, "kubelua-sim-ca");

    if (status == 0) {
        status = gnutls_x509_crt_set_basic_constraints(ca->cert, 1, 0);
    }
    if (status == 0) {
        status =
            gnutls_x509_crt_set_key_usage(ca->cert, GNUTLS_KEY_KEY_CERT_SIGN);
    }
    return status == 0 ? sign_certificate(ca, ca) : status;
}

static int add_name(gnutls_x509_crt_t cert, const char *address)
{
    unsigned char ip[16];
    unsigned size = 0;

    if (inet_pton(AF_INET, address, ip) == 1) {
        size = 4;
    } else if (inet_pton(AF_INET6, address, ip) == 1) {
        size = 16;
    }
    return size != 0
               ? gnutls_x509_crt_set_subject_alt_name(
                     cert, GNUTLS_SAN_IPADDRESS, ip, size, GNUTLS_FSAN_APPEND)
               : gnutls_x509_crt_set_subject_alt_name(
                     cert, GNUTLS_SAN_DNSNAME, address,
                     (unsigned)strlen(address), GNUTLS_FSAN_APPEND);
}

static int make_server(signer *server, const signer *ca, const char *address,
                       int64_t seconds)
{
    int status = begin_certificate(server, "kubelua-sim");

    if (status == 0) {
        status = add_name(server->cert, address);
    }
    if (status == 0) {
        status = add_name(server->cert, "localhost");
    }
    /* Clients reach a server that listens on every address at the loopback
     * address too. */
    if (status == 0 &&
        (strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0)) {
        status = add_name(server->cert, "127.0.0.1");
        status = status == 0 ? add_name(server->cert, "::1") : status;
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_key_usage(server->cert,
                                               GNUTLS_KEY_DIGITAL_SIGNATURE);
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_key_purpose_oid(
            server->cert, GNUTLS_KP_TLS_WWW_SERVER, 0);
    }
    if (status == 0 && seconds != 0) {
        time_t end = time(NULL) + (time_t)seconds;

        gnutls_x509_crt_set_activation_time(server->cert, end - DAYS);
        status = gnutls_x509_crt_set_expiration_time(server->cert, end);
    }
    return status == 0 ? sign_certificate(server, ca) : status;
}

/* Copies a text that GnuTLS has exported, and frees GnuTLS's memory of it. */
static char *take_pem(gnutls_datum_t *pem)
{
    char *text = kl__strndup((const char *)pem->data, pem->size);

    kl__wipe(pem->data, pem->size);
    gnutls_free(pem->data);
    pem->data = NULL;
    return text;
}

static int export_all(kl__sim_tls *tls, const signer *ca, const signer *server)
{
    gnutls_datum_t pem;
    int status = gnutls_x509_crt_export2(ca->cert, GNUTLS_X509_FMT_PEM, &pem);

    if (status == 0) {
        tls->ca = take_pem(&pem);
        status =
            gnutls_x509_crt_export2(server->cert, GNUTLS_X509_FMT_PEM, &pem);
    }
    if (status == 0) {
        tls->cert = take_pem(&pem);
        status =
            gnutls_x509_privkey_export2(server->key, GNUTLS_X509_FMT_PEM, &pem);
    }
    if (status == 0) {
        tls->key = take_pem(&pem);
        status =
            gnutls_x509_privkey_export2(ca->key, GNUTLS_X509_FMT_PEM, &pem);
    }
    if (status == 0) {
        tls->ca_key = take_pem(&pem);
    }
    if (status == 0 && (tls->ca == NULL || tls->cert == NULL ||
                        tls->key == NULL || tls->ca_key == NULL)) {
        status = GNUTLS_E_MEMORY_ERROR;
    }
    return status;
}

kl_code kl__sim_tls_make(kl__sim_tls *tls, const char *address, kl_error *err)
{
    signer ca = {NULL, NULL}, server = {NULL, NULL};
    int status = make_authority(&ca);

    memset(tls, 0, sizeof(*tls));
    if (status == 0) {
        status = make_server(&server, &ca, address, 0);
    }
    if (status == 0) {
        status = export_all(tls, &ca, &server);
    }
    clear_signer(&server);
    clear_signer(&ca);
    if (status == 0) {
        return KL_OK;
    }
    kl__sim_tls_clear(tls);
    return status == GNUTLS_E_MEMORY_ERROR
               ? kl_error_set(err, KL_ENOMEM, "out of memory for TLS")
               : kl_error_set(err, KL_ETLS,
                              "simulator: cannot make a certificate for %s: %s",
                              address, gnutls_strerror(status));
}

static void wipe_key(char *key)
{
    if (key != NULL) {
        kl__wipe(key, strlen(key));
        kl__free(key);
    }
}

void kl__sim_tls_clear(kl__sim_tls *tls)
{
    wipe_key(tls->key);
    wipe_key(tls->ca_key);
    kl__free(tls->ca);
    kl__free(tls->cert);
    memset(tls, 0, sizeof(*tls));
}

/* --- Certificates of users. ----------------------------------------------- */

void kl__sim_pair_clear(kl__sim_pair *pair)
{
    wipe_key(pair->key);
    kl__free(pair->cert);
    memset(pair, 0, sizeof(*pair));
}

static gnutls_datum_t datum_of_pem(const char *pem)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)pem,
                            (unsigned)strlen(pem)};
}

static int load_authority(signer *ca, const kl__sim_tls *tls)
{
    const gnutls_datum_t cert = datum_of_pem(tls->ca),
                         key = datum_of_pem(tls->ca_key);
    int status = gnutls_x509_privkey_init(&ca->key);

    if (status == 0) {
        status = gnutls_x509_privkey_import(ca->key, &key, GNUTLS_X509_FMT_PEM);
    }
    if (status == 0) {
        status = gnutls_x509_crt_init(&ca->cert);
    }
    return status == 0
               ? gnutls_x509_crt_import(ca->cert, &cert, GNUTLS_X509_FMT_PEM)
               : status;
}

kl_code kl__sim_tls_renew(kl__sim_tls *tls, const char *address,
                          int64_t seconds, kl_error *err)
{
    signer ca = {NULL, NULL}, server = {NULL, NULL};
    kl__sim_tls fresh = {NULL, NULL, NULL, NULL};
    int status = load_authority(&ca, tls);

    if (status == 0) {
        status = make_server(&server, &ca, address, seconds);
    }
    if (status == 0) {
        status = export_all(&fresh, &ca, &server);
    }
    clear_signer(&server);
    clear_signer(&ca);
    if (status == 0) {
        kl__sim_tls_clear(tls);
        *tls = fresh;
        return KL_OK;
    }
    kl__sim_tls_clear(&fresh);
    return status == GNUTLS_E_MEMORY_ERROR
               ? kl_error_set(err, KL_ENOMEM, "out of memory for TLS")
               : kl_error_set(err, KL_ETLS,
                              "simulator: cannot make a certificate for %s: %s",
                              address, gnutls_strerror(status));
}

static int add_groups(gnutls_x509_crt_t cert, const char *groups)
{
    int status = 0;

    while (status == 0 && *groups != '\0') {
        size_t length = strcspn(groups, ",");

        if (length != 0) {
            status = gnutls_x509_crt_set_dn_by_oid(
                cert, GNUTLS_OID_X520_ORGANIZATION_NAME, 0, groups,
                (unsigned)length);
        }
        groups += length;
        groups += *groups == ',';
    }
    return status;
}

static int make_user(signer *user, const signer *ca, const char *name,
                     const char *groups)
{
    int status = begin_certificate(user, name);

    if (status == 0) {
        status = add_groups(user->cert, groups);
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_key_usage(user->cert,
                                               GNUTLS_KEY_DIGITAL_SIGNATURE);
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_key_purpose_oid(
            user->cert, GNUTLS_KP_TLS_WWW_CLIENT, 0);
    }
    return status == 0 ? sign_certificate(user, ca) : status;
}

static int export_pair(kl__sim_pair *pair, const signer *user)
{
    gnutls_datum_t pem;
    int status = gnutls_x509_crt_export2(user->cert, GNUTLS_X509_FMT_PEM, &pem);

    if (status == 0) {
        pair->cert = take_pem(&pem);
        status =
            gnutls_x509_privkey_export2(user->key, GNUTLS_X509_FMT_PEM, &pem);
    }
    if (status == 0) {
        pair->key = take_pem(&pem);
    }
    return status == 0 && (pair->cert == NULL || pair->key == NULL)
               ? GNUTLS_E_MEMORY_ERROR
               : status;
}

kl_code kl__sim_tls_issue(const kl__sim_tls *tls, const char *name,
                          const char *groups, kl__sim_pair *pair, kl_error *err)
{
    signer ca = {NULL, NULL}, user = {NULL, NULL};
    int status = load_authority(&ca, tls);

    memset(pair, 0, sizeof(*pair));
    if (status == 0) {
        status = make_user(&user, &ca, name, groups);
    }
    if (status == 0) {
        status = export_pair(pair, &user);
    }
    clear_signer(&user);
    clear_signer(&ca);
    if (status == 0) {
        return KL_OK;
    }
    kl__sim_pair_clear(pair);
    return status == GNUTLS_E_MEMORY_ERROR
               ? kl_error_set(err, KL_ENOMEM, "out of memory for TLS")
               : kl_error_set(err, KL_ETLS,
                              "simulator: cannot make a certificate for the "
                              "user \"%s\": %s",
                              name, gnutls_strerror(status));
}

/* ---- the certificate of a client ---- */

enum { MAX_NAME = 256, MAX_GROUPS = 64 };

/* Appends the n-th value of an attribute of the subject as a line. False: there
 * is none, or it has a control character. */
static bool put_attribute(gnutls_x509_crt_t cert, const char *oid, unsigned n,
                          kl__buf *out)
{
    char value[MAX_NAME + 1];
    size_t size = sizeof(value);

    if (gnutls_x509_crt_get_dn_by_oid(cert, oid, n, 0, value, &size) != 0) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)value[i] < ' ') {
            return false; /* a line feed would forge a group */
        }
    }
    kl__buf_append(out, value, size);
    kl__buf_putc(out, '\n');
    return true;
}

/* Takes the certificate that the client has sent; the caller owns *cert. False:
 * there is none, or its signature is not valid. */
static bool take_certificate(gnutls_session_t session, gnutls_x509_crt_t *cert)
{
    const gnutls_datum_t *shown;
    unsigned count = 0, problems = 1;

    shown = gnutls_certificate_get_peers(session, &count);
    if (shown == NULL || count == 0 ||
        gnutls_certificate_verify_peers2(session, &problems) != 0 ||
        problems != 0 || gnutls_x509_crt_init(cert) != 0) {
        return false;
    }
    if (gnutls_x509_crt_import(*cert, &shown[0], GNUTLS_X509_FMT_DER) != 0) {
        gnutls_x509_crt_deinit(*cert);
        return false;
    }
    return true;
}

void kl__sim_certified(struct MHD_Connection *connection, kl__buf *out)
{
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    gnutls_x509_crt_t cert;

    if (about == NULL || !take_certificate(about->tls_session, &cert)) {
        return;
    }
    if (put_attribute(cert, GNUTLS_OID_X520_COMMON_NAME, 0, out)) {
        for (unsigned n = 0; n < MAX_GROUPS; n++) {
            if (!put_attribute(cert, GNUTLS_OID_X520_ORGANIZATION_NAME, n,
                               out)) {
                break;
            }
        }
    }
    gnutls_x509_crt_deinit(cert);
}
