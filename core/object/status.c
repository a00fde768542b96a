/*
 * status.c - see status.h. The reason of a Status decides the code; the HTTP
 * status decides it only if the reason is missing or unknown: 409 and 504 have
 * several meanings, and an ERROR event of a watch has no HTTP status.
 */
#include "object/status.h"

#include "base/str.h"
#include "json/text.h"
#include "kubelua/log.h"

#include <stdio.h>
#include <string.h>

/* The reasons: docs/KUBERNETES.md#status-objects. */
static kl_code code_of_reason(const char *reason)
{
    static const struct {
        const char *reason;
        kl_code code;
    } reasons[] = {
        {"BadRequest", KL_EBAD_REQUEST},
        {"Unauthorized", KL_EUNAUTHORIZED},
        {"Forbidden", KL_EFORBIDDEN},
        {"NotFound", KL_ENOT_FOUND},
        {"MethodNotAllowed", KL_ENOT_ALLOWED},
        {"NotAcceptable", KL_EBAD_REQUEST},
        {"UnsupportedMediaType", KL_EBAD_REQUEST},
        {"AlreadyExists", KL_EALREADY_EXISTS},
        {"Conflict", KL_ECONFLICT},
        {"Gone", KL_EGONE},
        {"Expired", KL_EGONE},
        {"RequestEntityTooLarge", KL_ETOO_LARGE},
        {"Invalid", KL_EINVALID},
        {"TooManyRequests", KL_ETOO_MANY_REQUESTS},
        {"InternalError", KL_EINTERNAL},
        {"StorageReadError", KL_EINTERNAL},
        {"ServerTimeout", KL_EUNAVAILABLE},
        {"Timeout", KL_EUNAVAILABLE},
        {"ServiceUnavailable", KL_EUNAVAILABLE},
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (kl__streq(reason, reasons[i].reason)) {
            return reasons[i].code;
        }
    }
    return KL_OK; /* no reason, or one of a newer server */
}

static kl_code code_of_http(int http_status)
{
    static const struct {
        int status;
        kl_code code;
    } statuses[] = {
        {401, KL_EUNAUTHORIZED}, {403, KL_EFORBIDDEN},
        {404, KL_ENOT_FOUND},    {405, KL_ENOT_ALLOWED},
        {408, KL_EUNAVAILABLE},  {409, KL_ECONFLICT},
        {410, KL_EGONE},         {413, KL_ETOO_LARGE},
        {422, KL_EINVALID},      {429, KL_ETOO_MANY_REQUESTS},
        {502, KL_EUNAVAILABLE},  {503, KL_EUNAVAILABLE},
        {504, KL_EUNAVAILABLE},
    };

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (statuses[i].status == http_status) {
            return statuses[i].code;
        }
    }
    return http_status >= 400 && http_status < 500 ? KL_EBAD_REQUEST
                                                   : KL_EINTERNAL;
}

static const char *text_of(const kl_value *object, const char *name)
{
    const kl_value *value = kl_value_get(object, name);

    return kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL)
                                             : NULL;
}

/* True if the request asked for a resourceVersion that the server has not
 * reached yet. The cause says so; servers before 1.17 say it in the message
 * only (docs/KUBERNETES.md#version-ahead). */
static bool is_version_ahead(const kl_value *status, const char *message)
{
    const kl_value *causes =
        kl_value_get(kl_value_get(status, "details"), "causes");
    const kl_value *cause;
    kl_value_iter iter = {0};

    while ((cause = kl_value_next(causes, &iter, NULL)) != NULL) {
        if (kl__streq(text_of(cause, "reason"), "ResourceVersionTooLarge")) {
            return true;
        }
    }
    return strstr(message, "Too large resource version") != NULL;
}

static const char no_body[] = "an answer without a body";
static const char html_page[] =
    "an HTML page, as of a proxy in front of the API server: ";

/* What the user can do about the error; "" if there is no advice. */
static const char *remedy_of(kl_code code, const char *message)
{
    if (code == KL_EFORBIDDEN && (strstr(message, " cannot list ") != NULL ||
                                  strstr(message, " cannot watch ") != NULL)) {
        return "\n    RBAC must allow it: bind this user to a Role (in that "
               "namespace) or a ClusterRole with the verbs list and watch on "
               "this resource; `kubectl auth can-i` shows what is allowed";
    }
    if (code == KL_EFORBIDDEN && strstr(message, " cannot ") != NULL) {
        return "\n    RBAC must allow it: bind this user to a Role (in that "
               "namespace) or a ClusterRole with this verb on this resource; "
               "`kubectl auth can-i` shows what is allowed";
    }
    if (code == KL_EUNAUTHORIZED) {
        return "\n    The server does not accept the credential: look at the "
               "token, token file, client certificate or exec plugin of the "
               "kubeconfig's user, or at the mounted service account token; "
               "it may have expired, or be for another cluster";
    }
    /* Messages of Go's HTTP server and of nginx; no message of kube-apiserver
     * contains them. */
    if (code == KL_EBAD_REQUEST && (strstr(message, "to an HTTPS server") ||
                                    strstr(message, "to HTTPS port"))) {
        return "\n    The port is for TLS: use https:// in the server's URL";
    }
    /* This is no kube-apiserver: that one answers "404 page not found" or sends
     * a Status. */
    if (code == KL_ENOT_FOUND &&
        (strcmp(message, no_body) == 0 ||
         strncmp(message, html_page, sizeof(html_page) - 1) == 0)) {
        return "\n    This is no answer of an API server: look at the server's "
               "URL in the kubeconfig: host, port, and the path that a "
               "gateway may want (as https://host/k8s/clusters/c-1)";
    }
    return "";
}

