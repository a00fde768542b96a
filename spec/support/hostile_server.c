/*
 * hostile_server.c - see hostile_server.h: the spec's side: start and end,
 * scripts and gates, the thread that accepts, and what was seen.
 */
#include "hostile_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SEND_BUFFER = 32 * 1024 };

static void must(int status)
{
    if (status < 0) {
        perror("hostile_server");
        abort();
    }
}

void *hostile_must(void *block)
{
    must(block != NULL ? 0 : -1);
    return block;
}

void *hostile_row_add(hostile_row *row, void *item)
{
    row->items = hostile_must(
        realloc(row->items, (row->count + 1) * sizeof(*row->items)));
    row->items[row->count++] = hostile_must(item);
    return item;
}

/* ---- life ---- */

static void set_identity(hostile_server *server, const hostile_options *options)
{
    const certificate *identity = options->identity;
    gnutls_datum_t cert = {(unsigned char *)identity->cert,
                           (unsigned)strlen(identity->cert)};
    gnutls_datum_t key = {(unsigned char *)identity->key,
                          (unsigned)strlen(identity->key)};

    server->secure = true;
    server->asks_client = options->client_ca != NULL;
    server->http2 = options->http2;
    must(gnutls_certificate_allocate_credentials(&server->credentials));
    must(gnutls_certificate_set_x509_key_mem(server->credentials, &cert, &key,
                                             GNUTLS_X509_FMT_PEM));
}

static void bind_port(hostile_server *server, const hostile_options *options)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)options->port)};
    socklen_t length = sizeof(address);
    int on = 1;
    int size = options->send_buffer != 0 ? options->send_buffer : SEND_BUFFER;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(server->listener);
    must(setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on,
                    sizeof(on)));
    /* Connections inherit these: a small buffer, so that a peer that does not
     * read is noticed soon; and no delay, so that each piece is a segment. */
    must(setsockopt(server->listener, SOL_SOCKET, SO_SNDBUF, &size,
                    sizeof(size)));
    must(setsockopt(server->listener, IPPROTO_TCP, TCP_NODELAY, &on,
                    sizeof(on)));
    must(bind(server->listener, (struct sockaddr *)&address, length));
    must(listen(server->listener, 512));
    must(getsockname(server->listener, (struct sockaddr *)&address, &length));
    server->port = ntohs(address.sin_port);
    snprintf(server->url, sizeof(server->url), "%s://127.0.0.1:%d",
             server->secure ? "https" : "http", server->port);
}

/* Starts the thread of a connection; hostile_free joins it. */
static void welcome(hostile_server *server, int fd)
{
    hostile_connection *connection =
        hostile_must(calloc(1, sizeof(*connection)));

    connection->server = server;
    connection->fd = fd;
    connection->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    must(connection->wakeup);
    connection->in = hostile_must(calloc(1, 1));
    pthread_mutex_lock(&server->mutex);
    hostile_row_add(&server->connections, connection);
    must(-pthread_create(&connection->thread, NULL, hostile_serve, connection));
    hostile_notify_locked(server);
    pthread_mutex_unlock(&server->mutex);
}

/* The accepting thread: ends when hostile_free shuts the listener down. */
static void *accept_all(void *arg)
{
    hostile_server *server = arg;
    int fd;

    for (;;) {
        fd =
            accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            welcome(server, fd);
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return NULL;
        }
    }
}

hostile_server *hostile_new(const hostile_options *options)
{
    static const hostile_options defaults = {0};
    hostile_server *server = hostile_must(calloc(1, sizeof(*server)));
    pthread_condattr_t attributes;

    options = options != NULL ? options : &defaults;
    pthread_mutex_init(&server->mutex, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&server->cond, &attributes);
    pthread_condattr_destroy(&attributes);
    if (options->identity != NULL) {
        set_identity(server, options);
    }
    bind_port(server, options);
    must(-pthread_create(&server->thread, NULL, accept_all, server));
    return server;
}

