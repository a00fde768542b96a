/*
 * trust_spec.c - authorities are read once and shared, and yet each connection
 * trusts its own alone: on one transport, on one thread, beside a proxy, and
 * after the system's authorities have changed.
 */
#include "http/trust.h"

#include "hostile_server.h"
#include "http_client.h"
#include "temp_files.h"

#include "base/clock.h"
#include "http/curl_library.h"
#include "http/transport.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Made once: two authorities, and a server's certificate of each. */
static certificate ours, theirs, of_ours, of_theirs;

static int make_certificates(void **state)
{
    const certificate_options here = {.ip = "127.0.0.1"};

    (void)state;
    ours = certificate_authority("our authority");
    theirs = certificate_authority("their authority");
    of_ours = certificate_sign(&ours, &here);
    of_theirs = certificate_sign(&theirs, &here);
    return kl__curl_load(NULL) == KL_OK ? 0 : -1;
}

static int clear_certificates(void **state)
{
    (void)state;
    certificate_clear(&ours);
    certificate_clear(&theirs);
    certificate_clear(&of_ours);
    certificate_clear(&of_theirs);
    return 0;
}

static hostile_server *serve(const certificate *identity)
{
    hostile_server *server = hostile_new(&(hostile_options){
        .identity = identity,
    });

    hostile_always(server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    return server;
}

static kl_code ask_with(kl_transport *transport, const kl__request *request)
{
    kl__stream *stream = kl__transport_open(transport, request, NULL);

    assert_non_null(stream);
    return read_to_end(stream, NULL, NULL);
}

/* Sends a request over a new connection. */
static kl_code ask_trusting(kl_transport *transport,
                            const hostile_server *server, const char *ca)
{
    kl__tls *tls = kl__tls_new(&(kl__tls_options){.ca = ca});
    const kl__request request = {.method = "GET",
                                 .base_url = hostile_url(server),
                                 .target = "/",
                                 .fresh_connection = true,
                                 .tls = tls};
    kl_code code = ask_with(transport, &request);

    kl__tls_unref(tls);
    return code;
}

static kl_transport *new_carried(void)
{
    kl_transport *transport = kl__curl_transport_new(true, NULL);

    assert_non_null(transport);
    return transport;
}

/* Skips a test of sharing itself where libcurl's TLS is another one. */
static void need_sharing(void)
{
#ifdef KUBELUA_OPENSSL
    const char *tls = curl_version_info(CURLVERSION_NOW)->ssl_version;

    if (strncmp(tls, "OpenSSL/3", strlen("OpenSSL/3")) != 0) {
        skip();
    }
#else
    skip();
#endif
}

/* ---- each trusts its own ---- */

static void clients_of_one_thread_trust_their_own_ca_alone(void **state)
{
    kl_transport *a = new_carried(), *b = new_carried();
    hostile_server *our = serve(&of_ours), *their = serve(&of_theirs);

    (void)state;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(ask_trusting(a, our, ours.cert), KL_OK);
        assert_int_equal(ask_trusting(b, our, theirs.cert), KL_ETLS);
        assert_int_equal(ask_trusting(b, their, theirs.cert), KL_OK);
        assert_int_equal(ask_trusting(a, their, ours.cert), KL_ETLS);
        assert_int_equal(ask_trusting(a, our, NULL), KL_ETLS);
        assert_int_equal(ask_trusting(b, their, NULL), KL_ETLS);
    }
    hostile_free(our);
    hostile_free(their);
    kl_transport_unref(a);
    end_transport(b);
}

/* The same client, whose authority was replaced on disk. */
static void an_open_connection_is_not_used_under_another_ca(void **state)
{
    kl_transport *transport = new_transport();
    hostile_server *server = serve(&of_ours);
    const char *const cas[] = {ours.cert, theirs.cert, NULL, ours.cert};
    const kl_code expected[] = {KL_OK, KL_ETLS, KL_ETLS, KL_OK};

    (void)state;
    for (int i = 0; i < 4; i++) {
        kl__tls *tls = kl__tls_new(&(kl__tls_options){.ca = cas[i]});
        const kl__request request = {.method = "GET",
                                     .base_url = hostile_url(server),
                                     .target = "/",
                                     .tls = tls};

        assert_int_equal(ask_with(transport, &request), expected[i]);
        kl__tls_unref(tls);
    }
    assert_int_equal(hostile_requests(server, ""), 2);
    assert_int_equal(hostile_connections(server), 3); /* the first one twice */
    hostile_free(server);
    end_transport(transport);
}

