/*
 * curl_setup.c - makes a curl easy handle from a request: where it goes (the
 * URL for curl, the host and port, the proxy), and all options for curl, each
 * with its reason.
 */
#include "http/curl_loop.h"

#include "base/mem.h"
#include "base/str.h"
#include "http/pem.h"
#include "http/url.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECT_TIMEOUT_MS = 10000, /* DNS, TCP, proxy and TLS together */
    /* A dead peer is noticed within 30 s: on an idle connection by keepalive
     * probes (the first after 10 s, then every 5 s), on a busy one by
     * TCP_USER_TIMEOUT, when sent bytes are not acknowledged. */
    KEEPALIVE_IDLE_S = 10,
    KEEPALIVE_INTERVAL_S = 5,
    KEEPALIVE_PROBES = 3,
    USER_TIMEOUT_MS = 25000,
    /* The maximum of one read from the socket. With curl's default of 16 KB,
     * every two watch events cost a read, a poll and an acknowledgement. */
    BUFFER_SIZE = 64 * 1024,
    /* The same for a write request, whose response is one object; and the size
     * of its upload buffer. With very many writes in flight, curl's default of
     * 64 KB for each would become resident memory and stay so. */
    WRITE_BUFFER_SIZE = 16 * 1024,
    /* The upload buffer of a request without a body. libcurl 7.88 copies the
     * head into it, over HTTP/1.1 with TLS, and keeps it until the end of a
     * watch. Only what is written becomes resident, if it does not fit where
     * the handshake has just freed memory, as 16 KB do: a thousand watches take
     * 10 MB less. */
    HEAD_BUFFER_SIZE = 64 * 1024
};

/* Calls curl_easy_setopt; `status` keeps the first failure of several calls. */
#define SET(easy, status, option, value)                             \
    do {                                                             \
        CURLcode set_ = curl_easy_setopt((easy), (option), (value)); \
        *(status) = *(status) != CURLE_OK ? *(status) : set_;        \
    } while (0)

/* ---- target ---- */

/* Returns "host:port" of a parsed URL, owned by the caller; NULL: out of
 * memory. */
static char *host_and_port(CURLU *url)
{
    char *host = NULL, *port = NULL, *text = NULL;

    if (curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
        text = port != NULL ? kl__strprintf("%s:%s", host, port)
                            : kl__strdup(host);
    }
    curl_free(port);
    curl_free(host);
    return text;
}

/* Joins base and target. The base may end with a slash; the target begins with
 * one. */
static char *join_url(const kl__request *request)
{
    size_t length = strlen(request->base_url);

    while (length > 0 && request->base_url[length - 1] == '/') {
        length--;
    }
    return kl__strprintf("%.*s%s", (int)length, request->base_url,
                         request->target);
}

static kl_code fail_no_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a request");
}

static kl_code parse_url(CURLU *url, const kl__request *request, kl_error *err)
{
    char *joined = join_url(request);
    CURLUcode status = joined != NULL ? curl_url_set(url, CURLUPART_URL, joined,
                                                     CURLU_PATH_AS_IS)
                                      : CURLUE_OUT_OF_MEMORY;

    kl__free(joined);
    if (status == CURLUE_OUT_OF_MEMORY) {
        return fail_no_memory(err);
    }
    if (status != CURLUE_OK) {
        char shown[256];

        kl__url_show(shown, sizeof(shown), request->base_url);
        return kl_error_set(err, KL_ECONFIG,
                            "'%s' is no server URL: write https://host:port",
                            shown);
    }
    return KL_OK;
}

