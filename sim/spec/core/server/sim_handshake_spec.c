/*
 * sim_handshake_spec.c - slow TLS handshakes: by the cluster's clock, for as
 * many connections as the rule says, and not longer than the client, the rule
 * and the port exist.
 */
#include "spec_case.h"
#include "fault_rig.h"
#include "sim_socket.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <poll.h>
#include <unistd.h>

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
