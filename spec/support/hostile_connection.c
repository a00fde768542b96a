/*
 * hostile_connection.c - see hostile_server.h: one connection of the hostile
 * server. A thread of its own reads requests and runs the scripts that match.
 */
#include "hostile_connection.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/x509.h>

enum { STALL_MS = 200 };

/* ---- bytes ---- */

/* Bytes that were not read would make the close a reset, which may overtake
 * what was sent. */
static void drop_unread(int fd)
{
    enum { MOST = 64 };
    char bytes[4096];

    for (int i = 0; i < MOST; i++) {
        if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) {
            return;
        }
    }
}

static void end(hostile_connection *connection, bool reset)
{
    struct linger at_once = {1, 0};

    if (connection->over) {
        return;
    }
    if (reset) {
        setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &at_once,
                   sizeof(at_once));
    } else {
        drop_unread(connection->fd);
    }
    if (connection->session != NULL) {
        gnutls_deinit(connection->session);
        connection->session = NULL;
    }
    connection->over = true;
    close(connection->fd);
    pthread_mutex_lock(&connection->server->mutex);
    connection->server->ended++;
    hostile_notify_locked(connection->server);
    pthread_mutex_unlock(&connection->server->mutex);
}

/* Waits for the socket, or for a change of the server's state; false after
 * `timeout_ms` (-1: no limit). Ends the connection if the server stops. */
static bool wait_for(hostile_connection *connection, short events,
                     int timeout_ms)
{
    struct pollfd polled[2] = {{connection->fd, events, 0},
                               {connection->wakeup, POLLIN, 0}};
    uint64_t ignored;
    bool told;
    int ready;

    if (events == 0) {
        /* a closed socket would make poll return at once, again and again */
        polled[0].fd = -1;
    }
    ready = poll(polled, 2, timeout_ms);
    (void)!read(connection->wakeup, &ignored, sizeof(ignored));
    pthread_mutex_lock(&connection->server->mutex);
    told = connection->server->stopping;
    pthread_mutex_unlock(&connection->server->mutex);
    if (told) {
        end(connection, true);
    }
    return ready != 0;
}