static kl_code fill_error(kl_error *err, kl_code code, int http_status,
                          const char *message)
{
    /* The message is cut so that the remedy always fits behind it. */
    const int longest = KL_ERROR_MESSAGE_SIZE - 400;

    kl_error_set(err, code, "HTTP %d: %.*s%s", http_status, longest, message,
                 remedy_of(code, message));
    if (err != NULL) {
        err->http_status = http_status;
    }
    return code;
}

static long retry_after_of(const kl_value *status)
{
    const long longest_s = 24L * 60 * 60;
    int64_t seconds = kl_value_integer(
        kl_value_get(kl_value_get(status, "details"), "retryAfterSeconds"));

    if (seconds <= 0) {
        return -1;
    }
    return 1000 * (seconds < longest_s ? (long)seconds : longest_s);
}

/* The message of the Status, with a NUL byte in it shown; "": none. */
static const char *show_message(const kl_value *status, char *shown,
                                size_t size)
{
    const kl_value *value = kl_value_get(status, "message");
    size_t length = 0;
    const char *text = kl_value_type(value) == KL_STRING
                           ? kl_value_string(value, &length)
                           : "";

    kl_text_escape(shown, size, text, length, KL_INDENTED_LINES);
    return shown;
}

/* `http_status` 0: use the code in the Status. */
static kl_code fill_from_status(const kl_value *status, int http_status,
                                kl_error *err)
{
    const char *reason = text_of(status, "reason");
    char shown[KL_ERROR_MESSAGE_SIZE];
    const char *message = show_message(status, shown, sizeof(shown));
    kl_code code = code_of_reason(reason);
    int64_t inner = kl_value_integer(kl_value_get(status, "code"));

    if (http_status == 0) {
        http_status = inner >= 100 && inner < 1000 ? (int)inner : 500;
    }
    if (code == KL_OK) {
        code = code_of_http(http_status);
    }
    if (is_version_ahead(status, message)) {
        code = KL_EVERSION_AHEAD;
    }
    if (message[0] == '\0') {
        message = reason != NULL && reason[0] != '\0'
                      ? reason
                      : "the server gives no reason";
    }
    fill_error(err, code, http_status, message);
    if (err != NULL) {
        err->retry_after_ms = retry_after_of(status);
    }
    return code;
}

/* The text behind <title>, up to the next tag; NULL: none. */
static const char *title_of(const char *html, size_t length, size_t *title)
{
    static const char tag[] = "<title>";
    const char *at = memmem(html, length, tag, sizeof(tag) - 1);
    const char *end;

    if (at == NULL) {
        return NULL;
    }
    at += sizeof(tag) - 1;
    end = memchr(at, '<', (size_t)(html + length - at));
    *title = (size_t)((end != NULL ? end : html + length) - at);
    return at;
}

/* The error for a body that is not a Status: from a proxy, or from a server
 * that is not ready. */
static kl_code fill_from_text(int http_status, const char *body, size_t length,
                              kl_error *err)
{
    kl_code code = code_of_http(http_status);
    char excerpt[160], message[256];
    const char *shown = body, *newline;
    size_t title = 0;

    while (length > 0 &&
           kl__byte_class[(unsigned char)*shown] == KL__BYTE_SPACE) {
        shown++;
        length--;
    }
    if (length == 0) {
        return fill_error(err, code, http_status, no_body);
    }
    if (*shown == '<') {
        const char *found = title_of(shown, length, &title);

        kl__text_excerpt(excerpt, sizeof(excerpt),
                         found != NULL ? found : shown,
                         found != NULL ? title : length);
        snprintf(message, sizeof(message), "%s%s", html_page, excerpt);
        return fill_error(err, code, http_status, message);
    }
    newline = memchr(shown, '\n', length);
    kl__text_excerpt(excerpt, sizeof(excerpt), shown,
                     newline != NULL ? (size_t)(newline - shown) : length);
    return fill_error(err, code, http_status, excerpt);
}

static bool is_status(const kl_value *value)
{
    return kl_value_type(value) == KL_OBJECT &&
           kl__streq(text_of(value, "kind"), "Status");
}

kl_code kl__status_error(int http_status, const char *body, size_t length,
                         long retry_after_ms, kl_error *err)
{
    kl_doc *doc = length > 0 ? kl_doc_parse(body, length, NULL) : NULL;
    kl_code code;

    if (doc != NULL && is_status(kl_doc_root(doc))) {
        code = fill_from_status(kl_doc_root(doc), http_status, err);
    } else {
        code = fill_from_text(http_status, body, length, err);
    }
    kl_doc_unref(doc);
    if (err != NULL && retry_after_ms >= 0) {
        err->retry_after_ms = retry_after_ms;
    }
    return code;
}

kl_code kl__status_event_error(const kl_value *status, kl_error *err)
{
    if (!is_status(status)) {
        return kl_error_set(err, KL_EPARSE,
                            "an ERROR event whose object is no Status");
    }
    return fill_from_status(status, 0, err);
}

char *kl__status_continue(const char *body, size_t length)
{
    kl_doc *doc = length > 0 ? kl_doc_parse(body, length, NULL) : NULL;
    const char *token = NULL;
    char *copy = NULL;

    if (doc == NULL) {
        return NULL;
    }
    if (is_status(kl_doc_root(doc))) {
        token = text_of(kl_value_get(kl_doc_root(doc), "metadata"), "continue");
    }
    if (token != NULL && token[0] != '\0') {
        copy = kl__strdup(token);
    }
    kl_doc_unref(doc);
    return copy;
}
