/*
 * sim_tls_spec.c - the certificates of a cluster: names, dates, and their one
 * authority.
 */
#include "spec_case.h"
#include "sim/core/http/sim_tls.h"

#include "failing_alloc.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <time.h>

enum { HOUR = 3600, YEAR = 365 * 24 * HOUR };

static gnutls_x509_crt_t read_pem(const char *pem)
{
    const gnutls_datum_t text = {(unsigned char *)(uintptr_t)pem,
                                 (unsigned)strlen(pem)};
    gnutls_x509_crt_t cert;

    assert_int_equal(gnutls_x509_crt_init(&cert), 0);
    assert_int_equal(gnutls_x509_crt_import(cert, &text, GNUTLS_X509_FMT_PEM),
                     0);
    return cert;
}

/* What is wrong with a certificate for a host today; 0: nothing. */
static unsigned judge(const kl__sim_tls *tls, const char *pem, const char *host)
{
    gnutls_x509_crt_t ca = read_pem(tls->ca), cert = read_pem(pem);
    unsigned problems = 0;

    assert_int_equal(gnutls_x509_crt_verify(cert, &ca, 1, 0, &problems), 0);
    if (host != NULL && gnutls_x509_crt_check_hostname(cert, host) == 0) {
        problems |= GNUTLS_CERT_UNEXPECTED_OWNER;
    }
    gnutls_x509_crt_deinit(cert);
    gnutls_x509_crt_deinit(ca);
    return problems;
}

/* When it ends, from `since` on. */
static int64_t lasts(const char *pem, time_t since)
{
    gnutls_x509_crt_t cert = read_pem(pem);
    const time_t end = gnutls_x509_crt_get_expiration_time(cert);
    const time_t begin = gnutls_x509_crt_get_activation_time(cert);

    gnutls_x509_crt_deinit(cert);
    assert_true(begin < end);
    return (int64_t)(end - since);
}

static void expect_about(int64_t seconds, int64_t wanted)
{
    assert_true(seconds >= wanted && seconds <= wanted + 5);
}

PLAIN_CASE(a_server_is_known_by_its_address_and_as_localhost)
{
    const time_t now = time(NULL);
    kl__sim_tls tls;

    assert_int_equal(kl__sim_tls_make(&tls, "127.0.0.1", NULL), KL_OK);
    assert_int_equal(judge(&tls, tls.cert, "127.0.0.1"), 0);
    assert_int_equal(judge(&tls, tls.cert, "localhost"), 0);
    assert_int_not_equal(judge(&tls, tls.cert, "127.0.0.2"), 0);
    assert_int_not_equal(judge(&tls, tls.cert, "elsewhere.example.com"), 0);
    expect_about(lasts(tls.cert, now), YEAR);
    kl__sim_tls_clear(&tls);
    assert_null(tls.key);
    assert_int_equal(kl__sim_tls_make(&tls, "::1", NULL), KL_OK);
    assert_int_equal(judge(&tls, tls.cert, "::1"), 0);
    kl__sim_tls_clear(&tls);
    assert_int_equal(kl__sim_tls_make(&tls, "sim.example.com", NULL), KL_OK);
    assert_int_equal(judge(&tls, tls.cert, "sim.example.com"), 0);
    kl__sim_tls_clear(&tls);
}

PLAIN_CASE(a_renewed_certificate_has_the_same_authority)
{
    const time_t now = time(NULL);
    kl__sim_tls tls;
    char ca[4096], key[4096];

    assert_int_equal(kl__sim_tls_make(&tls, "127.0.0.1", NULL), KL_OK);
    assert_true(strlen(tls.ca) < sizeof(ca) && strlen(tls.key) < sizeof(key));
    strcpy(ca, tls.ca);
    strcpy(key, tls.key);
    assert_int_equal(kl__sim_tls_renew(&tls, "127.0.0.1", 3, NULL), KL_OK);
    assert_string_equal(tls.ca, ca);
    assert_string_not_equal(tls.key, key);
    expect_about(lasts(tls.cert, now), 3);
    assert_int_equal(judge(&tls, tls.cert, "127.0.0.1"), 0);
    assert_int_equal(kl__sim_tls_renew(&tls, "127.0.0.1", 0, NULL), KL_OK);
    expect_about(lasts(tls.cert, now), YEAR);
    kl__sim_tls_clear(&tls);
}

PLAIN_CASE(an_expired_certificate_is_otherwise_valid)
{
    const time_t now = time(NULL);
    kl__sim_tls tls;

    assert_int_equal(kl__sim_tls_make(&tls, "127.0.0.1", NULL), KL_OK);
    assert_int_equal(kl__sim_tls_renew(&tls, "127.0.0.1", -60, NULL), KL_OK);
    expect_about(lasts(tls.cert, now), -60);
    assert_int_equal(judge(&tls, tls.cert, "127.0.0.1"),
                     GNUTLS_CERT_INVALID | GNUTLS_CERT_EXPIRED);
    kl__sim_tls_clear(&tls);
}

/* The n-th value of an attribute of its subject; "" if there are fewer. */
static const char *subject(const char *pem, const char *oid, unsigned n)
{
    static char value[256];
    gnutls_x509_crt_t cert = read_pem(pem);
    size_t size = sizeof(value);

    *value = '\0';
    (void)gnutls_x509_crt_get_dn_by_oid(cert, oid, n, 0, value, &size);
    gnutls_x509_crt_deinit(cert);
    return value;
}

PLAIN_CASE(a_user_is_named_with_its_groups)
{
    kl__sim_tls tls;
    kl__sim_pair pair;

    assert_int_equal(kl__sim_tls_make(&tls, "127.0.0.1", NULL), KL_OK);
    assert_int_equal(kl__sim_tls_issue(&tls, "jane", "a,,b", &pair, NULL),
                     KL_OK);
    assert_int_equal(judge(&tls, pair.cert, NULL), 0);
    assert_string_equal(subject(pair.cert, GNUTLS_OID_X520_COMMON_NAME, 0),
                        "jane");
    assert_string_equal(
        subject(pair.cert, GNUTLS_OID_X520_ORGANIZATION_NAME, 0), "a");
    assert_string_equal(
        subject(pair.cert, GNUTLS_OID_X520_ORGANIZATION_NAME, 1), "b");
    assert_string_equal(
        subject(pair.cert, GNUTLS_OID_X520_ORGANIZATION_NAME, 2), "");
    kl__sim_pair_clear(&pair);
    assert_null(pair.cert);
    kl__sim_tls_clear(&tls);
}

static kl_code make_all(void *context)
{
    kl__sim_tls tls;
    kl__sim_pair pair;
    kl_error err = {0};
    kl_code code = kl__sim_tls_make(&tls, "127.0.0.1", &err);

    (void)context;
    if (code == KL_OK) {
        code = kl__sim_tls_renew(&tls, "127.0.0.1", -1, &err);
        assert_non_null(tls.cert); /* the old one, if there is no other */
    }
    if (code == KL_OK) {
        code = kl__sim_tls_issue(&tls, "jane", "a", &pair, &err);
        if (code == KL_OK) {
            kl__sim_pair_clear(&pair);
        }
        assert_null(pair.cert);
    }
    kl__sim_tls_clear(&tls);
    return code;
}

PLAIN_CASE(certificates_can_run_out_of_memory)
{
    assert_true(failing_alloc_each(make_all, NULL) >= 10);
}
