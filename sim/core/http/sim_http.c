/*
 * sim_http.c - see sim_http.h. A connection's thread blocks while it waits for
 * bytes of its answer. Every few seconds it looks if the client is still
 * connected: libmicrohttpd cannot notice a lost client while there is nothing
 * to send.
 */
#include "sim/core/http/sim_http.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_answer.h"
#include "sim/core/answer/sim_plan.h"
#include "sim/core/http/sim_tls.h"
#include "sim/core/http/sim_origin.h"
#include "sim/core/http/sim_wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LOOK_MS = 2000,
    CHUNK = 32 * 1024,
    /* a larger body is refused, but read up to here */
    MAX_READ = 64 * 1024 * 1024
};

typedef struct http_request {
    struct MHD_Connection *connection;
    char *target; /* NULL: out of memory */
    bool has_begun;
    bool is_too_large;
    kl__buf body;
    kl__buf groups; /* to impersonate, a line each */
    /* user and groups of the client certificate: see sim_ask.h */
    kl__buf certified;
    kl__sim_answer *answer;
} http_request;

void *kl__sim_http_begin(void *http, const char *uri,
                         struct MHD_Connection *connection)
{
    http_request *request = kl__calloc(1, sizeof(*request));
    const char *host;

    (void)http;
    if (request == NULL) {
        return NULL;
    }
    host = *uri != '/' ? strstr(uri, "://") : NULL;
    if (host != NULL) { /* "http://host/path", the form for a proxy */
        host = strchr(host + 3, '/');
        uri = host != NULL ? host : "/";
    }
    request->connection = connection;
    request->target = kl__strdup(uri);
    kl__live_add(KL_LIVE_STREAM, 1);
    return request;
}

void kl__sim_http_end(void *http, struct MHD_Connection *connection,
                      void **request, enum MHD_RequestTerminationCode code)
{
    http_request *ended = *request;

    (void)http;
    (void)connection;
    (void)code;
    if (ended == NULL) {
        return;
    }
    *request = NULL;
    kl__sim_answer_free(ended->answer);
    kl__buf_deinit(&ended->body);
    kl__buf_deinit(&ended->groups);
    kl__buf_deinit(&ended->certified);
    kl__free(ended->target);
    kl__free(ended);
    kl__live_add(KL_LIVE_STREAM, -1);
}

