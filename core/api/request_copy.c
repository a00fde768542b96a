/*
 * request_copy.c - checks a kl_call and makes a request with a copy of it.
 */
#include "api/requester.h"

#include "api/user_agent.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>
#include <strings.h>

enum { DEFAULT_TIMEOUT_MS = 30000 };

/* True if it is a method: upper-case letters and hyphens. */
static bool is_method(const char *method)
{
    return method != NULL && method[0] != '\0' &&
           strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == strlen(method);
}

static bool is_target(const char *target)
{
    return target != NULL && target[0] == '/' && kl__is_header_text(target) &&
           strpbrk(target, " #") == NULL;
}

static bool is_optional_header(const char *text)
{
    return text == NULL || kl__is_header_text(text);
}

/* True for a header name that is a token (RFC 9110) and that the client does
 * not set itself. */
static bool is_header_name(const char *name)
{
    static const char *const own[] = {
        "accept", "content-type",   "authorization", "user-agent",
        "host",   "content-length", "connection",    "transfer-encoding"};

    if (name == NULL || name[0] == '\0' || !kl__is_header_text(name) ||
        strpbrk(name, " \t:;,\"()/<>?@[\\]{}=") != NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcasecmp(name, own[i]) == 0) {
            return false;
        }
    }
    return true;
}

static kl_code check_headers(const kl_call *call, kl_error *err)
{
    for (size_t i = 0; i < call->header_count; i++) {
        const kl_header *header = &call->headers[i];

        if (!is_header_name(header->name)) {
            return kl_error_set(err, KL_EINVAL,
                                "%.64s is no header that a request may add: "
                                "its name is a token, and not one that the "
                                "client sets itself",
                                header->name != NULL ? header->name : "(null)");
        }
        if (header->value == NULL || !kl__is_header_text(header->value)) {
            return kl_error_set(err, KL_EINVAL,
                                "the value of header %.64s is one line of "
                                "printable ASCII",
                                header->name);
        }
    }
    return KL_OK;
}

static kl_code check_call(const kl_call *call, kl_error *err)
{
    if (!is_method(call->method)) {
        return kl_error_set(err, KL_EINVAL,
                            "a method is upper-case letters: \"GET\"");
    }
    if (!is_target(call->target)) {
        return kl_error_set(err, KL_EINVAL,
                            "a target begins with \"/\" and is "
                            "percent-encoded: \"/api/v1/pods?limit=1\"");
    }
    if (!is_optional_header(call->content_type) ||
        !is_optional_header(call->accept)) {
        return kl_error_set(err, KL_EINVAL,
                            "a media type is one line of printable ASCII");
    }
    if (!is_optional_header(call->authorization)) {
        return kl_error_set(err, KL_EINVAL,
                            "an Authorization is one line of printable ASCII");
    }
    return check_headers(call, err);
}

/* Copies a text to *at and moves *at behind it. */
static const char *keep_text(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);

    *at += size;
    return copy;
}

static void keep_header(kl_request *request, char **at, const char *name,
                        const char *value)
{
    request->headers[request->call.header_count++] = (kl__header){
        .name = keep_text(at, name), .value = keep_text(at, value)};
}

static size_t size_of_texts(const kl_call *call, const char *accept,
                            const char *type)
{
    size_t size = strlen(call->method) + strlen(call->target) + strlen(accept) +
                  strlen(type) + call->body_length + sizeof("Accept") +
                  sizeof("Content-Type") + 5;

    if (call->authorization != NULL) {
        size += sizeof("Authorization") + strlen(call->authorization) + 1;
    }
    for (size_t i = 0; i < call->header_count; i++) {
        size +=
            strlen(call->headers[i].name) + strlen(call->headers[i].value) + 2;
    }
    return size;
}

/* Copies the texts of the call into one block. False: out of memory. */
static bool keep_call(kl_request *request, const kl_call *call)
{
    static const char json[] = "application/json";
    const char *accept = call->accept != NULL ? call->accept : json;
    const char *type = call->content_type != NULL ? call->content_type : json;
    char *at;

    request->texts = kl__malloc(size_of_texts(call, accept, type));
    request->headers =
        kl__calloc(call->header_count + 3, sizeof(*request->headers));
    if (request->texts == NULL || request->headers == NULL) {
        return false;
    }
    at = request->texts;
    request->call.headers = request->headers;
    request->call.method = keep_text(&at, call->method);
    request->call.target = keep_text(&at, call->target);
    keep_header(request, &at, "Accept", accept);
    if (call->body != NULL) {
        keep_header(request, &at, "Content-Type", type);
    }
    if (call->authorization != NULL) {
        keep_header(request, &at, "Authorization", call->authorization);
    }
    for (size_t i = 0; i < call->header_count; i++) {
        keep_header(request, &at, call->headers[i].name,
                    call->headers[i].value);
    }
    if (call->body != NULL) {
        request->call.body = memcpy(at, call->body, call->body_length);
        request->call.body_length = call->body_length;
    }
    return true;
}

static bool is_read(const char *method)
{
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
           strcmp(method, "OPTIONS") == 0;
}

kl_request *kl__request_new(const kl_call *call, kl_error *err)
{
    int timeout_ms =
        call->timeout_ms > 0 ? call->timeout_ms : DEFAULT_TIMEOUT_MS;
    kl_request *request;

    if (check_call(call, err) != KL_OK) {
        return NULL;
    }
    request = kl__calloc(1, sizeof(*request));
    if (request == NULL || !keep_call(request, call)) {
        if (request != NULL) {
            kl__free(request->texts);
            kl__free(request->headers);
        }
        kl__free(request);
        kl_error_set(err, KL_ENOMEM, "out of memory for a request");
        return NULL;
    }
    atomic_init(&request->refs, 1);
    kl__list_init(&request->node);
    kl__list_init(&request->outbox_node);
    kl__list_init(&request->news_node);
    kl__list_init(&request->ready.node);
    request->began_ms = kl__clock_now(kl__clock_real());
    request->deadline_ms = request->began_ms + timeout_ms;
    request->is_write = !is_read(call->method);
    request->no_retry = call->no_retry;
    request->streams = call->streams;
    request->call.once = request->is_write || call->no_retry;
    request->call.keeps_headers = true;
    request->call.is_brief = !call->streams;
    request->call.send_by_ms = call->send_by_ms;
    kl__live_add(KL_LIVE_REQUEST, 1);
    return request;
}

void kl__request_destroy(kl_request *request)
{
    kl_reply_clear(&request->reply);
    kl__buf_deinit(&request->bytes);
    kl__buf_deinit(&request->body);
    kl__free(request->headers);
    kl__free(request->texts);
    kl__free(request);
    kl__live_add(KL_LIVE_REQUEST, -1);
}