static bool must_wait(hostile_connection *connection, ssize_t status)
{
    if (connection->session != NULL) {
        return status == GNUTLS_E_AGAIN || status == GNUTLS_E_INTERRUPTED;
    }
    return status < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Reads the bytes that are there; false: none. */
static bool receive(hostile_connection *connection)
{
    char bytes[16384];
    ssize_t length;

    if (connection->over || connection->peer_gone) {
        return false;
    }
    length = connection->session != NULL
                 ? gnutls_record_recv(connection->session, bytes, sizeof(bytes))
                 : recv(connection->fd, bytes, sizeof(bytes), 0);
    if (length > 0) {
        size_t total = connection->in_length + (size_t)length;

        connection->in = hostile_must(realloc(connection->in, total + 1));
        memcpy(connection->in + connection->in_length, bytes, (size_t)length);
        connection->in_length = total;
        connection->in[total] = '\0';
        return true;
    }
    if (!must_wait(connection, length)) {
        connection->peer_gone = true;
    }
    return false;
}

/* Blocks until bytes have come, the peer has gone, or the state has changed. */
static void await_input(hostile_connection *connection)
{
    if (!receive(connection)) {
        wait_for(connection, connection->peer_gone ? 0 : POLLIN, -1);
        while (receive(connection)) {
        }
    }
}

static void note_stall(hostile_connection *connection)
{
    hostile_server *server = connection->server;

    pthread_mutex_lock(&server->mutex);
    connection->stalled = true;
    hostile_notify_locked(server);
    pthread_mutex_unlock(&server->mutex);
}

static void note_sent(hostile_connection *connection, size_t length)
{
    hostile_server *server = connection->server;

    pthread_mutex_lock(&server->mutex);
    server->sent += length;
    connection->stalled = false;
    pthread_mutex_unlock(&server->mutex);
}

static void send_all(hostile_connection *connection, const char *bytes,
                     size_t length)
{
    while (length > 0 && !connection->over) {
        ssize_t sent =
            connection->session != NULL
                ? gnutls_record_send(connection->session, bytes, length)
                : send(connection->fd, bytes, length, MSG_NOSIGNAL);

        if (sent > 0) {
            note_sent(connection, (size_t)sent);
            bytes += sent;
            length -= (size_t)sent;
        } else if (!must_wait(connection, sent)) {
            end(connection, false);
        } else if (!wait_for(connection, POLLOUT, STALL_MS)) {
            note_stall(connection);
        }
    }
}

static void send_pieces(hostile_connection *connection,
                        const hostile_step *step)
{
    size_t piece = step->piece != 0 ? step->piece : step->length;

    for (size_t at = 0; at < step->length; at += piece) {
        size_t left = step->length - at;

        send_all(connection, step->bytes + at, left < piece ? left : piece);
    }
}

/* ---- steps ---- */

static void send_framed(hostile_connection *connection,
                        const hostile_step *step)
{
    char head[512];

    if (step->kind == HOSTILE_KIND_CHUNK) {
        snprintf(head, sizeof(head), "%zx\r\n", step->length);
    } else {
        snprintf(head, sizeof(head),
                 "HTTP/1.1 %d Scripted\r\n%sContent-Length: %zu\r\n\r\n",
                 step->status,
                 step->fields != NULL ? step->fields
                                      : "Content-Type: application/json\r\n",
                 step->length);
    }
    send_all(connection, head, strlen(head));
    send_all(connection, step->bytes, step->length);
    if (step->kind == HOSTILE_KIND_CHUNK) {
        send_all(connection, "\r\n", 2);
    }
}

static void flood(hostile_connection *connection, const hostile_step *step)
{
    for (size_t sent = 0; sent < step->total && !connection->over;) {
        size_t left = step->total - sent;
        size_t now = left < step->length ? left : step->length;

        send_all(connection, step->bytes, now);
        sent += now;
    }
}

/* True if the gate is open. A step that waits at the gate is counted once. */
static bool is_open(hostile_connection *connection, const char *name,
                    size_t arrivals)
{
    hostile_server *server = connection->server;
    hostile_gate *gate;
    bool open;

    pthread_mutex_lock(&server->mutex);
    gate = hostile_gate_locked(server, name);
    gate->arrived += arrivals;
    open = gate->open;
    if (arrivals > 0) {
        hostile_notify_locked(server);
    }
    pthread_mutex_unlock(&server->mutex);
    return open;
}

static void wait_at_gate(hostile_connection *connection, const char *name)
{
    size_t arrivals = 1;

    while (!connection->over && !connection->peer_gone &&
           !is_open(connection, name, arrivals)) {
        arrivals = 0;
        await_input(connection);
    }
}

static void await_text(hostile_connection *connection, const char *text)
{
    while (!connection->over && !connection->peer_gone &&
           memmem(connection->in, connection->in_length, text, strlen(text)) ==
               NULL) {
        await_input(connection);
    }
}

static void freeze(hostile_connection *connection)
{
    while (!connection->over && !connection->peer_gone) {
        await_input(connection);
    }
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void stall(hostile_connection *connection, size_t ms)
{
    int64_t until = now_ms() + (int64_t)ms;
    int64_t left;

    while (!connection->over && (left = until - now_ms()) > 0) {
        wait_for(connection, 0, (int)left);
    }
}

static void run_step(hostile_connection *connection, const hostile_step *step)
{
    switch (step->kind) {
    case HOSTILE_KIND_SEND:
        send_pieces(connection, step);
        break;
    case HOSTILE_KIND_ANSWER:
    case HOSTILE_KIND_CHUNK:
        send_framed(connection, step);
        break;
    case HOSTILE_KIND_FLOOD:
        flood(connection, step);
        break;
    case HOSTILE_KIND_AWAIT:
        await_text(connection, step->bytes);
        break;
    case HOSTILE_KIND_GATE:
        wait_at_gate(connection, step->bytes);
        break;
    case HOSTILE_KIND_FREEZE:
        freeze(connection);
        break;
    case HOSTILE_KIND_STALL:
        stall(connection, step->total);
        break;
    case HOSTILE_KIND_CLOSE:
    case HOSTILE_KIND_RESET:
        end(connection, step->kind == HOSTILE_KIND_RESET);
        break;
    }
}

static void run_rule(hostile_connection *connection, const hostile_rule *rule)
{
    for (size_t i = 0; i < rule->count && !connection->over; i++) {
        run_step(connection, &rule->steps[i]);
    }
}

/* ---- requests ---- */

/* The rule for a request, or (NULL) for a new connection; NULL: none. */
static const hostile_rule *find_rule(hostile_server *server,
                                     const char *request)
{
    const hostile_rule *found = NULL;

    pthread_mutex_lock(&server->mutex);
    for (size_t i = 0; i < server->rules.count && found == NULL; i++) {
        hostile_rule *rule = server->rules.items[i];
        bool fits =
            (rule->match == NULL) == (request == NULL) &&
            (request == NULL || hostile_fits(server, request, rule->match));

        if (fits && !(rule->once && rule->used)) {
            rule->used = true;
            found = rule;
        }
    }
    pthread_mutex_unlock(&server->mutex);
    return found;
}

/* The length of the request at the start of the input; 0: not complete. */
static size_t request_length(const hostile_connection *connection)
{
    static const char field[] = "\r\ncontent-length:";
    const char *head_end = strstr(connection->in, "\r\n\r\n");
    size_t length;

    if (head_end == NULL) {
        return 0;
    }
    length = (size_t)(head_end - connection->in) + 4;
    for (const char *at = connection->in; at < head_end; at++) {
        if (strncasecmp(at, field, sizeof(field) - 1) == 0) {
            length += strtoul(at + sizeof(field) - 1, NULL, 10);
            break;
        }
    }
    return connection->in_length >= length ? length : 0;
}

/* Takes the next request off the input and records it; NULL: no request will
 * come any more. */
static const char *next_request(hostile_connection *connection)
{
    hostile_server *server = connection->server;
    hostile_record *record;
    size_t length;

    while ((length = request_length(connection)) == 0) {
        if (connection->over || connection->peer_gone) {
            return NULL;
        }
        await_input(connection);
    }
    record = hostile_must(calloc(1, sizeof(*record)));
    record->text = hostile_must(strndup(connection->in, length));
    record->client = hostile_must(strdup(connection->client));
    connection->in_length -= length;
    memmove(connection->in, connection->in + length, connection->in_length + 1);
    pthread_mutex_lock(&server->mutex);
    hostile_row_add(&server->records, record);
    hostile_notify_locked(server);
    pthread_mutex_unlock(&server->mutex);
    return record->text;
}

static void serve_requests(hostile_connection *connection)
{
    static const hostile_step not_found = {
        .kind = HOSTILE_KIND_ANSWER, .bytes = "{}", .length = 2, .status = 404};
    const char *request;

    while (!connection->over && (request = next_request(connection)) != NULL) {
        const hostile_rule *rule = find_rule(connection->server, request);

        if (rule != NULL) {
            run_rule(connection, rule);
        } else {
            run_step(connection, &not_found);
        }
    }
}

/* ---- TLS ---- */

static void note_client(hostile_connection *connection)
{
    unsigned count = 0;
    size_t size = sizeof(connection->client);
    const gnutls_datum_t *certs =
        gnutls_certificate_get_peers(connection->session, &count);
    gnutls_x509_crt_t cert;

    if (certs == NULL || count == 0 || gnutls_x509_crt_init(&cert) < 0) {
        return;
    }
    if (gnutls_x509_crt_import(cert, &certs[0], GNUTLS_X509_FMT_DER) < 0 ||
        gnutls_x509_crt_get_dn_by_oid(cert, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                      connection->client, &size) < 0) {
        connection->client[0] = '\0';
    }
    gnutls_x509_crt_deinit(cert);
}

/* The TLS handshake; false: it failed. */
static bool shake_hands(hostile_connection *connection)
{
    hostile_server *server = connection->server;
    int status;

    gnutls_init(&connection->session,
                GNUTLS_SERVER | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
    gnutls_set_default_priority(connection->session);
    gnutls_credentials_set(connection->session, GNUTLS_CRD_CERTIFICATE,
                           server->credentials);
    if (server->asks_client) {
        gnutls_certificate_server_set_request(connection->session,
                                              GNUTLS_CERT_REQUEST);
    }
    if (server->http2) {
        static const gnutls_datum_t name = {(unsigned char *)"h2", 2};

        gnutls_alpn_set_protocols(connection->session, &name, 1, 0);
    }
    gnutls_transport_set_int(connection->session, connection->fd);
    do {
        status = gnutls_handshake(connection->session);
        if (must_wait(connection, status)) {
            wait_for(connection,
                     gnutls_record_get_direction(connection->session) != 0
                         ? POLLOUT
                         : POLLIN,
                     -1);
        }
    } while (!connection->over && status < 0 &&
             gnutls_error_is_fatal(status) == 0);
    if (status == 0 && server->asks_client) {
        note_client(connection);
    }
    return status == 0;
}

void *hostile_serve(void *arg)
{
    hostile_connection *connection = arg;
    const hostile_rule *rule = find_rule(connection->server, NULL);

    if (!connection->server->secure || shake_hands(connection)) {
        if (rule != NULL) {
            run_rule(connection, rule);
        }
        serve_requests(connection);
    }
    end(connection, false);
    return NULL;
}