/* True if the client has closed or lost the connection. */
static bool has_hung_up(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd look = {.events = POLLRDHUP};

    if (about == NULL) {
        return true;
    }
    look.fd = about->connect_fd;
    return poll(&look, 1, 0) > 0 &&
           (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static kl__sim_wait next_look(void)
{
    return (kl__sim_wait){kl__clock_now(kl__clock_real()) + LOOK_MS, NULL};
}

/* True if a fault ends the answer with an RST. */
static bool is_reset(const http_request *request)
{
    kl_sim *sim = request->answer->sim;
    bool resets;

    if (request->answer->plan == NULL) {
        return false;
    }
    kl__mutex_lock(&sim->mutex);
    resets = kl__sim_plan_resets(request->answer);
    kl__mutex_unlock(&sim->mutex);
    return resets;
}

/* True if a fault breaks the answer's HTTP; then sim_wire.c has sent the
 * answer. */
static bool is_broken(http_request *request)
{
    kl_sim *sim = request->answer->sim;
    const kl__sim_rule *wire;
    kl__sim_how how = KL__SIM_HOW_NONE;

    if (request->answer->plan == NULL) {
        return false; /* no fault applies: decide without the lock */
    }
    kl__mutex_lock(&sim->mutex);
    wire = kl__sim_plan_rule(request->answer, KL__SIM_WIRE);
    if (wire != NULL) {
        how = wire->how;
    }
    kl__mutex_unlock(&sim->mutex);
    if (how != KL__SIM_HOW_NONE) {
        kl__sim_wire_send(request->connection, request->answer, how);
    }
    return how != KL__SIM_HOW_NONE;
}

/* MHD_ContentReaderCallback: blocks until there is something to send. */
static ssize_t read_answer(void *arg, uint64_t position, char *buffer,
                           size_t size)
{
    http_request *request = arg;

    (void)position;
    for (;;) {
        kl__sim_wait wait = next_look();
        size_t length = 0;
        kl_code code = request->answer->sim->hooks->answer_read(
            request->answer, buffer, size, &length, &wait, NULL);

        if (code == KL_OK) {
            return length != 0 ? (ssize_t)length
                               : MHD_CONTENT_READER_END_OF_STREAM;
        }
        if (code == KL_EUNAVAILABLE && is_reset(request)) {
            kl__sim_wire_reset(request->connection);
        }
        if (code != KL_ETIMEOUT || has_hung_up(request->connection)) {
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
    }
}

/* A response that borrows a finished body from the answer; or, for a list, a
 * watch or an answer with faults, a response that reads the body piece by
 * piece. NULL: out of memory. */
static struct MHD_Response *make_response(http_request *request)
{
    kl__sim_answer *answer = request->answer;

    if (answer->states != NULL || answer->tail.length != 0 ||
        answer->watch.resource != NULL || answer->plan != NULL) {
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, CHUNK,
                                                 read_answer, request, NULL);
    }
    return MHD_create_response_from_buffer(
        answer->out.length, answer->out.bytes, MHD_RESPMEM_PERSISTENT);
}

static bool add_warnings(struct MHD_Response *response,
                         const kl__sim_answer *answer)
{
    size_t index = 0;
    kl__buf value = {0};
    bool added = true;

    while (added &&
           kl__sim_warnings_header(&answer->warnings, &index, &value)) {
        added = !value.failed &&
                MHD_add_response_header(response, "Warning", value.bytes) ==
                    MHD_YES;
        kl__buf_reset(&value);
    }
    kl__buf_deinit(&value);
    return added;
}

static bool add_headers(struct MHD_Response *response,
                        const kl__sim_answer *answer)
{
    char seconds[24];

    snprintf(seconds, sizeof(seconds), "%d", answer->retry_after_seconds);
    return (*answer->content_type == '\0' ||
            MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                    answer->content_type) == MHD_YES) &&
           MHD_add_response_header(
               response, MHD_HTTP_HEADER_CACHE_CONTROL,
               answer->is_public ? "public" : "no-cache, private") == MHD_YES &&
           (answer->vary == NULL ||
            MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
                                    answer->vary) == MHD_YES) &&
           (answer->retry_after_seconds < 0 ||
            MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER,
                                    seconds) == MHD_YES) &&
           (answer->gzip == NULL ||
            (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING,
                                     "gzip") == MHD_YES &&
             MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
                                     "Accept-Encoding") == MHD_YES)) &&
           add_warnings(response, answer);
}

/* Sends the answer, which has its status already. MHD_NO closes the
 * connection. */
static enum MHD_Result send_response(http_request *request)
{
    kl__sim_answer *answer = request->answer;
    struct MHD_Response *response = make_response(request);
    enum MHD_Result result = MHD_NO;

    if (response == NULL) {
        return MHD_NO;
    }
    if (answer->watch.resource != NULL) {
        MHD_set_connection_option(request->connection,
                                  MHD_CONNECTION_OPTION_TIMEOUT, 0);
    }
    if (add_headers(response, answer)) {
        result = MHD_queue_response(request->connection,
                                    (unsigned)answer->status, response);
    }
    MHD_destroy_response(response); /* the queue has its own reference */
    return result;
}

static const char *find_header(struct MHD_Connection *connection,
                               const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* MHD_KeyValueIterator: appends a line for each group to impersonate. */
static enum MHD_Result add_group(void *lines, enum MHD_ValueKind kind,
                                 const char *name, const char *value)
{
    (void)kind;
    if (strcasecmp(name, "Impersonate-Group") == 0 && value != NULL) {
        kl__buf_puts(lines, value);
        kl__buf_putc(lines, '\n');
    }
    return MHD_YES;
}

/* Reads impersonation headers and the client certificate; false: out of
 * memory. */
static bool read_identity(http_request *request, bool has_tls)
{
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, add_group,
                              &request->groups);
    if (has_tls) {
        kl__sim_certified(request->connection, &request->certified);
    }
    return !request->groups.failed && !request->certified.failed;
}

