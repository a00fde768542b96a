/*
 * curl_tls_spec.c - which servers are trusted over TLS, under which name, which
 * client certificate they get; and the errors otherwise.
 */
#include "http/transport.h"

#include "hostile_server.h"
#include "http_client.h"

#include "base/clock.h"
#include "kubelua/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Made once: an authority, another one, and certificates of the first. */
static certificate authority, stranger, by_address, by_name, expired;
static certificate alice, bob;

static int make_certificates(void **state)
{
    (void)state;
    authority = certificate_authority("our authority");
    stranger = certificate_authority("somebody else");
    by_address =
        certificate_sign(&authority, &(certificate_options){.ip = "127.0.0.1"});
    by_name = certificate_sign(
        &authority, &(certificate_options){.dns = "kubernetes.default"});
    expired = certificate_sign(
        &authority, &(certificate_options){.ip = "127.0.0.1", .expired = true});
    alice = certificate_sign(
        &authority,
        &(certificate_options){.common_name = "alice", .client = true});
    bob = certificate_sign(
        &authority,
        &(certificate_options){.common_name = "bob", .client = true});
    return 0;
}

static int clear_certificates(void **state)
{
    (void)state;
    certificate_clear(&authority);
    certificate_clear(&stranger);
    certificate_clear(&by_address);
    certificate_clear(&by_name);
    certificate_clear(&expired);
    certificate_clear(&alice);
    certificate_clear(&bob);
    return 0;
}

static int set_up_transport(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->transport = new_transport();
    *state = f;
    return 0;
}