static void free_rows(hostile_server *server)
{
    for (size_t i = 0; i < server->rules.count; i++) {
        hostile_rule *rule = server->rules.items[i];

        for (size_t j = 0; j < rule->count; j++) {
            free((void *)(uintptr_t)rule->steps[j].bytes);
        }
        free(rule->match);
        free(rule->steps);
        free(rule);
    }
    for (size_t i = 0; i < server->records.count; i++) {
        hostile_record *record = server->records.items[i];

        free(record->text);
        free(record->client);
        free(record);
    }
    for (size_t i = 0; i < server->gates.count; i++) {
        hostile_gate *gate = server->gates.items[i];

        free(gate->name);
        free(gate);
    }
    free(server->rules.items);
    free(server->records.items);
    free(server->gates.items);
    free(server->connections.items);
}

void hostile_free(hostile_server *server)
{
    if (server == NULL) {
        return;
    }
    /* 1. Accept no more connections. 2. End the existing ones. */
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    pthread_mutex_lock(&server->mutex);
    server->stopping = true;
    hostile_notify_locked(server);
    pthread_mutex_unlock(&server->mutex);
    for (size_t i = 0; i < server->connections.count; i++) {
        hostile_connection *connection = server->connections.items[i];

        pthread_join(connection->thread, NULL);
    }
    /* 3. All threads have ended, so no connection notifies another one. */
    for (size_t i = 0; i < server->connections.count; i++) {
        hostile_connection *connection = server->connections.items[i];

        close(connection->wakeup);
        free(connection->in);
        free(connection);
    }
    close(server->listener);
    free_rows(server);
    if (server->secure) {
        gnutls_certificate_free_credentials(server->credentials);
    }
    pthread_cond_destroy(&server->cond);
    pthread_mutex_destroy(&server->mutex);
    free(server);
}

const char *hostile_url(const hostile_server *server)
{
    return server->url;
}

int hostile_port(const hostile_server *server)
{
    return server->port;
}

/* ---- scripts ---- */

static void copy_step(hostile_step *copy, const hostile_step *step)
{
    char *bytes;

    *copy = *step;
    if (step->bytes == NULL) {
        return;
    }
    if (step->length == 0) {
        copy->length = strlen(step->bytes);
    }
    bytes = hostile_must(calloc(copy->length + 1, 1));
    memcpy(bytes, step->bytes, copy->length);
    copy->bytes = bytes;
}

static void add_rule(hostile_server *server, const char *match, bool once,
                     const hostile_step *steps, size_t count)
{
    hostile_rule *rule = hostile_must(calloc(1, sizeof(*rule)));

    rule->match = match != NULL ? hostile_must(strdup(match)) : NULL;
    rule->steps = hostile_must(calloc(count, sizeof(*steps)));
    rule->count = count;
    for (size_t i = 0; i < count; i++) {
        copy_step(&rule->steps[i], &steps[i]);
    }
    rule->once = once;
    pthread_mutex_lock(&server->mutex);
    hostile_row_add(&server->rules, rule);
    pthread_mutex_unlock(&server->mutex);
}

void hostile_on(hostile_server *server, const char *match,
                const hostile_step *steps, size_t count)
{
    add_rule(server, match, true, steps, count);
}

void hostile_always(hostile_server *server, const char *match,
                    const hostile_step *steps, size_t count)
{
    add_rule(server, match, false, steps, count);
}

void hostile_on_accept(hostile_server *server, const hostile_step *steps,
                       size_t count)
{
    add_rule(server, NULL, true, steps, count);
}

void hostile_sort(hostile_server *server,
                  const char *(*sort)(const char *request))
{
    server->sort = sort;
}

bool hostile_fits(const hostile_server *server, const char *request,
                  const char *match)
{
    if (server->sort != NULL && match[0] != '\0') {
        return strcmp(server->sort(request), match) == 0;
    }
    return strstr(request, match) != NULL;
}

/* ---- control ---- */

void hostile_notify_locked(hostile_server *server)
{
    uint64_t one = 1;

    for (size_t i = 0; i < server->connections.count; i++) {
        hostile_connection *connection = server->connections.items[i];

        (void)!write(connection->wakeup, &one, sizeof(one));
    }
    pthread_cond_broadcast(&server->cond);
}