/* Sets `secure` and `origin` from the URL. */
static kl_code note_origin(kl__curl_stream *stream, CURLU *url, kl_error *err)
{
    char *scheme = NULL;
    kl_code code = KL_OK;

    if (curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK) {
        return fail_no_memory(err);
    }
    stream->secure = strcasecmp(scheme, "https") == 0;
    stream->origin = host_and_port(url);
    if (stream->origin == NULL) {
        code = fail_no_memory(err);
    } else if (!stream->secure && strcasecmp(scheme, "http") != 0) {
        code = kl_error_set(err, KL_ECONFIG,
                            "cannot speak %s: a server URL begins with "
                            "https:// or http://",
                            scheme);
    }
    curl_free(scheme);
    return code;
}

/*
 * Applies tls-server-name. The URL gets that name as its host: TLS sends it
 * (SNI), and the certificate must be valid for it. CURLOPT_CONNECT_TO makes
 * curl connect to the real host and port, and the header Host names these.
 */
static kl_code rename_server(kl__curl_stream *stream, CURLU *url, kl_error *err)
{
    const char *name =
        stream->tls != NULL ? kl__tls_get(stream->tls)->server_name : NULL;
    char *host, *route;
    CURLUcode status = CURLUE_OUT_OF_MEMORY;

    if (!stream->secure || name == NULL || name[0] == '\0') {
        return KL_OK;
    }
    host = kl__strprintf(strchr(name, ':') != NULL ? "[%s]" : "%s", name);
    route = kl__strprintf("::%s", stream->origin); /* for any host and port */
    if (host != NULL && route != NULL) {
        stream->connect_to = curl_slist_append(NULL, route);
        status = curl_url_set(url, CURLUPART_HOST, host, 0);
    }
    kl__free(route);
    kl__free(host);
    if (status == CURLUE_OUT_OF_MEMORY || stream->connect_to == NULL) {
        return fail_no_memory(err);
    }
    if (status != CURLUE_OK) {
        return kl_error_set(err, KL_ECONFIG,
                            "tls-server-name '%s' is no host name", name);
    }
    return KL_OK;
}

/* Sets `proxy`, for messages. Not the proxy's URL, which may contain a
 * password. */
static kl_code note_proxy(kl__curl_stream *stream, const kl__request *request,
                          kl_error *err)
{
    CURLU *url;
    CURLUcode status = CURLUE_OUT_OF_MEMORY;

    if (request->proxy_url == NULL) {
        return KL_OK;
    }
    url = curl_url();
    if (url != NULL) {
        status = curl_url_set(url, CURLUPART_URL, request->proxy_url,
                              CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME);
    }
    if (status == CURLUE_OK) {
        stream->proxy = host_and_port(url);
    }
    curl_url_cleanup(url);
    if (status != CURLUE_OK && status != CURLUE_OUT_OF_MEMORY) {
        return kl_error_set(err, KL_ECONFIG,
                            "proxy-url is no URL: write http://host:port");
    }
    return stream->proxy != NULL ? KL_OK : fail_no_memory(err);
}

/* Sets `origin`, `secure`, `proxy` and `connect_to`, and `*text` to the URL for
 * curl; the caller frees that with curl_free, also after a failure. Errors as
 * kl__curl_setup. */
static kl_code find_target(kl__curl_stream *stream, const kl__request *request,
                           char **text, kl_error *err)
{
    CURLU *url = curl_url();
    kl_code code =
        url != NULL ? parse_url(url, request, err) : fail_no_memory(err);

    if (code == KL_OK) {
        code = note_origin(stream, url, err);
    }
    if (code == KL_OK) {
        code = rename_server(stream, url, err);
    }
    if (code == KL_OK) {
        code = note_proxy(stream, request, err);
    }
    if (code == KL_OK &&
        curl_url_get(url, CURLUPART_URL, text, 0) != CURLUE_OK) {
        code = fail_no_memory(err);
    }
    curl_url_cleanup(url);
    return code;
}

/* ---- sockets ---- */

static void set_number(int fd, int level, int name, int number)
{
    /* A failure is ignored: connections also work without these options. */
    (void)setsockopt(fd, level, name, &number, sizeof(number));
}