/* True if the client is on this machine. */
static bool is_from_here(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *peer = about != NULL ? about->client_addr : NULL;
    const struct sockaddr_in *four =
        (const struct sockaddr_in *)(const void *)peer;
    const struct sockaddr_in6 *six =
        (const struct sockaddr_in6 *)(const void *)peer;

    if (peer == NULL) {
        return false;
    }
    if (peer->sa_family == AF_INET) {
        return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (peer->sa_family != AF_INET6) {
        return false;
    }
    /* "::ffff:127.0.0.1": IPv4 to a socket that serves IPv4 and IPv6. */
    return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) &&
            six->sin6_addr.s6_addr[12] == IN_LOOPBACKNET);
}

static enum MHD_Result
carry_out_request(kl__sim_http *http, http_request *request, const char *method)
{
    const bool is_known = read_identity(request, http->has_tls);
    const kl__sim_request asked = {
        .method = method,
        .target = request->target,
        .accept = find_header(request->connection, "Accept"),
        .content_type = find_header(request->connection, "Content-Type"),
        .authorization = find_header(request->connection, "Authorization"),
        .impersonated = find_header(request->connection, "Impersonate-User"),
        .impersonated_groups = request->groups.bytes,
        .certified = request->certified.bytes,
        .user_agent = find_header(request->connection, "User-Agent"),
        .accept_encoding = find_header(request->connection, "Accept-Encoding"),
        .body = request->body.bytes,
        .body_length = request->body.length};
    kl_code code;

    request->answer =
        is_known ? kl__sim_answer_new(http->sim, &asked, NULL) : NULL;
    if (request->answer == NULL) {
        return MHD_NO;
    }
    request->answer->closed = &http->closing;
    request->answer->has_socket = true;
    request->answer->may_control = is_from_here(request->connection);
    request->answer->too_large = request->is_too_large;
    do {
        kl__sim_wait wait = next_look();

        code = request->answer->sim->hooks->answer_begin(request->answer, &wait,
                                                         NULL);
    } while (code == KL_ETIMEOUT && !has_hung_up(request->connection));
    if (code == KL_EUNAVAILABLE && is_reset(request)) {
        kl__sim_wire_reset(request->connection);
    }
    return code == KL_OK && !is_broken(request) ? send_response(request)
                                                : MHD_NO;
}

/* True if the Content-Length is so large that the body is refused unread. A
 * smaller body that is still too large is read to its end: if the server closed
 * the connection while the client writes, the client might not get the
 * answer. */
static bool announces_too_much(struct MHD_Connection *connection)
{
    const char *length = find_header(connection, "Content-Length");

    return length != NULL &&
           strtoull(length, NULL, 10) > (unsigned long long)MAX_READ;
}

/* Answers with 403 and a static text, and closes the connection. */
static enum MHD_Result forbid_origin(struct MHD_Connection *connection,
                                     const char *text)
{
    enum MHD_Result result = MHD_NO;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

    if (response != NULL) {
        if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                    "text/plain; charset=utf-8") == MHD_YES &&
            MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION,
                                    "close") == MHD_YES) {
            result =
                MHD_queue_response(connection, MHD_HTTP_FORBIDDEN, response);
        }
        MHD_destroy_response(response);
    }
    return result;
}

enum MHD_Result kl__sim_http_handle(void *http,
                                    struct MHD_Connection *connection,
                                    const char *url, const char *method,
                                    const char *version, const char *upload,
                                    size_t *upload_size, void **context)
{
    http_request *request = *context;
    const char *foreign;

    (void)url;
    (void)version;
    if (request == NULL || request->target == NULL) {
        return MHD_NO;
    }
    if (!request->has_begun) {
        request->has_begun = true;
        foreign = kl__sim_origin_fault(http, connection);
        if (foreign != NULL) {
            return forbid_origin(connection, foreign);
        }
        request->is_too_large = announces_too_much(connection);
        return request->is_too_large ? carry_out_request(http, request, method)
                                     : MHD_YES;
    }
    if (*upload_size == 0) {
        return carry_out_request(http, request, method);
    }
    if (request->body.length + *upload_size > KL__SIM_MAX_BODY) {
        request->is_too_large = true; /* read to the end, but not kept */
    } else {
        kl__buf_append(&request->body, upload, *upload_size);
    }
    *upload_size = 0;
    return request->body.failed ? MHD_NO : MHD_YES;
}