hostile_gate *hostile_gate_locked(hostile_server *server, const char *name)
{
    hostile_gate *gate;

    for (size_t i = 0; i < server->gates.count; i++) {
        gate = server->gates.items[i];
        if (strcmp(gate->name, name) == 0) {
            return gate;
        }
    }
    gate = hostile_must(calloc(1, sizeof(*gate)));
    gate->name = hostile_must(strdup(name));
    return hostile_row_add(&server->gates, gate);
}

void hostile_open_gate(hostile_server *server, const char *name)
{
    pthread_mutex_lock(&server->mutex);
    hostile_gate_locked(server, name)->open = true;
    hostile_notify_locked(server);
    pthread_mutex_unlock(&server->mutex);
}

enum { PATIENCE_S = 60 };

typedef size_t (*counter)(hostile_server *server, const char *name);

static size_t count_requests(hostile_server *server, const char *match)
{
    size_t count = 0;

    for (size_t i = 0; i < server->records.count; i++) {
        const hostile_record *record = server->records.items[i];

        count += hostile_fits(server, record->text, match) ? 1 : 0;
    }
    return count;
}

static size_t count_connections(hostile_server *server, const char *name)
{
    (void)name;
    return server->connections.count;
}

static size_t count_ended(hostile_server *server, const char *name)
{
    (void)name;
    return server->ended;
}

static size_t count_at_gate(hostile_server *server, const char *name)
{
    return hostile_gate_locked(server, name)->arrived;
}

static size_t count_stalled(hostile_server *server, const char *name)
{
    size_t count = 0;

    (void)name;
    for (size_t i = 0; i < server->connections.count; i++) {
        const hostile_connection *connection = server->connections.items[i];

        count += connection->stalled ? 1 : 0;
    }
    return count;
}

static size_t count_sent(hostile_server *server, const char *name)
{
    (void)name;
    return server->sent;
}

static bool await(hostile_server *server, counter count, const char *name,
                  size_t wanted)
{
    struct timespec until;
    int status = 0;
    bool reached;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&server->mutex);
    while (count(server, name) < wanted && status == 0) {
        status = pthread_cond_timedwait(&server->cond, &server->mutex, &until);
    }
    reached = count(server, name) >= wanted;
    pthread_mutex_unlock(&server->mutex);
    return reached;
}

static size_t look(hostile_server *server, counter count, const char *name)
{
    size_t seen;

    pthread_mutex_lock(&server->mutex);
    seen = count(server, name);
    pthread_mutex_unlock(&server->mutex);
    return seen;
}

bool hostile_await_requests(hostile_server *server, const char *match,
                            size_t count)
{
    return await(server, count_requests, match, count);
}

bool hostile_await_ended(hostile_server *server, size_t count)
{
    return await(server, count_ended, NULL, count);
}

bool hostile_await_gate(hostile_server *server, const char *name, size_t count)
{
    return await(server, count_at_gate, name, count);
}

bool hostile_await_stall(hostile_server *server)
{
    return await(server, count_stalled, NULL, 1);
}

size_t hostile_sent_bytes(hostile_server *server)
{
    return look(server, count_sent, NULL);
}

size_t hostile_connections(hostile_server *server)
{
    return look(server, count_connections, NULL);
}

size_t hostile_requests(hostile_server *server, const char *match)
{
    return look(server, count_requests, match);
}

static const hostile_record *record_at(hostile_server *server, size_t number)
{
    const hostile_record *record = NULL;

    pthread_mutex_lock(&server->mutex);
    if (number < server->records.count) {
        record = server->records.items[number];
    }
    pthread_mutex_unlock(&server->mutex);
    return record;
}

const char *hostile_request(hostile_server *server, size_t number)
{
    const hostile_record *record = record_at(server, number);

    return record != NULL ? record->text : NULL;
}

const char *hostile_request_of(hostile_server *server, const char *match,
                               size_t number)
{
    const char *request;

    for (size_t i = 0; (request = hostile_request(server, i)) != NULL; i++) {
        if (hostile_fits(server, request, match) && number-- == 0) {
            return request;
        }
    }
    return NULL;
}

const char *hostile_client(hostile_server *server, size_t number)
{
    const hostile_record *record = record_at(server, number);

    return record != NULL ? record->client : NULL;
}
