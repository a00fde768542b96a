/*
 * sim_certified.c - see sim_certified.h. libmicrohttpd gives the TLS session;
 * GnuTLS reads the certificate.
 */
#include "sim/core/http/sim_certified.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

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
