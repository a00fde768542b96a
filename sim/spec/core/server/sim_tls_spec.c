/*
 * sim_tls_spec.c - the certificates of a cluster: names, dates, and their one
 * authority; slow TLS handshakes.
 */
#include "spec_case.h"

#include "failing_alloc.h"
#include "fault_rig.h"
#include "sim/core/http/sim_tls.h"
#include "sim_socket.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

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

/* ---- Slow TLS handshakes: by the cluster's clock, for as many connections
 * as the rule says, and not longer than the client, the rule and the port
 * exist. */

enum { WAIT_MS = 50 };

/* A client in the middle of its handshake. */
typedef struct shaking {
    gnutls_certificate_credentials_t credentials;
    gnutls_session_t session;
    int fd;
} shaking;

static int set_up(void **state)
{
    const kl_sim_options options = {.clock_stands = true, .now_ms = 1};

    return sim_rig_set_up_with(state, &options);
}

static void listen_with_tls(const sim_rig *f)
{
    assert_int_equal(
        kl_sim_listen(f->sim, &(kl_sim_listen_options){.tls = true}, NULL),
        KL_OK);
}

static shaking begin(const sim_rig *f)
{
    shaking client = {.fd = sim_dial(f->sim)};

    gnutls_certificate_allocate_credentials(&client.credentials);
    gnutls_init(&client.session, GNUTLS_CLIENT);
    gnutls_set_default_priority(client.session);
    gnutls_credentials_set(client.session, GNUTLS_CRD_CERTIFICATE,
                           client.credentials);
    gnutls_transport_set_int(client.session, client.fd);
    return client;
}

/* GnuTLS's status after so long; GNUTLS_E_TIMEDOUT: nothing came. */
static int shake(shaking *client, unsigned ms)
{
    gnutls_handshake_set_timeout(client->session, ms);
    return gnutls_handshake(client->session);
}

/* Nothing comes for a moment. */
static void expect_silence(const shaking *client)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};

    assert_int_equal(poll(&ready, 1, WAIT_MS), 0);
}

/* A hello that was sent, and is not answered. GnuTLS gives the session up. */
static void expect_held(shaking *client)
{
    assert_int_equal(shake(client, WAIT_MS), GNUTLS_E_TIMEDOUT);
    expect_silence(client);
}

/* It is answered now: or the connection ends. */
static void expect_bytes(const shaking *client)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};

    assert_int_equal(poll(&ready, 1, SIM_CLIENT_PATIENCE_MS), 1);
}

static void end(shaking *client)
{
    gnutls_deinit(client->session);
    gnutls_certificate_free_credentials(client->credentials);
    close(client->fd);
}

static void expect_well(const sim_rig *f)
{
    shaking client = begin(f);

    assert_int_equal(shake(&client, SIM_CLIENT_PATIENCE_MS), 0);
    end(&client);
}

#define CASE(name) SPEC_CASE(name, sim_rig *f, set_up, sim_rig_tear_down)

CASE(a_slow_handshake_follows_the_clock_of_the_cluster)
{
    shaking client;

    listen_with_tls(f);
    fault_order(f, "{action: tls, how: slow, seconds: 3}");
    client = begin(f);
    expect_held(&client);
    expect_well(f); /* it was for one */
    assert_int_equal(kl_sim_advance(f->sim, 2999, NULL), KL_OK);
    expect_silence(&client);
    assert_int_equal(kl_sim_advance(f->sim, 1, NULL), KL_OK);
    expect_bytes(&client);
    end(&client);
}

CASE(a_stalled_handshake_continues_when_the_fault_ends)
{
    shaking client;

    listen_with_tls(f);
    fault_order(f, "{action: tls, how: stall, skip: 1}");
    expect_well(f);
    client = begin(f);
    expect_held(&client);
    assert_int_equal(kl_sim_advance(f->sim, 3600000, NULL), KL_OK);
    expect_silence(&client);
    assert_true(kl_sim_heal(f->sim, 0));
    expect_bytes(&client);
    end(&client);
}

CASE(a_port_can_be_closed_during_a_stalled_handshake)
{
    shaking client;

    listen_with_tls(f);
    fault_order(f, "{action: tls, count: 0}");
    client = begin(f);
    expect_held(&client);
    kl_sim_unlisten(f->sim);
    expect_bytes(&client); /* the end */
    end(&client);
}

/* True if the port shows a certificate of another host. */
static bool shows_elsewhere(const sim_rig *f)
{
    shaking client = begin(f);
    const gnutls_datum_t *shown;
    gnutls_x509_crt_t cert;
    unsigned count;
    bool is_elsewhere = false;

    if (shake(&client, SIM_CLIENT_PATIENCE_MS) == 0) {
        shown = gnutls_certificate_get_peers(client.session, &count);
        assert_true(shown != NULL && count >= 1);
        assert_int_equal(gnutls_x509_crt_init(&cert), 0);
        assert_int_equal(
            gnutls_x509_crt_import(cert, &shown[0], GNUTLS_X509_FMT_DER), 0);
        is_elsewhere =
            gnutls_x509_crt_check_hostname(cert, "elsewhere.example.com") != 0;
        gnutls_x509_crt_deinit(cert);
    }
    end(&client);
    return is_elsewhere;
}

/* Two orders of one moment: both come about, the first one first. */
CASE(a_certificate_and_a_refusal_both_hold)
{
    static const char certificate[] =
        "{\"action\":\"certificate\",\"how\":\"wrong_host\"}";
    static const char refusal[] = "{\"action\":\"refuse\",\"seconds\":60}";
    const int64_t deadline = fault_in(SIM_CLIENT_PATIENCE_MS);

    listen_with_tls(f);
    sim_expect(f->sim, "POST", "/kubelua/faults", certificate, 201);
    sim_expect(f->sim, "POST", "/kubelua/faults", refusal, 201);
    while (fault_outcome(f, FAULT_OBJECTS, NULL) == 200) {
        assert_true(fault_in(0) < deadline); /* there is no event to wait for */
        poll(NULL, 0, 1);
    }
    assert_int_equal(kl_sim_advance(f->sim, 61000, NULL), KL_OK);
    while (fault_outcome(f, FAULT_OBJECTS, NULL) != 200) {
        assert_true(fault_in(0) < deadline);
        poll(NULL, 0, 1);
    }
    assert_true(shows_elsewhere(f));
}