/* Called by curl before it looks up a name, or the address in its place. */
static int begin_lookup(void *resolver, void *reserved, void *arg)
{
    (void)resolver;
    (void)reserved;
    kl__curl_begin_lookup(arg);
    return 0;
}

/* Called by curl for a new connection. The socket is close-on-exec from the
 * start and notices a dead peer soon. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    kl__curl_stream *stream = arg;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC,
                    address->protocol);

    (void)purpose;
    stream->dials = true;
    stream->socket_errno = fd < 0 ? errno : 0;
    if (fd < 0) {
        return CURL_SOCKET_BAD;
    }
    if (address->family == AF_INET || address->family == AF_INET6) {
        set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
        set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
        set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
        set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
        set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
    }
    if (!kl__carrier_watch(&stream->transport->carried, fd)) {
        stream->socket_errno = errno;
        close(fd);
        return CURL_SOCKET_BAD;
    }
    kl__curl_note_socket(stream->transport, fd);
    return fd;
}

/* Called by curl at the end of a connection, maybe after the stream that opened
 * it has been freed. */
static int close_socket(void *arg, curl_socket_t fd)
{
    kl__curl_transport *transport = arg;

    kl__curl_forget_socket(transport, fd);
    kl__carrier_forget(&transport->carried, fd);
    return close(fd);
}

/* Called by curl when the TCP connection is made and the TLS handshake
 * begins. */
static CURLcode begin_tls(CURL *easy, void *context, void *arg)
{
    kl__curl_stream *stream = arg;

    (void)easy;
    kl__curl_end_lookup(stream);
    stream->in_tls = true;
    return stream->trust == NULL || kl__trust_apply(stream->trust, context)
               ? CURLE_OK
               : CURLE_OUT_OF_MEMORY;
}

/* ---- headers and body ---- */

