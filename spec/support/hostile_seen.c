/*
 * hostile_seen.c - see hostile_server.h: returns what the server has seen so
 * far, and waits until it has seen more.
 */
#include "hostile_connection.h"

#include <string.h>
#include <time.h>

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
