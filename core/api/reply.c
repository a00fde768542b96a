/*
 * reply.c - makes the kl_reply of an answer: its head, warnings and headers.
 */
#include "api/requester.h"

#include "base/mem.h"
#include "base/str.h"
#include "object/status.h"

#include <string.h>
#include <strings.h>

static size_t count_lines(const char *lines)
{
    size_t count = 0;

    for (; *lines != '\0'; lines++) {
        count += *lines == '\n';
    }
    return count;
}

/* Allocates one block: the array of headers, then their texts. */
static bool fill_headers(kl_reply *reply, const char *lines)
{
    size_t count = count_lines(lines), length = strlen(lines);
    kl_header *headers;
    char *text;

    if (count == 0) {
        return true;
    }
    headers = kl__malloc(count * sizeof(*headers) + length + 1);
    if (headers == NULL) {
        return false;
    }
    text = (char *)(headers + count);
    memcpy(text, lines, length + 1);
    reply->headers = headers;
    reply->header_count = count;
    for (size_t i = 0; i < count; i++) {
        char *end = strchr(text, '\n');
        char *colon = strchr(text, ':');

        *end = *colon = '\0';
        headers[i] = (kl_header){.name = text, .value = colon + 1};
        text = end + 1;
    }
    return true;
}

kl_code kl__reply_fill(kl_reply *reply, const kl__response *response,
                       const char *header_lines, kl_error *err)
{
    *reply = (kl_reply){.status = response->status,
                        .retry_after_ms = response->retry_after_ms};
    reply->content_type = kl__strdup(response->content_type);
    if (response->warnings[0] != '\0') {
        reply->warnings = kl__strdup(response->warnings);
    }
    if (reply->content_type == NULL ||
        (response->warnings[0] != '\0' && reply->warnings == NULL) ||
        !fill_headers(reply, header_lines)) {
        kl_reply_clear(reply);
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    return KL_OK;
}

const char *kl_reply_header(const kl_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->header_count; i++) {
        if (strcasecmp(reply->headers[i].name, name) == 0) {
            return reply->headers[i].value;
        }
    }
    return NULL;
}

void kl_reply_clear(kl_reply *reply)
{
    kl__free(reply->content_type);
    kl__free(reply->body);
    kl__free(reply->warnings);
    kl__free(reply->headers);
    *reply = (kl_reply){0};
}

kl_code kl_status_error(int http_status, const char *body, size_t length,
                        kl_error *err)
{
    return kl__status_error(http_status, body, length, -1, err);
}
