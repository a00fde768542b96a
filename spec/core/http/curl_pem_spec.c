/*
 * curl_pem_spec.c - PEM texts that TLS cannot use: keys with a passphrase, CA
 * bundles with broken certificates, rubbish. libcurl is never crashed, and
 * never asks a terminal for a passphrase.
 */
#include "http/der.h"
#include "http/pem.h"
#include "http/transport.h"

#include "hostile_server.h"
#include "http_client.h"
#include "xorshift.h"

#include "base/base64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BEGIN_CERT "-----BEGIN CERTIFICATE-----\n"
#define END_CERT "-----END CERTIFICATE-----\n"

/* A key in the form of RFC 1421; what is in it does not matter. */
#define OLD_FORM                                                 \
    "-----BEGIN RSA PRIVATE KEY-----\n"                          \
    "Proc-Type: 4,ENCRYPTED\n"                                   \
    "DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n" \
    "AAECAwQFBgcICQoLDA0ODw==\n"                                 \
    "-----END RSA PRIVATE KEY-----\n"

static certificate authority, stranger, host, alice;
static char *locked; /* alice's key, with a passphrase */

static int make_certificates(void **state)
{
    (void)state;
    authority = certificate_authority("our authority");
    stranger = certificate_authority("somebody else");
    host =
        certificate_sign(&authority, &(certificate_options){.ip = "127.0.0.1"});
    alice = certificate_sign(
        &authority,
        &(certificate_options){.common_name = "alice", .client = true});
    locked = certificate_locked_key(&alice, "secret");
    return 0;
}

static int clear_certificates(void **state)
{
    (void)state;
    certificate_clear(&authority);
    certificate_clear(&stranger);
    certificate_clear(&host);
    certificate_clear(&alice);
    free(locked);
    return 0;
}

/* A server that asks for a client certificate, and answers each request. */
static int set_up_server(void **state)
{
    const hostile_options options = {.identity = &host,
                                     .client_ca = authority.cert};
    fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->transport = new_transport();
    f->server = hostile_new(&options);
    hostile_always(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    *state = f;
    return 0;
}

static kl_code ask_with(fixture *f, const kl__tls_options *options,
                        kl_error *err)
{
    kl__tls *tls = kl__tls_new(options);
    kl__request request = {.method = "GET",
                           .base_url = hostile_url(f->server),
                           .target = "/",
                           .tls = tls};
    kl__stream *stream = kl__transport_open(f->transport, &request, err);

    assert_non_null(stream);
    kl__tls_unref(tls);
    *err = (kl_error){0};
    return read_to_end(stream, NULL, err);
}

static kl_code ask_with_key(fixture *f, const char *key, kl_error *err)
{
    return ask_with(f,
                    &(kl__tls_options){
                        .ca = authority.cert, .cert = alice.cert, .key = key},
                    err);
}

/* ---- a key with a passphrase ---- */

static void a_key_with_a_passphrase_is_an_error_with_the_remedy(void **state)
{
    const char *const keys[] = {locked, OLD_FORM};
    kl_error err;

    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(ask_with_key(*state, keys[i], &err), KL_ECONFIG);
        assert_non_null(strstr(err.message, "the client key for 127.0.0.1:"));
        assert_non_null(strstr(err.message, "has a passphrase"));
        assert_non_null(strstr(err.message, "openssl pkey"));
    }
    assert_int_equal(ask_with_key(*state, alice.key, &err), KL_OK);
}

/* An encrypted certificate makes OpenSSL ask for a passphrase too. */
static void an_encrypted_certificate_is_an_error(void **state)
{
    static const char encrypted[] =
        BEGIN_CERT "Proc-Type: 4,ENCRYPTED\n"
                   "DEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n"
                   "AAECAwQFBgcICQoLDA0ODw==\n" END_CERT;
    kl_error err;

    assert_int_equal(ask_with(*state,
                              &(kl__tls_options){.ca = authority.cert,
                                                 .cert = encrypted,
                                                 .key = alice.key},
                              &err),
                     KL_ETLS);
    assert_non_null(strstr(err.message, "client-certificate"));
    assert_int_equal(
        ask_with(*state, &(kl__tls_options){.ca = encrypted}, &err), KL_ETLS);
    assert_non_null(strstr(err.message, "certificate-authority"));
}

