/*
 * curl_target.c - computes where a request goes: the URL for curl, the host and
 * port to connect to, and their names for error messages.
 */
#include "http/curl_loop.h"

#include "base/mem.h"
#include "base/str.h"
#include "http/url.h"

#include <string.h>
#include <strings.h>

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

kl_code kl__curl_target(kl__curl_stream *stream, const kl__request *request,
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