static void insecure_is_for_its_own_connections_alone(void **state)
{
    kl_transport *transport = new_transport();
    hostile_server *server = serve(&of_ours);
    kl__tls *any =
        kl__tls_new(&(kl__tls_options){.ca = theirs.cert, .insecure = true});
    const kl__request request = {.method = "GET",
                                 .base_url = hostile_url(server),
                                 .target = "/",
                                 .tls = any};

    (void)state;
    assert_int_equal(ask_with(transport, &request), KL_OK);
    assert_int_equal(ask_trusting(transport, server, theirs.cert), KL_ETLS);
    assert_int_equal(ask_trusting(transport, server, NULL), KL_ETLS);
    assert_int_equal(ask_with(transport, &request), KL_OK);
    kl__tls_unref(any);
    hostile_free(server);
    end_transport(transport);
}

/* libcurl calls back for the TLS to the proxy, too. */
static void a_proxy_is_not_trusted_by_the_ca_of_the_cluster(void **state)
{
    kl_transport *transport = new_transport();
    hostile_server *proxy = serve(&of_ours);
    kl__tls *tls = kl__tls_new(&(kl__tls_options){.ca = ours.cert});
    const kl__request request = {.method = "GET",
                                 .base_url = "https://cluster.invalid:6443",
                                 .target = "/",
                                 .proxy_url = hostile_url(proxy),
                                 .tls = tls};

    (void)state;
    assert_int_not_equal(ask_with(transport, &request), KL_OK);
    assert_int_equal(hostile_connections(proxy), 1);
    assert_int_equal(hostile_requests(proxy, ""), 0);
    kl__tls_unref(tls);
    hostile_free(proxy);
    end_transport(transport);
}

/* As by libcurl: whatever is given as a CA need not be a root. */
static void a_server_is_trusted_by_its_own_certificate(void **state)
{
    kl_transport *transport = new_transport();
    hostile_server *server = serve(&of_ours);

    (void)state;
    assert_int_equal(ask_trusting(transport, server, of_ours.cert), KL_OK);
    assert_int_equal(ask_trusting(transport, server, of_theirs.cert), KL_ETLS);
    hostile_free(server);
    end_transport(transport);
}

/* ---- the CAs of the system ---- */

static void a_changed_file_of_the_system_holds_at_once(void **state)
{
    kl_transport *transport = new_carried(), *other = new_carried();
    hostile_server *server = serve(&of_ours);

    (void)state;
    setenv("SSL_CERT_FILE", temp_write("ca.pem", ours.cert), 1);
    assert_int_equal(ask_trusting(transport, server, NULL), KL_OK);
    assert_int_equal(ask_trusting(other, server, NULL), KL_OK);
    temp_write("ca.pem", theirs.cert);
    assert_int_equal(ask_trusting(transport, server, NULL), KL_ETLS);
    assert_int_equal(ask_trusting(other, server, NULL), KL_ETLS);
    temp_write("ca.pem", ours.cert);
    assert_int_equal(ask_trusting(transport, server, NULL), KL_OK);
    unlink(temp_path("ca.pem"));
    assert_int_equal(ask_trusting(other, server, NULL), KL_ETLS);
    unsetenv("SSL_CERT_FILE");
    assert_int_equal(ask_trusting(transport, server, NULL), KL_ETLS);
    hostile_free(server);
    kl_transport_unref(other);
    end_transport(transport);
}

/* The same size, and for a kernel before 6.13 the same moment: its times of
 * files have steps. */
static void a_file_that_changes_twice_in_a_moment_is_read_twice(void **state)
{
    enum { ROUNDS = 20, SIZE = 4096 };
    kl_transport *transport = new_transport();
    hostile_server *server = serve(&of_ours);
    char text[SIZE + 1];

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(text, sizeof(text), "%-*s", SIZE, ours.cert);
        setenv("SSL_CERT_FILE", temp_write("ca.pem", text), 1);
        assert_int_equal(ask_trusting(transport, server, NULL), KL_OK);
        snprintf(text, sizeof(text), "%-*s", SIZE, theirs.cert);
        temp_write("ca.pem", text);
        assert_int_equal(ask_trusting(transport, server, NULL), KL_ETLS);
    }
    unsetenv("SSL_CERT_FILE");
    hostile_free(server);
    end_transport(transport);
}

