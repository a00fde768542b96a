/*
 * call.c - kl_client_call: one request and its whole answer, for callers that
 * speak to the server themselves.
 */
#include "api/client.h"

#include "api/user_agent.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "object/status.h"

#include <string.h>

enum { MAX_BODY = 64 * 1024 * 1024, DEFAULT_TIMEOUT_MS = 30000 };

/* A token of RFC 9110, as far as methods need it. */
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
    return kl__check_process(err);
}

/* Reads the body of an answered request into `reply`, or leaves it empty. */
static kl_code read_reply(kl__stream *stream, const kl__response *response,
                          int64_t deadline_ms, kl_reply *reply, kl_error *err)
{
    kl__buf body = {0};
    kl_code code =
        kl__client_read_all(stream, MAX_BODY, deadline_ms, NULL, &body, err);

    if (code != KL_OK) {
        kl__buf_deinit(&body);
        return code;
    }
    reply->status = response->status;
    reply->content_type = kl__strdup(response->content_type);
    reply->body = kl__buf_take(&body, &reply->body_length);
    if (response->warnings[0] != '\0') {
        reply->warnings = kl__strdup(response->warnings);
    }
    if (reply->content_type == NULL || reply->body == NULL ||
        (response->warnings[0] != '\0' && reply->warnings == NULL)) {
        kl_reply_clear(reply);
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    return KL_OK;
}

kl_code kl_client_call(kl_client *client, const kl_call *call, kl_reply *reply,
                       kl_error *err)
{
    int timeout_ms =
        call->timeout_ms > 0 ? call->timeout_ms : DEFAULT_TIMEOUT_MS;
    int64_t deadline_ms = kl__clock_now(kl__clock_real()) + timeout_ms;
    const char *type = call->content_type;
    kl__header headers[] = {
        {"Accept", call->accept != NULL ? call->accept : "application/json"},
        {"Content-Type", type != NULL ? type : "application/json"},
    };
    kl__request request = {.method = call->method,
                           .target = call->target,
                           .headers = headers,
                           .header_count = call->body != NULL ? 2 : 1,
                           .body = call->body,
                           .body_length = call->body_length};
    kl__response response;
    kl__stream *stream;
    kl_code code;

    *reply = (kl_reply){0};
    code = check_call(call, err);
    if (code == KL_OK) {
        code = kl__client_open(client, &request, deadline_ms, NULL, &stream,
                               &response, err);
    }
    if (code != KL_OK) {
        return code;
    }
    code = read_reply(stream, &response, deadline_ms, reply, err);
    kl__stream_close(stream);
    return code;
}

void kl_reply_clear(kl_reply *reply)
{
    kl__free(reply->content_type);
    kl__free(reply->body);
    kl__free(reply->warnings);
    *reply = (kl_reply){0};
}

kl_code kl_status_error(int http_status, const char *body, size_t length,
                        kl_error *err)
{
    return kl__status_error(http_status, body, length, -1, err);
}
