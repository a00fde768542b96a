/*
 * curl_failure.c - converts an error of libcurl to a kl_error whose message
 * names the host, the cause and the remedy.
 */
#include "http/curl_loop.h"

#include "base/mem.h"
#include "base/remedy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* curl's message, or the meaning of its code. */
static const char *detail_of(const kl__curl_stream *stream, CURLcode status)
{
    return stream->curl_message[0] != '\0' ? stream->curl_message
                                           : curl_easy_strerror(status);
}

static bool message_has(const kl__curl_stream *stream, const char *word)
{
    return strstr(stream->curl_message, word) != NULL;
}

/* ---- before there is a connection ---- */

static void explain_refusal(const kl__curl_stream *stream, const char *peer,
                            kl_error *failure)
{
    long number = stream->socket_errno; /* curl does not see it */

    if (number == 0) {
        curl_easy_getinfo(stream->easy, CURLINFO_OS_ERRNO, &number);
    }
    switch (number) {
    case ECONNREFUSED:
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "%s refused the connection: is the server running, and "
                     "is this its port?",
                     peer);
        return;
    case ENETUNREACH:
    case EHOSTUNREACH:
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "%s cannot be reached: check the address, routes and VPN",
                     peer);
        return;
    default:
        kl_error_set(failure, KL_EUNAVAILABLE, "cannot connect to %s: %s%s",
                     peer,
                     number != 0 ? strerror((int)number)
                                 : detail_of(stream, CURLE_COULDNT_CONNECT),
                     kl__remedy((int)number));
        return;
    }
}

/* Only connecting has a timeout. Finds which step was too slow: DNS, TCP or
 * TLS. */
static void explain_timeout(const kl__curl_stream *stream, const char *peer,
                            kl_error *failure)
{
    if (stream->in_tls) {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "%s took the connection but did not finish the TLS "
                     "handshake in time: is it overloaded, or no TLS server?",
                     stream->origin);
    } else if (stream->dials) {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "no connection to %s in time: check the address, and "
                     "firewalls on the way",
                     peer);
    } else {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "cannot resolve %s: no answer in time; check this "
                     "machine's DNS",
                     peer);
    }
}

/* True if the proxy has refused the tunnel: libcurl 8.23 calls that a failure
 * to connect, and older ones that of a read. */
static bool is_of_tunnel(const kl__curl_stream *stream, CURLcode status)
{
    return stream->proxy != NULL && status != CURLE_OPERATION_TIMEDOUT &&
           (status == CURLE_PROXY || message_has(stream, "CONNECT"));
}

static bool explain_connecting(const kl__curl_stream *stream, CURLcode status,
                               kl_error *failure)
{
    const char *peer = stream->proxy != NULL ? stream->proxy : stream->origin;

    if (is_of_tunnel(stream, status)) {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "the proxy %s does not lead to %s (%s): check proxy-url "
                     "and its credentials",
                     stream->proxy, stream->origin, detail_of(stream, status));
        return true;
    }
    switch (status) {
    case CURLE_COULDNT_RESOLVE_HOST:
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "cannot resolve %s: check the server's name and this "
                     "machine's DNS",
                     stream->origin);
        return true;
    case CURLE_COULDNT_RESOLVE_PROXY:
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "cannot resolve the proxy %s: check proxy-url", peer);
        return true;
    case CURLE_COULDNT_CONNECT:
        explain_refusal(stream, peer, failure);
        return true;
    case CURLE_OPERATION_TIMEDOUT:
        explain_timeout(stream, peer, failure);
        return true;
    default:
        return false;
    }
}

/* ---- TLS ---- */

/* Recognises the messages of libcurl with OpenSSL and with GnuTLS. */
static void explain_verification(const kl__curl_stream *stream,
                                 kl_error *failure)
{
    const char *remedy = "its CA is not trusted: set certificate-authority to "
                         "the cluster's CA (insecure-skip-tls-verify trusts "
                         "any server)";

    if (message_has(stream, "match")) {
        remedy = "its certificate is for another name: set tls-server-name to "
                 "one that it has";
    } else if (message_has(stream, "expired")) {
        remedy = "its certificate has expired: renew it, or check this "
                 "machine's clock";
    } else if (message_has(stream, "not yet valid") ||
               message_has(stream, "activated")) {
        remedy = "its certificate is not valid yet: check this machine's clock";
    }
    kl_error_set(failure, KL_ETLS, "cannot verify %s: %s [%s]", stream->origin,
                 remedy, detail_of(stream, CURLE_PEER_FAILED_VERIFICATION));
}

static void explain_handshake(const kl__curl_stream *stream, kl_error *failure)
{
    const char *text = detail_of(stream, CURLE_SSL_CONNECT_ERROR);

    if (message_has(stream, "reset") || message_has(stream, "SYSCALL") ||
        message_has(stream, "unexpected eof") ||
        message_has(stream, "terminated")) {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "%s closed the connection in the TLS handshake: %s",
                     stream->origin, text);
    } else if (message_has(stream, "wrong version") ||
               message_has(stream, "unexpected message") ||
               message_has(stream, "packet")) {
        kl_error_set(failure, KL_ETLS,
                     "%s speaks no TLS: is this its port, or does its URL "
                     "begin with http://? [%s]",
                     stream->origin, text);
    } else {
        kl_error_set(failure, KL_ETLS, "TLS with %s failed: %s", stream->origin,
                     text);
    }
}