/* ---- rubbish ---- */

/* Text that libcurl gets as the CA, as the certificate and as the key. */
static void assert_rubbish_is_refused(fixture *f, const char *text)
{
    const kl__tls_options tries[] = {
        {.ca = text, .cert = alice.cert, .key = alice.key},
        {.ca = authority.cert, .cert = text, .key = alice.key},
        {.ca = authority.cert, .cert = alice.cert, .key = text},
        {.ca = authority.cert, .cert = text, .key = text}};

    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        kl_error err;
        kl_code code = ask_with(f, &tries[i], &err);

        if (code != KL_ETLS && code != KL_ECONFIG) {
            print_error("option %d: %d %s\n%s\n", (int)i, code, err.message,
                        text);
        }
        assert_true(code == KL_ETLS || code == KL_ECONFIG);
    }
}

static void rubbish_in_any_pem_option_is_an_error(void **state)
{
    static const char *const texts[] = {
        "",
        "\n",
        "rubbish",
        "-----BEGIN",
        "-----BEGIN CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "-----BEGIN EC PRIVATE KEY-----\nMAA=\n-----END EC PRIVATE KEY-----\n",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n",
        "-----BEGIN X509 CRL-----\nMAA=\n-----END X509 CRL-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----BEGIN CERTIFICATE-----\n",
        "-----BEGIN TRUSTED CERTIFICATE-----\nMAA=\n"
        "-----END TRUSTED CERTIFICATE-----\n",
        "-----BEGIN PUBLIC KEY-----\nMAA=\n-----END PUBLIC KEY-----\n",
        "-----BEGIN ANY PRIVATE KEY-----\nMAA=\n-----END ANY PRIVATE "
        "KEY-----\n",
        "-----BEGIN DH PARAMETERS-----\nMAA=\n-----END DH PARAMETERS-----\n",
        OLD_FORM};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_rubbish_is_refused(*state, texts[i]);
    }
}

/* Changes a byte, cuts the text, or doubles a part. */
static char *damage(const char *text)
{
    size_t length = strlen(text);
    size_t at = next_random() % length;
    char *copy = NULL;

    if (next_random() % 3 == 0) {
        assert_true(asprintf(&copy, "%.*s", (int)at, text) >= 0);
    } else if (next_random() % 2 == 0) {
        assert_true(asprintf(&copy, "%.*s%s", (int)at, text, text + at / 2) >=
                    0);
    } else {
        assert_true(asprintf(&copy, "%s", text) >= 0);
        copy[at] = (char)(1 + next_random() % 255);
    }
    return copy;
}

/* A damaged text may still be good: then there is no error. */
static void damaged_pem_never_crashes(void **state)
{
    enum { TRIES = 150 };
    const char *const whole[] = {authority.cert, alice.cert, alice.key, locked,
                                 OLD_FORM};

    for (int i = 0; i < TRIES; i++) {
        char *text = damage(whole[next_random() % 5]);
        kl__tls_options options = {
            .ca = authority.cert, .cert = alice.cert, .key = alice.key};
        kl_error err;
        kl_code code;

        switch (i % 3) {
        case 0:
            options.ca = text;
            break;
        case 1:
            options.cert = text;
            break;
        default:
            options.key = text;
        }
        code = ask_with(*state, &options, &err);
        assert_true(code == KL_OK || code == KL_ETLS || code == KL_ECONFIG ||
                    code == KL_EUNAVAILABLE);
        free(text);
    }
}