static bool has_header(const kl__request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool add_header(kl__curl_stream *stream, const char *line)
{
    struct curl_slist *longer = curl_slist_append(stream->headers, line);

    stream->headers = longer != NULL ? longer : stream->headers;
    return longer != NULL;
}

static bool add_field(kl__curl_stream *stream, const kl__header *header)
{
    /* curl sends a header with an empty value if it is given as "name;". */
    char *line = header->value[0] != '\0'
                     ? kl__strprintf("%s: %s", header->name, header->value)
                     : kl__strprintf("%s;", header->name);
    bool added = line != NULL && add_header(stream, line);

    if (line != NULL) {
        kl__wipe(line, strlen(line)); /* it may contain a token */
    }
    kl__free(line);
    return added;
}

static kl_code set_headers(kl__curl_stream *stream, const kl__request *request,
                           kl_error *err)
{
    /* Do not wait for "100 Continue", and do not send a body as a form. */
    bool ok = add_header(stream, "Expect:") &&
              (has_header(request, "Content-Type") ||
               add_header(stream, "Content-Type:")) &&
              (has_header(request, "Accept-Encoding") ||
               add_header(stream, "Accept-Encoding: gzip"));

    if (stream->connect_to != NULL) {
        kl__header host = {"Host", stream->origin};

        ok = ok && add_field(stream, &host);
    }
    for (size_t i = 0; ok && i < request->header_count; i++) {
        const kl__header *header = &request->headers[i];

        if (strpbrk(header->name, "\r\n") != NULL ||
            strpbrk(header->value, "\r\n") != NULL) {
            return kl_error_set(err, KL_ECONFIG,
                                "header %.32s holds a line break: look for one "
                                "at the end of a token or a name",
                                header->name);
        }
        ok = add_field(stream, header);
    }
    return ok ? KL_OK
              : kl_error_set(err, KL_ENOMEM, "out of memory for headers");
}

static bool is_method_in(const char *method, const char *const *methods)
{
    for (; *methods != NULL; methods++) {
        if (strcmp(method, *methods) == 0) {
            return true;
        }
    }
    return false;
}

static kl_code set_method(kl__curl_stream *stream, const kl__request *request,
                          CURLcode *status, kl_error *err)
{
    static const char *const with_body[] = {"POST", "PUT", "PATCH", NULL};
    static const char *const once[] = {"POST", "PATCH", NULL};
    CURL *easy = stream->easy;

    stream->repeatable = !request->once && !is_method_in(request->method, once);
    if (request->body != NULL || is_method_in(request->method, with_body)) {
        const char *bytes = request->body != NULL ? request->body : "";
        size_t length = request->body != NULL ? request->body_length : 0;

        stream->body = kl__strndup(bytes, length);
        if (stream->body == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a body");
        }
        SET(easy, status, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
        SET(easy, status, CURLOPT_POSTFIELDS, stream->body);
    }
    if (strcmp(request->method, "HEAD") == 0) {
        SET(easy, status, CURLOPT_NOBODY, 1L);
    } else {
        SET(easy, status, CURLOPT_CUSTOMREQUEST, request->method);
    }
    return KL_OK;
}

/* ---- TLS ---- */

/* Without a copy in curl: a private key is in memory once, and kl__tls wipes
 * it. For an empty text libcurl 8.22 returns an error that does not say what is
 * wrong; for a line without content, one that says so. */
static void set_blob(CURL *easy, CURLcode *status, CURLoption option,
                     const char *pem)
{
    if (pem != NULL) {
        const char *text = *pem != '\0' ? pem : "\n";
        struct curl_blob blob = {(void *)(uintptr_t)text, strlen(text),
                                 CURL_BLOB_NOCOPY};

        SET(easy, status, option, &blob);
    }
}

/* NULL: the variable is not set, or empty, which is the same for Go's programs.
 */
static const char *path_of_environment(const char *name)
{
    const char *path = secure_getenv(name);

    return path != NULL && *path != '\0' ? path : NULL;
}

/* Gives libcurl no CAs to read, or only the path of `trust`: begin_tls makes
 * the connection trust those. Both defaults are cleared. The folder of CAs
 * would be trusted in addition to `ca`; and if nothing is verified, reading the
 * system's CAs would block the loop for some 40 ms. */
static void set_shared_ca(const kl__curl_stream *stream, CURLcode *status)
{
    const char *path =
        stream->trust != NULL ? kl__trust_path(stream->trust) : NULL;

    SET(stream->easy, status, CURLOPT_CAINFO, (char *)NULL);
    SET(stream->easy, status, CURLOPT_CAPATH, path);
}

/* The CAs of the system, unless SSL_CERT_FILE and SSL_CERT_DIR name others, as
 * for Go's programs and OpenSSL's. libcurl has the path of one file from its
 * build. In the one file of the command this is Debian's path; the other
 * distributions keep that file in another place. */
static void set_system_ca(kl__curl_stream *stream, bool may_share,
                          CURLcode *status)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Alpine */
        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, Red Hat */
        "/etc/ssl/ca-bundle.pem",             /* openSUSE */
        "/etc/ssl/cert.pem",                  /* others */
    };
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    const char *file = path_of_environment("SSL_CERT_FILE");
    const char *folder = path_of_environment("SSL_CERT_DIR");

    if (file == NULL && curl->cainfo != NULL &&
        access(curl->cainfo, R_OK) != 0) {
        for (size_t i = 0;
             i < sizeof(places) / sizeof(places[0]) && file == NULL; i++) {
            file = access(places[i], R_OK) == 0 ? places[i] : NULL;
        }
    }
    if (may_share) {
        stream->trust =
            kl__trust_of_system(file != NULL ? file : curl->cainfo,
                                folder != NULL ? folder : curl->capath);
    }
    if (stream->trust != NULL) {
        set_shared_ca(stream, status);
        return;
    }
    if (file != NULL) {
        SET(stream->easy, status, CURLOPT_CAINFO, file);
    }
    if (folder != NULL) {
        SET(stream->easy, status, CURLOPT_CAPATH, folder);
    }
}

