/*
 * server_stream.c - the transport: how the bytes of an answer reach their
 * reader, a few at a time, late, or not at all.
 */
#include "server_core.h"

#include "base/mem.h"
#include "kubelua/client.h"
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096 };

static stream *stream_of(const kl__stream *base)
{
    return (stream *)(uintptr_t)base;
}

static connection *connection_of(kl_transport *transport)
{
    return (connection *)(void *)transport;
}

void server_wake_locked(server *self)
{
    kl__cond_broadcast(&self->changed);
    for (const kl__list *node = self->streams.next; node != &self->streams;
         node = node->next) {
        const stream *each = KL__CONTAINER(node, stream, node);

        if (each->hook.wake != NULL) {
            each->hook.wake(each->hook.arg);
        }
    }
}

void server_wake(void *arg)
{
    server *self = arg;

    kl__mutex_lock(&self->mutex);
    server_wake_locked(self);
    kl__mutex_unlock(&self->mutex);
}

/* Draws a delay; mostly there is none. */
static int64_t draw_delay(const server *self)
{
    int most = self->options.delay_max_ms;

    return most > 0 && schedule_chance(250)
               ? (int64_t)schedule_random((uint64_t)most + 1)
               : 0;
}

/* True if the head is there, or has failed. Else `at` gets the time at which to
 * look again, or EVER. */
bool server_has_head(stream *self, int64_t *at)
{
    int64_t now = schedule_now();

    *at = self->head_at;
    if (self->has_head || self->end == BREAKS) {
        return true;
    }
    if (now < self->head_at) {
        return false;
    }
    self->has_head = true;
    if (self->status != 0) {
        self->type = "application/json";
        server_refuse(self, self->status, "by command");
    } else if (!self->is_refused) {
        server_answer(self);
    }
    return true;
}

/* How many bytes may be read now: those up to a fault. */
size_t server_readable(const stream *self)
{
    size_t length = self->body.length;

    if (self->is_doomed && self->doom.type != SERVER_FAULT_ERROR_EVENT &&
        self->doom_at < length) {
        length = self->doom_at;
    }
    return length - self->taken;
}

/* Carries out the stream's fault, once its byte is reached and no byte is left
 * to read: so an ERROR event comes between two others. */
static void meet_doom(stream *self)
{
    if (self->is_doomed && server_readable(self) == 0 &&
        self->taken >= self->doom_at) {
        server_fulfil(self);
    }
}

/* True if there are bytes, or the end. Else `at` is set as by has_head. */
bool server_has_bytes(stream *self, int64_t *at)
{
    int64_t now = schedule_now();

    *at = self->more_at;
    if (now < self->more_at && self->end != BREAKS) {
        return false;
    }
    meet_doom(self);
    *at = EVER;
    if (server_readable(self) == 0 && self->is_watching) {
        *at = server_watch_pump(self);
        meet_doom(self);
    }
    return server_readable(self) > 0 || self->end == ENDS ||
           self->end == BREAKS;
}

int64_t server_earlier(int64_t a, int64_t b)
{
    if (a < 0 || b < 0) {
        return a < 0 ? b : a;
    }
    return a < b ? a : b;
}

kl_code server_await_locked(stream *self, bool (*is_ready)(stream *, int64_t *),
                            const patience *until, kl_error *err)
{
    server *from = self->server;

    for (;;) {
        int64_t at = EVER;

        if (self->connection->is_closed) {
            return kl_error_set(err, KL_ECLOSED, "the client was closed");
        }
        if (kl__cancel_fired(until->cancel)) {
            return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
        }
        if (is_ready(self, &at)) {
            return KL_OK;
        }
        if (until->deadline_ms >= 0 && schedule_now() >= until->deadline_ms) {
            server_note_look(self, at);
            return kl_error_set(err, KL_ETIMEOUT, "nothing came in time");
        }
        kl__cond_wait(&from->changed, &from->mutex,
                      server_earlier(at, until->deadline_ms));
    }
}