/* ---- a CA bundle with a broken certificate ---- */

static void the_good_certificates_of_a_bundle_count(void **state)
{
    static const char *const broken[] = {
        BEGIN_CERT "bm8gY2VydGlmaWNhdGU=\n" END_CERT,
        BEGIN_CERT "%%%\n" END_CERT, BEGIN_CERT, BEGIN_CERT END_CERT,
        BEGIN_CERT "MIIBCjCBsaADAgEC\n" END_CERT};

    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char *bundle = NULL;
        kl_error err;
        kl_code code;

        assert_true(asprintf(&bundle, "%s%s%s# text\n%s", stranger.cert,
                             broken[i], authority.cert, stranger.key) > 0);
        code = ask_with(*state, &(kl__tls_options){.ca = bundle}, &err);
        if (code != KL_OK) {
            print_error("%s: %s\n", broken[i], err.message);
        }
        assert_int_equal(code, KL_OK);
        free(bundle);
    }
}

static void a_bundle_tells_how_many_certificates_are_left_out(void **state)
{
    kl__buf good = {0};
    char *bundle = NULL;
    kl__tls *tls;

    (void)state;
    assert_true(asprintf(&bundle, "%s" BEGIN_CERT "AAAA\n" END_CERT "%s",
                         authority.cert, alice.key) > 0);
    assert_int_equal(kl__pem_certificates(bundle, &good), 1);
    assert_string_equal(good.bytes, authority.cert);
    tls = kl__tls_new(&(kl__tls_options){.ca = bundle});
    assert_string_equal(kl__tls_get(tls)->ca, bundle);
    assert_string_equal(kl__tls_trusted(tls), authority.cert);
    assert_int_equal(kl__tls_left_out(tls), 1);
    kl__tls_unref(tls);
    kl__buf_deinit(&good);
    free(bundle);
}

/* The bytes of the first certificate of a PEM text. */
static kl__buf bytes_of(const char *pem)
{
    const char *from = strchr(pem, '\n');
    kl__buf der = {0};

    assert_true(kl__base64_decode(&der, from,
                                  (size_t)(strstr(pem, "\n-----END") - from)));
    return der;
}

static void a_certificate_cut_anywhere_is_broken(void **state)
{
    kl__buf der = bytes_of(host.cert);

    (void)state;
    assert_true(kl__der_is_certificate(der.bytes, der.length));
    for (size_t length = 0; length < der.length; length++) {
        char *cut = malloc(length + 1);

        memcpy(cut, der.bytes, length);
        assert_false(kl__der_is_certificate(cut, length));
        free(cut);
    }
    kl__buf_deinit(&der);
}

static void sequences_nested_without_end_are_broken(void **state)
{
    enum { DEPTH = 60 };
    unsigned char nested[2 * DEPTH];

    (void)state;
    for (int i = 0; i < DEPTH; i++) {
        nested[2 * i] = 0x30;
        nested[2 * i + 1] = (unsigned char)(2 * (DEPTH - i - 1));
    }
    assert_false(kl__der_is_certificate(nested, sizeof(nested)));
}

#define WITH_SERVER(name) \
    cmocka_unit_test_setup_teardown(name, set_up_server, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_key_with_a_passphrase_is_an_error_with_the_remedy),
        WITH_SERVER(an_encrypted_certificate_is_an_error),
        WITH_SERVER(rubbish_in_any_pem_option_is_an_error),
        WITH_SERVER(damaged_pem_never_crashes),
        WITH_SERVER(the_good_certificates_of_a_bundle_count),
        cmocka_unit_test(a_bundle_tells_how_many_certificates_are_left_out),
        cmocka_unit_test(a_certificate_cut_anywhere_is_broken),
        cmocka_unit_test(sequences_nested_without_end_are_broken),
    };

    return cmocka_run_group_tests(tests, make_certificates, clear_certificates);
}