/* Sets which CAs are trusted. With a proxy libcurl reads them: it calls
 * begin_tls for the TLS to the proxy, too, which the cluster's CA says nothing
 * about. */
static void set_ca(kl__curl_stream *stream, const kl__tls_options *tls,
                   CURLcode *status)
{
    bool may_share = stream->proxy == NULL && !tls->insecure;
    kl__trust *trust;

    if (tls->ca == NULL && !tls->insecure) {
        set_system_ca(stream, may_share, status);
        return;
    }
    trust = may_share ? kl__tls_trust(stream->tls) : NULL;
    stream->trust = trust != NULL ? kl__trust_ref(trust) : NULL;
    set_shared_ca(stream, status);
    if (tls->ca != NULL && trust == NULL) {
        set_blob(stream->easy, status, CURLOPT_CAINFO_BLOB,
                 kl__tls_trusted(stream->tls));
    }
}

static void set_tls(kl__curl_stream *stream, CURLcode *status)
{
    static const kl__tls_options defaults = {0};
    const kl__tls_options *tls =
        stream->tls != NULL ? kl__tls_get(stream->tls) : &defaults;
    CURL *easy = stream->easy;

    /* OpenSSL of some systems would still speak TLS 1.0. */
    SET(easy, status, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(easy, status, CURLOPT_SSL_VERIFYPEER, tls->insecure ? 0L : 1L);
    SET(easy, status, CURLOPT_SSL_VERIFYHOST, tls->insecure ? 0L : 2L);
    set_ca(stream, tls, status);
    /* check_key refuses keys with a passphrase. This one is for anything else
     * that OpenSSL takes for encrypted: without it, libcurl 7.88 follows a NULL
     * pointer in its passwd_callback. */
    SET(easy, status, CURLOPT_KEYPASSWD, "");
    /* For the CAs of `trust`, and for better error messages; libcurl with
     * GnuTLS does not support it. */
    (void)curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, begin_tls);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, stream);
    set_blob(easy, status, CURLOPT_SSLCERT_BLOB, tls->cert);
    set_blob(easy, status, CURLOPT_SSLKEY_BLOB, tls->key);
}

static kl_code check_key(const kl__curl_stream *stream, kl_error *err)
{
    if (stream->secure && stream->tls != NULL &&
        kl__pem_has_passphrase(kl__tls_get(stream->tls)->key)) {
        return kl_error_set(err, KL_ECONFIG,
                            "the client key for %s " KL__PEM_PASSPHRASE,
                            stream->origin);
    }
    return KL_OK;
}

/* ---- all of it ---- */