/* Waits until `is_ready` is true. After KL_OK the caller holds the mutex. */
static kl_code await(stream *self, bool (*is_ready)(stream *, int64_t *),
                     const patience *until, kl_error *err)
{
    kl__cancel_hook hook = {.wake = server_wake, .arg = self->server};
    kl_code code;

    if (!kl__cancel_add(until->cancel, &hook)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    kl__mutex_lock(&self->server->mutex);
    code = server_await_locked(self, is_ready, until, err);
    kl__mutex_unlock(&self->server->mutex);
    kl__cancel_remove(until->cancel, &hook);
    if (code == KL_OK) {
        kl__mutex_lock(&self->server->mutex);
    }
    return code;
}

static void touch(stream *self)
{
    atomic_store_explicit(&self->last_byte_ms, schedule_now(),
                          memory_order_relaxed);
}

static kl_code response(kl__stream *base, kl__response *out,
                        int64_t deadline_ms, kl__cancel *cancel, kl_error *err)
{
    stream *self = stream_of(base);
    patience until = {deadline_ms, cancel};
    kl_code code = await(self, server_has_head, &until, err);

    if (code != KL_OK) {
        return code;
    }
    *out = (kl__response){.status = self->status,
                          .retry_after_ms = self->retry_after_s > 0
                                                ? self->retry_after_s * 1000L
                                                : -1};
    if (self->is_refused) {
        code = kl_error_set(err, KL_EUNAVAILABLE, "connection refused");
    } else if (!self->has_head) {
        code = kl_error_set(err, KL_EUNAVAILABLE, "connection reset");
    } else {
        snprintf(out->content_type, sizeof(out->content_type), "%s",
                 self->type);
        self->took_head = true;
        touch(self);
    }
    kl__mutex_unlock(&self->server->mutex);
    return code;
}

static size_t draw_chunk(const stream *self, size_t size)
{
    size_t most = self->server->options.chunk_max;
    size_t there = server_readable(self);

    most = most > 0 ? most : CHUNK;
    most = most < size ? most : size;
    most = 1 + schedule_random(most);
    return there < most ? there : most;
}

static kl_code read_some(kl__stream *base, char *buffer, size_t size,
                         size_t *length, int64_t deadline_ms,
                         kl__cancel *cancel, kl_error *err)
{
    stream *self = stream_of(base);
    patience until = {deadline_ms, cancel};
    kl_code code = await(self, server_has_bytes, &until, err);

    *length = 0;
    if (code != KL_OK) {
        return code;
    }
    if (server_readable(self) > 0) {
        *length = draw_chunk(self, size);
        memcpy(buffer, self->body.bytes + self->taken, *length);
        self->taken += *length;
        self->more_at = schedule_now() + draw_delay(self->server);
        touch(self);
    } else if (self->end == BREAKS) {
        code = kl_error_set(err, KL_EUNAVAILABLE, "the connection was reset");
    }
    kl__mutex_unlock(&self->server->mutex);
    return code;
}

static int64_t last_byte_ms(const kl__stream *base)
{
    return atomic_load_explicit(&stream_of(base)->last_byte_ms,
                                memory_order_relaxed);
}

static int64_t look_again_ms(const kl__stream *base)
{
    return stream_of(base)->again_at;
}

static void close_stream(kl__stream *base)
{
    stream *self = stream_of(base);
    server *from = self->server;

    kl__mutex_lock(&from->mutex);
    kl__list_remove(&self->node);
    from->open--;
    kl__mutex_unlock(&from->mutex);
    kl_transport_unref(&self->connection->base);
    kl__buf_deinit(&self->body);
    free(self);
    kl__live_add(KL_LIVE_STREAM, -1);
}

static kl__stream *open_stream(kl_transport *transport,
                               const kl__request *request, kl_error *err)
{
    static const kl__stream_ops ops = {.response = response,
                                       .read = read_some,
                                       .last_byte_ms = last_byte_ms,
                                       .close = close_stream,
                                       .set_hook = server_set_hook,
                                       .look_again_ms = look_again_ms};
    static const kl__stream_ops lending = {.response = response,
                                           .read = read_some,
                                           .last_byte_ms = last_byte_ms,
                                           .close = close_stream,
                                           .set_hook = server_set_hook,
                                           .look_again_ms = look_again_ms,
                                           .lend = server_lend,
                                           .retract = server_retract};
    connection *at = connection_of(transport);
    server *from = at->server;
    stream *self = calloc(1, sizeof(*self));

    if (self == NULL) {
        abort();
    }
    self->base.ops = at->lends ? &lending : &ops;
    self->server = from;
    self->connection = at;
    self->end = GOES_ON;
    self->again_at = EVER;
    server_ask(&self->asked, request->target);
    self->asked.is_known &= strcmp(request->method, "GET") == 0;
    kl__mutex_lock(&from->mutex);
    if (at->is_closed) {
        kl__mutex_unlock(&from->mutex);
        free(self);
        kl_error_set(err, KL_ECLOSED, "the client is closed");
        return NULL;
    }
    self->head_at = schedule_now() + draw_delay(from);
    atomic_init(&self->last_byte_ms, schedule_now());
    server_meet_faults(self);
    kl__list_append(&from->streams, &self->node);
    from->open++;
    from->requests++;
    kl__mutex_unlock(&from->mutex);
    kl__transport_ref(transport);
    kl__live_add(KL_LIVE_STREAM, 1);
    return &self->base;
}

static void close_transport(kl_transport *transport)
{
    connection *self = connection_of(transport);

    kl__mutex_lock(&self->server->mutex);
    self->is_closed = true;
    server_wake_locked(self->server);
    kl__mutex_unlock(&self->server->mutex);
}

static void free_transport(kl_transport *transport)
{
    connection *self = connection_of(transport);

    server_lend_stop(self);
    self->server->links--;
    free(self);
}

kl_transport *server_transport(server *self)
{
    static const kl__transport_ops ops = {open_stream, close_transport,
                                          free_transport};
    connection *made = calloc(1, sizeof(*made));

    if (made == NULL) {
        abort();
    }
    made->base.ops = &ops;
    atomic_init(&made->base.refs, 1);
    made->server = self;
    self->links++;
    server_lend_start(made);
    return &made->base;
}