static bool explain_tls(const kl__curl_stream *stream, CURLcode status,
                        kl_error *failure)
{
    const char *text = detail_of(stream, status);

    /* How libcurl 8.22 reports a bad private key; older ones say CERTPROBLEM.
     */
    if (status == CURLE_BAD_FUNCTION_ARGUMENT &&
        message_has(stream, "private key")) {
        status = CURLE_SSL_CERTPROBLEM;
    }
    switch (status) {
    case CURLE_PEER_FAILED_VERIFICATION:
        explain_verification(stream, failure);
        return true;
    case CURLE_SSL_CERTPROBLEM:
        kl_error_set(failure, KL_ETLS,
                     "the client certificate for %s is not usable: check "
                     "client-certificate and client-key, or the options "
                     "cert_data and key_data, cert_file and key_file [%s]",
                     stream->origin, text);
        return true;
    case CURLE_SSL_CACERT_BADFILE:
        kl_error_set(failure, KL_ETLS,
                     "the CA for %s is no PEM certificate: check "
                     "certificate-authority, or SSL_CERT_FILE [%s]",
                     stream->origin, text);
        return true;
    case CURLE_SSL_CONNECT_ERROR:
        explain_handshake(stream, failure);
        return true;
    default:
        break;
    }
    /* In TLS 1.3 the server refuses a client without a certificate only after
     * the handshake, with an alert. */
    if (message_has(stream, "alert")) {
        kl_error_set(failure, KL_ETLS,
                     "%s closed TLS: does it want another client certificate? "
                     "[%s]",
                     stream->origin, text);
        return true;
    }
    return false;
}

/* ---- the answer ---- */

static bool breaks_protocol(const kl__curl_stream *stream, CURLcode status)
{
    return status == CURLE_UNSUPPORTED_PROTOCOL ||
           status == CURLE_WEIRD_SERVER_REPLY ||
           (status == CURLE_RECV_ERROR && message_has(stream, "chunk"));
}

/* A TLS server that gets plain HTTP sends an alert or closes the connection. */
static const char *tls_remedy(const kl__curl_stream *stream)
{
    return stream->secure ? "" : "; if it is a port for TLS, use https://";
}

static void explain_answer(const kl__curl_stream *stream, CURLcode status,
                           kl_error *failure)
{
    const char *text = detail_of(stream, status);

    if (breaks_protocol(stream, status)) {
        /* Without curl's text: newer versions of curl have two texts for the
         * same answer, and then handlers would get the same error twice. */
        kl_error_set(failure, KL_EPARSE,
                     "%s does not speak HTTP: is this its port?%s",
                     stream->origin, tls_remedy(stream));
    } else if (stream->is_refused) {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "%s refused the request several times over HTTP/2, and "
                     "did not carry it out: is it overloaded?",
                     stream->origin);
    } else if (stream->was_late) {
        kl_error_set(failure, KL_ETIMEOUT,
                     "no connection to %s in time: the request was not sent",
                     stream->origin);
    } else if (status == CURLE_ABORTED_BY_CALLBACK) {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "the connection to %s broke during the request, which may "
                     "have been carried out or not",
                     stream->origin);
    } else if (stream->head.complete) {
        kl_error_set(failure, KL_EUNAVAILABLE, "the answer of %s broke off: %s",
                     stream->origin, text);
    } else if (status == CURLE_GOT_NOTHING) {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "%s closed the connection without an answer%s",
                     stream->origin, tls_remedy(stream));
    } else {
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "the connection to %s broke before its answer: %s",
                     stream->origin, text);
    }
}

/* CURLE_TOO_LARGE of libcurl 8.6, which the headers of 7.88 lack. */
enum { TOO_LARGE = 100 };

/* True if libcurl has given up on a header line: it takes 100 KB, or 1 MB, and
 * calls the end of that "out of memory" (7.88) or "too large" (8.6). Memory is
 * left, as it could grow that line. */
static bool has_endless_line(const kl__curl_stream *stream)
{
    enum { MOST_LINE = 1024 * 1024 };
    curl_off_t first_us = 0;
    void *room;

    curl_easy_getinfo(stream->easy, CURLINFO_STARTTRANSFER_TIME_T, &first_us);
    if (stream->head.complete || stream->attempts == 0 || first_us == 0) {
        return false;
    }
    room = kl__malloc(MOST_LINE);
    kl__free(room);
    return room != NULL;
}

void kl__curl_explain(kl__curl_stream *stream, CURLcode status,
                      kl_error *failure)
{
    if (status == CURLE_OK && stream->head.complete) {
        *failure = (kl_error){.retry_after_ms = -1};
    } else if (status == CURLE_OK) {
        /* curl reports no error if the connection ends in the middle of the
         * headers. */
        kl_error_set(failure, KL_EUNAVAILABLE,
                     "%s closed the connection before its answer's headers "
                     "were complete%s",
                     stream->origin, tls_remedy(stream));
    } else if ((int)status == TOO_LARGE ||
               (status == CURLE_OUT_OF_MEMORY && has_endless_line(stream))) {
        kl_error_set(failure, KL_ETOO_LARGE,
                     "%s sent a header line of more than 100 KB: is it an API "
                     "server?",
                     stream->origin);
    } else if (status == CURLE_OUT_OF_MEMORY || status == CURLE_WRITE_ERROR) {
        kl_error_set(failure, KL_ENOMEM, "out of memory for the answer of %s",
                     stream->origin);
    } else if (!explain_connecting(stream, status, failure) &&
               !explain_tls(stream, status, failure)) {
        explain_answer(stream, status, failure);
    }
}