static void set_callbacks(kl__curl_stream *stream, CURLcode *status)
{
    CURL *easy = stream->easy;

    SET(easy, status, CURLOPT_PRIVATE, stream);
    SET(easy, status, CURLOPT_ERRORBUFFER, stream->curl_message);
    SET(easy, status, CURLOPT_HEADERFUNCTION, kl__curl_on_header);
    SET(easy, status, CURLOPT_HEADERDATA, stream);
    SET(easy, status, CURLOPT_WRITEFUNCTION, kl__curl_on_body);
    SET(easy, status, CURLOPT_WRITEDATA, stream);
    SET(easy, status, CURLOPT_PREREQFUNCTION, kl__curl_on_send);
    SET(easy, status, CURLOPT_PREREQDATA, stream);
    if (stream->secure) {
        SET(easy, status, CURLOPT_DEBUGFUNCTION, kl__curl_on_words);
        SET(easy, status, CURLOPT_DEBUGDATA, stream);
        SET(easy, status, CURLOPT_VERBOSE, 1L);
    }
    SET(easy, status, CURLOPT_RESOLVER_START_FUNCTION, begin_lookup);
    SET(easy, status, CURLOPT_RESOLVER_START_DATA, stream);
    SET(easy, status, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(easy, status, CURLOPT_OPENSOCKETDATA, stream);
    SET(easy, status, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    SET(easy, status, CURLOPT_CLOSESOCKETDATA, stream->transport);
}

static void set_connection(kl__curl_stream *stream, const kl__request *request,
                           CURLcode *status)
{
    CURL *easy = stream->easy;

    SET(easy, status, CURLOPT_NOSIGNAL, 1L);
    SET(easy, status, CURLOPT_BUFFERSIZE,
        (long)(stream->body != NULL ? WRITE_BUFFER_SIZE : BUFFER_SIZE));
    SET(easy, status, CURLOPT_UPLOAD_BUFFERSIZE,
        (long)(stream->body != NULL ? WRITE_BUFFER_SIZE : HEAD_BUFFER_SIZE));
    SET(easy, status, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    SET(easy, status, CURLOPT_FRESH_CONNECT, stream->fresh ? 1L : 0L);
    if (stream->secure) {
        SET(easy, status, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
        /* Wait for a connection that is being opened, to share it, rather than
         * open one for each request. If it fails, end_waiting in curl_loop.c
         * ends the waiting requests. */
        SET(easy, status, CURLOPT_PIPEWAIT, stream->fresh ? 0L : 1L);
    } else {
        SET(easy, status, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    }
    /* Set both, even to "": otherwise curl reads them from the environment. */
    SET(easy, status, CURLOPT_PROXY,
        request->proxy_url != NULL ? request->proxy_url : "");
    SET(easy, status, CURLOPT_NOPROXY, "");
    SET(easy, status, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(easy, status, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    SET(easy, status, CURLOPT_CONNECT_TO, stream->connect_to);
}

static kl_code set_options(kl__curl_stream *stream, const kl__request *request,
                           const char *url, kl_error *err)
{
    CURLcode status = CURLE_OK;
    kl_code code = set_headers(stream, request, err);

    if (code == KL_OK) {
        code = set_method(stream, request, &status, err);
    }
    if (code != KL_OK) {
        return code;
    }
    SET(stream->easy, &status, CURLOPT_URL, url);
    SET(stream->easy, &status, CURLOPT_PATH_AS_IS, 1L);
    SET(stream->easy, &status, CURLOPT_HTTPHEADER, stream->headers);
    set_callbacks(stream, &status);
    set_connection(stream, request, &status);
    if (stream->secure) {
        set_tls(stream, &status);
    }
    /* Ending a transfer must not wait for a DNS server that does not answer:
     * curl's resolver thread is left to end by itself. A libcurl before 7.87
     * does not know this option, and waits. */
    (void)curl_easy_setopt(stream->easy, (CURLoption)KL__CURL_QUICK_EXIT, 1L);
    if (status == CURLE_OUT_OF_MEMORY) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    }
    if (status != CURLE_OK) {
        return kl_error_set(err, KL_ECONFIG,
                            "libcurl %s cannot do this: %s; it has to be 7.80 "
                            "or newer, with TLS by OpenSSL or GnuTLS",
                            curl_version_info(CURLVERSION_NOW)->version,
                            curl_easy_strerror(status));
    }
    return KL_OK;
}

kl_code kl__curl_setup(kl__curl_stream *stream, const kl__request *request,
                       kl_error *err)
{
    char *url = NULL;
    kl_code code = find_target(stream, request, &url, err);

    if (code == KL_OK) {
        code = check_key(stream, err);
    }
    if (code == KL_OK) {
        stream->easy = curl_easy_init();
        code =
            stream->easy != NULL
                ? set_options(stream, request, url, err)
                : kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    }
    if (code != KL_OK) {
        curl_easy_cleanup(stream->easy);
        stream->easy = NULL;
    }
    curl_free(url);
    return code;
}