/* A server that proves itself so and answers each request. */
static void serve(fixture *f, const certificate *identity, bool asks_client)
{
    const hostile_options options = {
        .identity = identity, .client_ca = asks_client ? authority.cert : NULL};

    f->server = hostile_new(&options);
    hostile_always(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
}

static kl_code ask_as(fixture *f, const char *url,
                      const kl__tls_options *options, kl_error *err)
{
    kl__tls *tls = options != NULL ? kl__tls_new(options) : NULL;
    kl__request request = {
        .method = "GET", .base_url = url, .target = "/", .tls = tls};
    kl__stream *stream = kl__transport_open(f->transport, &request, err);

    assert_non_null(stream);
    kl__tls_unref(tls); /* the stream has its own */
    *err = (kl_error){0};
    return read_to_end(stream, NULL, err);
}

static void assert_trusted(fixture *f, const kl__tls_options *options)
{
    kl_error err;
    kl_code code = ask_as(f, hostile_url(f->server), options, &err);

    if (code != KL_OK) {
        print_error("%s\n", err.message);
    }
    assert_int_equal(code, KL_OK);
}

static void assert_refused(fixture *f, const kl__tls_options *options,
                           const char *words)
{
    kl_error err;

    assert_int_equal(ask_as(f, hostile_url(f->server), options, &err), KL_ETLS);
    if (strstr(err.message, words) == NULL) {
        print_error("%s\n", err.message);
    }
    assert_non_null(strstr(err.message, words));
    assert_non_null(strstr(err.message, "127.0.0.1:"));
}

/* ---- which servers are trusted ---- */

static void a_server_with_a_certificate_of_the_given_ca_is_trusted(void **state)
{
    fixture *f = *state;

    serve(f, &by_address, false);
    assert_trusted(f, &(kl__tls_options){.ca = authority.cert});
}

static void several_cas_in_one_text_are_all_trusted(void **state)
{
    fixture *f = *state;
    char *both = NULL;

    assert_true(asprintf(&both, "%s%s", stranger.cert, authority.cert) > 0);
    serve(f, &by_address, false);
    assert_trusted(f, &(kl__tls_options){.ca = both});
    free(both);
}

static void an_unknown_ca_is_an_error_with_a_remedy(void **state)
{
    fixture *f = *state;

    serve(f, &by_address, false);
    assert_refused(f, &(kl__tls_options){.ca = stranger.cert},
                   "certificate-authority");
    assert_refused(f, NULL, "certificate-authority"); /* nor by the system */
    assert_int_equal(hostile_requests(f->server, ""), 0);
}

static void an_expired_certificate_is_named_in_the_error(void **state)
{
    fixture *f = *state;

    serve(f, &expired, false);
    assert_refused(f, &(kl__tls_options){.ca = authority.cert}, "renew it");
}

static void a_certificate_for_another_name_is_named_in_the_error(void **state)
{
    fixture *f = *state;

    serve(f, &by_name, false);
    assert_refused(f, &(kl__tls_options){.ca = authority.cert},
                   "tls-server-name");
}

static void insecure_trusts_any_certificate(void **state)
{
    fixture *f = *state;

    serve(f, &expired, false);
    assert_trusted(f, &(kl__tls_options){.insecure = true});
    assert_trusted(f,
                   &(kl__tls_options){.ca = stranger.cert, .insecure = true});
}

static void a_ca_that_is_not_a_certificate_is_an_error(void **state)
{
    fixture *f = *state;

    serve(f, &by_address, false);
    assert_refused(f, &(kl__tls_options){.ca = "rubbish"},
                   "certificate-authority");
}

/* A file with the text; its path in `path`. */
static void write_file(char path[], const char *text)
{
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void ssl_cert_file_names_the_cas_of_the_system(void **state)
{
    fixture *f = *state;
    char path[] = "/tmp/kubelua-ca-XXXXXX";

    serve(f, &by_address, false);
    write_file(path, authority.cert);
    setenv("SSL_CERT_FILE", path, 1);
    assert_trusted(f, NULL);
    assert_refused(f, &(kl__tls_options){.ca = stranger.cert},
                   "certificate-authority");
    unlink(path);
    setenv("SSL_CERT_FILE", "/nowhere/ca", 1);
    assert_refused(f, NULL, "SSL_CERT_FILE");
    setenv("SSL_CERT_FILE", "", 1); /* as if it were not set */
    assert_refused(f, NULL, "is not trusted");
    unsetenv("SSL_CERT_FILE");
    assert_refused(f, NULL, "is not trusted");
}

static void ssl_cert_dir_names_a_folder_of_cas_of_the_system(void **state)
{
    fixture *f = *state;
    char folder[] = "/tmp/kubelua-cas-XXXXXX", path[64], command[128];

    serve(f, &by_address, false);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/XXXXXX", folder);
    write_file(path, authority.cert);
    snprintf(command, sizeof(command),
             "cd %s && mv * ca.pem && openssl rehash .", folder);
    assert_int_equal(system(command), 0);
    setenv("SSL_CERT_DIR", folder, 1);
    assert_trusted(f, NULL);
    setenv("SSL_CERT_DIR", "/nowhere", 1);
    assert_refused(f, NULL, "is not trusted");
    unsetenv("SSL_CERT_DIR");
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* ---- under another name ---- */

static void tls_server_name_is_verified_instead_of_the_host(void **state)
{
    const kl__tls_options options = {.ca = authority.cert,
                                     .server_name = "kubernetes.default"};
    fixture *f = *state;
    char host[64];

    serve(f, &by_name, false);
    assert_trusted(f, &options);
    /* It is still asked as the host that it is. */
    snprintf(host, sizeof(host), "\r\nHost: 127.0.0.1:%d\r\n",
             hostile_port(f->server));
    assert_non_null(strstr(hostile_request(f->server, 0), host));
}

static void a_wrong_tls_server_name_is_an_error(void **state)
{
    const kl__tls_options options = {.ca = authority.cert,
                                     .server_name = "kubernetes.example"};
    fixture *f = *state;

    serve(f, &by_name, false);
    assert_refused(f, &options, "tls-server-name");
}

static void with_tls_server_name_the_hosts_name_does_not_count(void **state)
{
    const kl__tls_options options = {.ca = authority.cert,
                                     .server_name = "kubernetes.default"};
    fixture *f = *state;

    serve(f, &by_address, false); /* right for its address, but not asked for */
    assert_refused(f, &options, "tls-server-name");
}

static void tls_server_name_may_be_an_ip_address(void **state)
{
    const kl__tls_options options = {.ca = authority.cert,
                                     .server_name = "127.0.0.1"};
    fixture *f = *state;
    kl_error err;
    char url[64];

    serve(f, &by_address, false);
    snprintf(url, sizeof(url), "https://localhost:%d", hostile_port(f->server));
    assert_int_equal(ask_as(f, url, &options, &err), KL_OK);
}

static void an_invalid_tls_server_name_is_a_config_error(void **state)
{
    const kl__tls_options options = {.server_name = "no name"};
    fixture *f = *state;
    kl_error err;

    assert_int_equal(ask_as(f, "https://127.0.0.1:1", &options, &err),
                     KL_ECONFIG);
    assert_non_null(strstr(err.message, "tls-server-name 'no name'"));
}

/* ---- our own certificate ---- */

static void a_client_certificate_is_presented(void **state)
{
    fixture *f = *state;

    serve(f, &by_address, true);
    assert_trusted(f, &(kl__tls_options){.ca = authority.cert,
                                         .cert = alice.cert,
                                         .key = alice.key});
    assert_string_equal(hostile_client(f->server, 0), "alice");
}

static void client_certificates_never_share_a_connection(void **state)
{
    const kl__tls_options as_alice = {
        .ca = authority.cert, .cert = alice.cert, .key = alice.key};
    const kl__tls_options as_bob = {
        .ca = authority.cert, .cert = bob.cert, .key = bob.key};
    const kl__tls_options as_nobody = {.ca = authority.cert};
    fixture *f = *state;

    serve(f, &by_address, true);
    assert_trusted(f, &as_alice);
    assert_trusted(f, &as_bob);
    assert_trusted(f, &as_nobody);
    assert_trusted(f, &as_alice); /* on the first connection again */
    assert_string_equal(hostile_client(f->server, 0), "alice");
    assert_string_equal(hostile_client(f->server, 1), "bob");
    assert_string_equal(hostile_client(f->server, 2), "");
    assert_string_equal(hostile_client(f->server, 3), "alice");
    assert_int_equal(hostile_connections(f->server), 3);
}

static void an_open_connection_is_not_shared_by_other_tls_settings(void **state)
{
    fixture *f = *state;

    serve(f, &by_address, false);
    assert_trusted(f, &(kl__tls_options){.insecure = true});
    assert_refused(f, &(kl__tls_options){.ca = stranger.cert},
                   "certificate-authority");
    assert_trusted(f, &(kl__tls_options){.ca = authority.cert});
    assert_refused(f,
                   &(kl__tls_options){.ca = authority.cert,
                                      .server_name = "kubernetes.default"},
                   "tls-server-name");
}

static void a_key_of_another_certificate_is_named_in_the_error(void **state)
{
    fixture *f = *state;

    serve(f, &by_address, true);
    assert_refused(f,
                   &(kl__tls_options){.ca = authority.cert,
                                      .cert = alice.cert,
                                      .key = bob.key},
                   "client-key");
    assert_refused(f,
                   &(kl__tls_options){
                       .ca = authority.cert, .cert = "rubbish", .key = bob.key},
                   "client-certificate");
}

/* ---- the wrong protocol ---- */

static void https_to_a_plain_http_port_names_the_remedy(void **state)
{
    fixture *f = *state;
    char url[64];
    kl_error err;

    f->server = hostile_new(NULL);
    hostile_on_accept(f->server, STEPS(HOSTILE_AWAIT("\x16"),
                                       HOSTILE_TEXT("HTTP/1.1 400 Bad Request"
                                                    "\r\n\r\n"),
                                       HOSTILE_CLOSE));
    snprintf(url, sizeof(url), "https://127.0.0.1:%d", hostile_port(f->server));
    assert_int_equal(ask_as(f, url, NULL, &err), KL_ETLS);
    assert_non_null(strstr(err.message, "speaks no TLS"));
    assert_non_null(strstr(err.message, "http://"));
}

static void http_to_a_tls_port_names_the_remedy(void **state)
{
    fixture *f = *state;
    char url[64];
    kl_error err;

    f->server = hostile_new(NULL);
    /* A TLS server answers plain HTTP with a fatal alert. */
    hostile_on(
        f->server, "",
        STEPS(HOSTILE_BYTES("\x15\x03\x01\x00\x02\x02\x46", 7), HOSTILE_CLOSE));
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", hostile_port(f->server));
    assert_int_equal(ask_as(f, url, NULL, &err), KL_EPARSE);
    assert_non_null(strstr(err.message, "https://"));
}

static void a_connection_closed_in_the_handshake_is_unavailable(void **state)
{
    fixture *f = *state;
    char url[64];
    kl_error err;

    f->server = hostile_new(NULL);
    hostile_on_accept(f->server, STEPS(HOSTILE_AWAIT("\x16"), HOSTILE_RESET));
    hostile_on_accept(f->server, STEPS(HOSTILE_AWAIT("\x16"), HOSTILE_CLOSE));
    snprintf(url, sizeof(url), "https://127.0.0.1:%d", hostile_port(f->server));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask_as(f, url, NULL, &err), KL_EUNAVAILABLE);
        assert_non_null(strstr(err.message, "TLS handshake"));
        assert_non_null(strstr(err.message, "127.0.0.1:"));
    }
}

/* They would share the connection that the first one makes. None makes another
 * when it fails, and waits for that too. */
static void requests_that_wait_for_a_connection_fail_together(void **state)
{
    enum { WAITING = 6 };
    fixture *f = *state;
    kl__stream *streams[WAITING];
    char url[64];
    int failed = 0;

    f->server = hostile_new(NULL);
    hostile_on_accept(f->server,
                      STEPS(HOSTILE_GATE("all are here"), HOSTILE_RESET));
    snprintf(url, sizeof(url), "https://127.0.0.1:%d", hostile_port(f->server));
    for (int i = 0; i < WAITING; i++) {
        streams[i] = get(f->transport, url, "/");
    }
    /* The loop has begun them all when it answers a later one. */
    assert_int_equal(
        read_to_end(get(f->transport, "http://127.0.0.1:1", "/"), NULL, NULL),
        KL_EUNAVAILABLE);
    assert_true(hostile_await_gate(f->server, "all are here", 1));
    hostile_open_gate(f->server, "all are here");
    for (int i = 0; i < WAITING; i++) {
        kl__response response;
        int64_t until_ms = soon();

        failed += kl__stream_response(streams[i], &response, until_ms, NULL,
                                      NULL) == KL_EUNAVAILABLE
                      ? 1
                      : 0;
        kl__stream_close(streams[i]);
    }
    assert_int_equal(failed, WAITING);
    assert_int_equal(hostile_connections(f->server), 1);
}

/* ---- the bundle itself ---- */

static void options_are_copied(void **state)
{
    char ca[] = "ca", cert[] = "cert", key[] = "key", name[] = "name";
    const kl__tls_options options = {ca, cert, key, name, true};
    kl__tls *tls = kl__tls_new(&options);

    (void)state;
    memset(ca, 'x', 2);
    memset(cert, 'x', 4);
    memset(key, 'x', 3);
    memset(name, 'x', 4);
    assert_string_equal(kl__tls_get(tls)->ca, "ca");
    assert_string_equal(kl__tls_get(tls)->cert, "cert");
    assert_string_equal(kl__tls_get(tls)->key, "key");
    assert_string_equal(kl__tls_get(tls)->server_name, "name");
    assert_true(kl__tls_get(tls)->insecure);
    kl__tls_unref(kl__tls_ref(tls));
    assert_string_equal(kl__tls_get(tls)->ca, "ca");
    kl__tls_unref(tls);
    kl__tls_unref(NULL);
}

int main(void)
{
#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_transport, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(a_server_with_a_certificate_of_the_given_ca_is_trusted),
        SPEC(several_cas_in_one_text_are_all_trusted),
        SPEC(an_unknown_ca_is_an_error_with_a_remedy),
        SPEC(an_expired_certificate_is_named_in_the_error),
        SPEC(a_certificate_for_another_name_is_named_in_the_error),
        SPEC(insecure_trusts_any_certificate),
        SPEC(a_ca_that_is_not_a_certificate_is_an_error),
        SPEC(ssl_cert_file_names_the_cas_of_the_system),
        SPEC(ssl_cert_dir_names_a_folder_of_cas_of_the_system),
        SPEC(tls_server_name_is_verified_instead_of_the_host),
        SPEC(a_wrong_tls_server_name_is_an_error),
        SPEC(with_tls_server_name_the_hosts_name_does_not_count),
        SPEC(tls_server_name_may_be_an_ip_address),
        SPEC(an_invalid_tls_server_name_is_a_config_error),
        SPEC(a_client_certificate_is_presented),
        SPEC(client_certificates_never_share_a_connection),
        SPEC(an_open_connection_is_not_shared_by_other_tls_settings),
        SPEC(a_key_of_another_certificate_is_named_in_the_error),
        SPEC(https_to_a_plain_http_port_names_the_remedy),
        SPEC(http_to_a_tls_port_names_the_remedy),
        SPEC(a_connection_closed_in_the_handshake_is_unavailable),
        SPEC(requests_that_wait_for_a_connection_fail_together),
        cmocka_unit_test(options_are_copied),
    };

    return cmocka_run_group_tests(specs, make_certificates, clear_certificates);
}