static void a_ca_that_left_the_folder_of_the_system_is_not_trusted(void **state)
{
    const char *folder = *state;
    kl_transport *transport = new_transport();
    hostile_server *server = serve(&of_ours);
    char command[256];

    temp_write("ours.pem", ours.cert);
    snprintf(command, sizeof(command), "openssl rehash %s", folder);
    assert_int_equal(system(command), 0);
    setenv("SSL_CERT_DIR", folder, 1);
    assert_int_equal(ask_trusting(transport, server, NULL), KL_OK);
    assert_int_equal(ask_trusting(transport, server, NULL), KL_OK);
    unlink(temp_path("ours.pem"));
    assert_int_equal(system(command), 0);
    assert_int_equal(ask_trusting(transport, server, NULL), KL_ETLS);
    unsetenv("SSL_CERT_DIR");
    hostile_free(server);
    end_transport(transport);
}

/* ---- read once ---- */

static void the_cas_of_a_client_are_read_once(void **state)
{
    kl__tls *tls = kl__tls_new(&(kl__tls_options){.ca = ours.cert});
    kl__tls *rubbish = kl__tls_new(&(kl__tls_options){.ca = "rubbish"});
    kl__tls *of_system = kl__tls_new(&(kl__tls_options){.ca = NULL});

    (void)state;
    need_sharing();
    assert_non_null(kl__tls_trust(tls));
    assert_ptr_equal(kl__tls_trust(tls), kl__tls_trust(tls));
    assert_null(kl__tls_trust(rubbish));   /* libcurl has the message */
    assert_null(kl__tls_trust(of_system)); /* its options name no CA */
    kl__tls_unref(tls);
    kl__tls_unref(rubbish);
    kl__tls_unref(of_system);
}

static void the_cas_of_the_system_are_read_once_for_all(void **state)
{
    const char *path = temp_write("ca.pem", ours.cert);
    kl__trust *first = NULL, *second = NULL, *changed;
    int64_t until = soon();

    (void)state;
    need_sharing();
    do { /* it is read again as long as it may have been written again */
        kl__trust_unref(first);
        kl__trust_unref(second);
        first = kl__trust_of_system(path, NULL);
        second = kl__trust_of_system(path, NULL);
        assert_non_null(first);
    } while (first != second && kl__clock_now(kl__clock_real()) < until);
    assert_ptr_equal(first, second);
    temp_write("ca.pem", theirs.cert);
    changed = kl__trust_of_system(path, NULL);
    assert_non_null(changed);
    assert_ptr_not_equal(first, changed);
    assert_string_not_equal(kl__trust_path(first), kl__trust_path(changed));
    assert_null(kl__trust_of_system(temp_path("missing"), NULL));
    assert_null(kl__trust_of_system(temp_write("rubbish", "rubbish"), NULL));
    assert_null(kl__trust_of_system("/dev/zero", NULL));
    assert_null(kl__trust_of_system(NULL, NULL));
    kl__trust_unref(first);
    kl__trust_unref(second);
    kl__trust_unref(changed);
    kl__trust_unref(NULL);
}

int main(void)
{
#define WITH_FILES(name) \
    cmocka_unit_test_setup_teardown(name, temp_files_setup, temp_files_teardown)
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(clients_of_one_thread_trust_their_own_ca_alone),
        cmocka_unit_test(an_open_connection_is_not_used_under_another_ca),
        cmocka_unit_test(insecure_is_for_its_own_connections_alone),
        cmocka_unit_test(a_proxy_is_not_trusted_by_the_ca_of_the_cluster),
        cmocka_unit_test(a_server_is_trusted_by_its_own_certificate),
        WITH_FILES(a_changed_file_of_the_system_holds_at_once),
        WITH_FILES(a_file_that_changes_twice_in_a_moment_is_read_twice),
        WITH_FILES(a_ca_that_left_the_folder_of_the_system_is_not_trusted),
        cmocka_unit_test(the_cas_of_a_client_are_read_once),
        WITH_FILES(the_cas_of_the_system_are_read_once_for_all),
    };

    return cmocka_run_group_tests(specs, make_certificates, clear_certificates);
}
