/*
 * sim_strict.c - see sim_strict.h. The texts are those that a kube-apiserver
 * 1.36 was seen to answer.
 */
#include "sim/core/request/sim_strict.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* True if every '%' of the path begins two hexadecimal digits. */
static bool is_encoded(const char *target)
{
    for (; *target != '\0' && *target != '?' && *target != '#'; target++) {
        if (*target == '%' && (!isxdigit((unsigned char)target[1]) ||
                               !isxdigit((unsigned char)target[2]))) {
            return false;
        }
    }
    return true;
}

/* What the checks need of the headers; texts are borrowed. */
typedef struct headers {
    const char *host;
    const char *length;
    const char *coding;
    unsigned hosts;
    unsigned codings;
    bool are_bad;        /* a header has bytes that are not allowed */
    bool is_name_parted; /* a name has a blank in it */
    bool is_ambiguous;   /* several different Content-Lengths */
} headers;

/* True if a text has only letters, digits and characters of `others`. */
static bool is_made_of(const char *text, size_t length, const char *others)
{
    for (size_t i = 0; i < length; i++) {
        if (!isalnum((unsigned char)text[i]) &&
            (text[i] == '\0' || strchr(others, text[i]) == NULL)) {
            return false;
        }
    }
    return true;
}

static bool is_http_token(const char *text, size_t length)
{
    return length != 0 && is_made_of(text, length, "!#$%&'*+-.^_`|~");
}

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if (iscntrl((unsigned char)*text) && *text != '\t') {
            return true;
        }
    }
    return false;
}

/* MHD_KeyValueIterator: notes one header. */
static enum MHD_Result look_at(void *seen, enum MHD_ValueKind kind,
                               const char *name, const char *value)
{
    headers *all = seen;

    (void)kind;
    value = value != NULL ? value : "";
    if (!is_http_token(name, strlen(name))) {
        all->are_bad = true;
        all->is_name_parted = strchr(name, ' ') != NULL;
    }
    all->are_bad |= has_control(value);
    if (strcasecmp(name, "Host") == 0) {
        all->host = value;
        all->hosts++;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        all->coding = value;
        all->codings++;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        all->is_ambiguous |=
            all->length != NULL && strcmp(all->length, value) != 0;
        all->length = value;
    }
    return MHD_YES;
}

/* Returns the status with which the headers are refused, and *text for its
 * body; 0: the headers are valid. */
static unsigned judge_headers(const headers *all, const char *version,
                              const char **text)
{
    *text = "400 Bad Request";
    if (all->is_name_parted) {
        *text = "400 Bad Request: invalid header name";
    }
    if (all->are_bad || all->hosts > 1) {
        return MHD_HTTP_BAD_REQUEST;
    }
    if (all->codings > 1 ||
        (all->codings == 1 && strcasecmp(all->coding, "chunked") != 0)) {
        *text = "Unsupported transfer encoding";
        return MHD_HTTP_NOT_IMPLEMENTED;
    }
    if (all->is_ambiguous) {
        return MHD_HTTP_BAD_REQUEST;
    }
    if (all->hosts == 0 && strcmp(version, "HTTP/1.1") == 0) {
        *text = "400 Bad Request: missing required Host header";
        return MHD_HTTP_BAD_REQUEST;
    }
    if (all->hosts == 1 &&
        !is_made_of(all->host, strlen(all->host), "!$%&'()*+,-.:;=[]_~")) {
        *text = "400 Bad Request: malformed Host header";
        return MHD_HTTP_BAD_REQUEST;
    }
    return 0;
}

/* The same for the first line of the request. */
static unsigned judge_line(const char *method, const char *target,
                           const char **text)
{
    *text = "400 Bad Request";
    if (!is_http_token(method, strlen(method)) || strchr(target, ' ') != NULL ||
        has_control(target) || !is_encoded(target)) {
        return MHD_HTTP_BAD_REQUEST;
    }
    if (*target == '/') {
        return 0;
    }
    if (strcmp(target, "*") == 0 && strcmp(method, "OPTIONS") == 0) {
        *text = "";
        return MHD_HTTP_OK;
    }
    if (strcmp(target, "*") == 0 || strcmp(method, "CONNECT") == 0) {
        *text = "404 page not found\n";
        return MHD_HTTP_NOT_FOUND;
    }
    return MHD_HTTP_BAD_REQUEST;
}

/* The same for the whole request. */
static unsigned judge_request(const kl__sim_opening *opening, const char **text)
{
    const char *expect = MHD_lookup_connection_value(opening->connection,
                                                     MHD_HEADER_KIND, "Expect");
    headers all = {.length = NULL};
    unsigned status = judge_line(opening->method, opening->target, text);

    if (status != 0) {
        return status;
    }
    MHD_get_connection_values(opening->connection, MHD_HEADER_KIND, look_at,
                              &all);
    status = judge_headers(&all, opening->version, text);
    if (status == 0 && expect != NULL && *expect != '\0' &&
        strcasecmp(expect, "100-continue") != 0) {
        *text = "";
        return MHD_HTTP_EXPECTATION_FAILED;
    }
    return status;
}

enum MHD_Result kl__sim_strict_answer(struct MHD_Connection *connection,
                                      unsigned status, const char *text)
{
    enum MHD_Result result = MHD_NO;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

    if (response != NULL) {
        if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                    "text/plain; charset=utf-8") == MHD_YES &&
            MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
                                    "close") == MHD_YES) {
            result = MHD_queue_response(connection, status, response);
        }
        MHD_destroy_response(response);
    }
    return result;
}

bool kl__sim_strict_refuses(const kl__sim_opening *opening,
                            enum MHD_Result *result)
{
    const char *text = "";
    unsigned status = judge_request(opening, &text);

    if (status != 0) {
        *result = kl__sim_strict_answer(opening->connection, status, text);
    }
    return status != 0;
}
