/*
 * fake_transport.c - see fake_transport.h. It allocates from the C library
 * directly, so that a spec neither counts its memory nor makes it fail.
 */
#include "fake_transport.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ANSWERS = 256, MAX_REQUESTS = 1024, PATIENCE_MS = 60000 };

typedef struct script {
    fake_answer answer; /* its strings are owned */
    int left;           /* how often it may still be used; FAKE_FOREVER */
} script;

/* A request with its answer's stream; it may outlive the stream. */
typedef struct exchange {
    kl__stream base;
    fake_transport *fake;
    fake_request request; /* its strings are owned */
    fake_answer answer;   /* strings borrowed from the script */
    char *body;
    size_t length;
    size_t taken;
    fake_end end;
    bool holds_head;
    bool has_reader;
    kl__stream_hook hook;
    char *headers;
    int64_t last_byte_ms;
} exchange;

struct fake_transport {
    kl_transport base;
    kl__mutex mutex; /* rank STREAM; guards the members below */
    kl__cond changed;
    bool is_closed;
    script scripts[MAX_ANSWERS];
    size_t script_count;
    exchange *exchanges[MAX_REQUESTS];
    size_t exchange_count;
};

static void *fake_need(void *block)
{
    if (block == NULL) {
        abort();
    }
    return block;
}

static char *fake_copy(const char *text)
{
    return text != NULL ? fake_need(strdup(text)) : NULL;
}

static int64_t now(void)
{
    return kl__clock_now(kl__clock_real());
}

static fake_transport *fake_of(kl_transport *transport)
{
    return (fake_transport *)(void *)transport;
}

static exchange *exchange_of(const kl__stream *stream)
{
    return KL__CONTAINER(stream, exchange, base);
}

static void wake(void *arg)
{
    fake_transport *fake = arg;

    kl__mutex_lock(&fake->mutex);
    kl__cond_broadcast(&fake->changed);
    kl__mutex_unlock(&fake->mutex);
}

static bool has_head(const exchange *self)
{
    return !self->holds_head;
}

static bool has_bytes(const exchange *self)
{
    return self->taken < self->length || self->end != FAKE_HOLD;
}

/* Blocks until `is_ready` is true. The caller holds the mutex. */
static kl_code await_locked(exchange *self, bool (*is_ready)(const exchange *),
                            int64_t deadline_ms, kl__cancel *cancel,
                            kl_error *err)
{
    fake_transport *fake = self->fake;
    kl_code code = KL_OK;

    while (code == KL_OK && !is_ready(self)) {
        if (fake->is_closed) {
            code = kl_error_set(err, KL_ECLOSED, "the transport is closed");
        } else if (kl__cancel_fired(cancel)) {
            code = kl_error_set(err, KL_ECANCELED, "the call was cancelled");
        } else if (deadline_ms >= 0 && now() >= deadline_ms) {
            self->has_reader = true; /* a reader that does not block */
            kl__cond_broadcast(&fake->changed);
            return kl_error_set(err, KL_ETIMEOUT, "no byte in time");
        } else {
            self->has_reader = true;
            kl__cond_broadcast(&fake->changed);
            kl__cond_wait(&fake->changed, &fake->mutex, deadline_ms);
        }
    }
    self->has_reader = false;
    return code;
}

/* Blocks until `is_ready` is true. After KL_OK the caller holds the mutex. */
static kl_code await(exchange *self, bool (*is_ready)(const exchange *),
                     int64_t deadline_ms, kl__cancel *cancel, kl_error *err)
{
    kl__cancel_hook hook = {.wake = wake, .arg = self->fake};
    kl_code code;

    if (!kl__cancel_add(cancel, &hook)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    kl__mutex_lock(&self->fake->mutex);
    code = await_locked(self, is_ready, deadline_ms, cancel, err);
    kl__mutex_unlock(&self->fake->mutex);
    kl__cancel_remove(cancel, &hook);
    if (code == KL_OK) {
        kl__mutex_lock(&self->fake->mutex);
    }
    return code;
}

static kl_code response(kl__stream *stream, kl__response *out,
                        int64_t deadline_ms, kl__cancel *cancel, kl_error *err)
{
    exchange *self = exchange_of(stream);
    const fake_answer *answer = &self->answer;
    kl_code code = await(self, has_head, deadline_ms, cancel, err);

    if (code != KL_OK) {
        return code;
    }
    if (answer->failure != KL_OK) {
        code = kl_error_set(err, answer->failure, "scripted");
    }
    *out = (kl__response){.status = answer->status != 0 ? answer->status : 200,
                          .retry_after_ms = answer->retry_after_ms != 0
                                                ? answer->retry_after_ms
                                                : -1};
    snprintf(out->content_type, sizeof(out->content_type), "%s",
             answer->type != NULL ? answer->type : "application/json");
    snprintf(out->warnings, sizeof(out->warnings), "%s",
             answer->warning != NULL ? answer->warning : "");
    kl__mutex_unlock(&self->fake->mutex);
    return code;
}

static kl_code read_some(kl__stream *stream, char *buffer, size_t size,
                         size_t *length, int64_t deadline_ms,
                         kl__cancel *cancel, kl_error *err)
{
    exchange *self = exchange_of(stream);
    kl_code code = await(self, has_bytes, deadline_ms, cancel, err);
    size_t take;

    *length = 0;
    if (code != KL_OK) {
        return code;
    }
    take = self->length - self->taken;
    if (take == 0 && self->end == FAKE_BREAK) {
        code = kl_error_set(err, KL_EUNAVAILABLE, "the connection was reset");
    }
    take = take < size ? take : size;
    if (self->answer.chunk != 0 && take > self->answer.chunk) {
        take = self->answer.chunk;
    }
    if (take != 0) {
        memcpy(buffer, self->body + self->taken, take);
    }
    self->taken += take;
    *length = take;
    kl__mutex_unlock(&self->fake->mutex);
    return code;
}

static int64_t last_byte_ms(const kl__stream *stream)
{
    const exchange *self = exchange_of(stream);
    int64_t at;

    kl__mutex_lock(&self->fake->mutex);
    at = self->last_byte_ms;
    kl__mutex_unlock(&self->fake->mutex);
    return at;
}

static bool set_hook(kl__stream *stream, const kl__stream_hook *hook)
{
    exchange *self = exchange_of(stream);

    kl__mutex_lock(&self->fake->mutex);
    self->hook = *hook;
    kl__mutex_unlock(&self->fake->mutex);
    return true;
}

static int64_t look_again_ms(const kl__stream *stream)
{
    exchange *self = exchange_of(stream);
    int64_t ms;

    kl__mutex_lock(&self->fake->mutex);
    self->request.looks++;
    ms = self->answer.is_restless ? 0 : -1;
    kl__mutex_unlock(&self->fake->mutex);
    return ms;
}

static bool withdraw(kl__stream *stream)
{
    return !exchange_of(stream)->answer.unsent;
}

static kl_code headers(kl__stream *stream, const char **lines, kl_error *err)
{
    exchange *self = exchange_of(stream);

    (void)err;
    if (self->headers == NULL &&
        asprintf(
            &self->headers, "content-type:%s\n%s",
            self->answer.type != NULL ? self->answer.type : "application/json",
            self->answer.headers != NULL ? self->answer.headers : "") < 0) {
        abort();
    }
    *lines = self->headers;
    return KL_OK;
}

/* Wakes the reader. The caller holds the mutex. */
static void fake_tell_reader(exchange *self)
{
    kl__cond_broadcast(&self->fake->changed);
    if (self->hook.wake != NULL) {
        self->hook.wake(self->hook.arg);
    }
}

static void close_stream(kl__stream *stream)
{
    exchange *self = exchange_of(stream);

    kl__mutex_lock(&self->fake->mutex);
    self->hook.wake = NULL;
    self->request.is_closed = true;
    kl__cond_broadcast(&self->fake->changed);
    kl__mutex_unlock(&self->fake->mutex);
    kl__live_add(KL_LIVE_STREAM, -1);
}

static bool fake_target_matches(const char *wanted, const char *target)
{
    size_t length = wanted != NULL ? strlen(wanted) : 0;

    if (length > 0 && wanted[length - 1] == '$') {
        return strlen(target) == length - 1 &&
               strncmp(target, wanted, length - 1) == 0;
    }
    return length == 0 || strncmp(target, wanted, length) == 0;
}

/* Returns the script's answer to a request, and counts that it was used. */
static fake_answer answer_to(fake_transport *fake, const kl__request *request)
{
    static const fake_answer unscripted = {.status = 404};

    for (size_t i = 0; i < fake->script_count; i++) {
        script *each = &fake->scripts[i];
        const char *method = each->answer.method;

        if (each->left != 0 &&
            (method == NULL || strcmp(method, request->method) == 0) &&
            fake_target_matches(each->answer.target, request->target)) {
            each->left -= each->left > 0 ? 1 : 0;
            return each->answer;
        }
    }
    return unscripted;
}

static char *join_headers(const kl__request *request)
{
    char *text = fake_need(calloc(1, 1));

    for (size_t i = 0; i < request->header_count; i++) {
        const kl__header *header = &request->headers[i];
        char *longer;

        if (asprintf(&longer, "%s%s: %s\n", text, header->name, header->value) <
            0) {
            abort();
        }
        free(text);
        text = longer;
    }
    return text;
}

static void note_request(exchange *self, const kl__request *request)
{
    self->request = (fake_request){
        .method = fake_copy(request->method),
        .base_url = fake_copy(request->base_url),
        .target = fake_copy(request->target),
        .headers = join_headers(request),
        .body = request->body != NULL
                    ? fake_need(strndup(request->body, request->body_length))
                    : fake_copy(""),
        .fresh_connection = request->fresh_connection};
}

static void fake_put_bytes(exchange *self, const char *bytes, size_t length)
{
    self->body = fake_need(realloc(self->body, self->length + length + 1));
    memcpy(self->body + self->length, bytes, length);
    self->length += length;
    self->last_byte_ms = now();
}

static kl__stream *open_stream(kl_transport *transport,
                               const kl__request *request, kl_error *err)
{
    static const kl__stream_ops ops = {.response = response,
                                       .read = read_some,
                                       .last_byte_ms = last_byte_ms,
                                       .close = close_stream,
                                       .set_hook = set_hook,
                                       .look_again_ms = look_again_ms,
                                       .withdraw = withdraw,
                                       .headers = headers};
    fake_transport *fake = fake_of(transport);
    exchange *self = fake_need(calloc(1, sizeof(*self)));
    bool is_closed;

    self->base.ops = &ops;
    self->fake = fake;
    note_request(self, request);
    kl__mutex_lock(&fake->mutex);
    if (fake->exchange_count == MAX_REQUESTS) {
        abort();
    }
    is_closed = fake->is_closed;
    self->request.is_closed = is_closed;
    self->answer = answer_to(fake, request);
    self->end = self->answer.end;
    self->holds_head = self->answer.holds_head;
    if (self->answer.body != NULL) {
        fake_put_bytes(self, self->answer.body, self->answer.length);
    }
    self->last_byte_ms = now();
    fake->exchanges[fake->exchange_count++] = self;
    kl__cond_broadcast(&fake->changed);
    kl__mutex_unlock(&fake->mutex);
    if (is_closed) {
        kl_error_set(err, KL_ECLOSED, "the transport is closed");
        return NULL;
    }
    kl__live_add(KL_LIVE_STREAM, 1);
    return &self->base;
}

static void close_transport(kl_transport *transport)
{
    fake_transport *fake = fake_of(transport);

    kl__mutex_lock(&fake->mutex);
    fake->is_closed = true;
    for (size_t i = 0; i < fake->exchange_count; i++) {
        fake_tell_reader(fake->exchanges[i]);
    }
    kl__cond_broadcast(&fake->changed);
    kl__mutex_unlock(&fake->mutex);
}

static void free_transport(kl_transport *transport)
{
    fake_transport *fake = fake_of(transport);

    for (size_t i = 0; i < fake->exchange_count; i++) {
        exchange *self = fake->exchanges[i];

        free((void *)self->request.method);
        free((void *)self->request.base_url);
        free((void *)self->request.target);
        free((void *)self->request.headers);
        free((void *)self->request.body);
        free(self->body);
        free(self->headers);
        free(self);
    }
    for (size_t i = 0; i < fake->script_count; i++) {
        fake_answer *answer = &fake->scripts[i].answer;

        free((void *)answer->method);
        free((void *)answer->target);
        free((void *)answer->type);
        free((void *)answer->body);
        free((void *)answer->warning);
        free((void *)answer->headers);
    }
    kl__cond_deinit(&fake->changed);
    kl__mutex_deinit(&fake->mutex);
    free(fake);
}

fake_transport *fake_transport_new(void)
{
    static const kl__transport_ops ops = {open_stream, close_transport,
                                          free_transport};
    fake_transport *fake = fake_need(calloc(1, sizeof(*fake)));

    fake->base.ops = &ops;
    atomic_init(&fake->base.refs, 1);
    kl__mutex_init(&fake->mutex, KL__RANK_STREAM);
    kl__cond_init(&fake->changed);
    return fake;
}

kl_transport *fake_transport_of(fake_transport *fake)
{
    return &fake->base;
}

void fake_transport_answer(fake_transport *fake, const fake_answer *answer)
{
    script added = {*answer, answer->times != 0 ? answer->times : 1};
    size_t length = answer->body == NULL  ? 0
                    : answer->length != 0 ? answer->length
                                          : strlen(answer->body);

    added.answer.method = fake_copy(answer->method);
    added.answer.target = fake_copy(answer->target);
    added.answer.type = fake_copy(answer->type);
    added.answer.warning = fake_copy(answer->warning);
    added.answer.headers = fake_copy(answer->headers);
    added.answer.length = length;
    if (answer->body != NULL) {
        added.answer.body =
            memcpy(fake_need(malloc(length + 1)), answer->body, length);
    }
    kl__mutex_lock(&fake->mutex);
    if (fake->script_count == MAX_ANSWERS) {
        abort();
    }
    fake->scripts[fake->script_count++] = added;
    kl__mutex_unlock(&fake->mutex);
}

size_t fake_transport_count(fake_transport *fake)
{
    size_t count;

    kl__mutex_lock(&fake->mutex);
    count = fake->exchange_count;
    kl__mutex_unlock(&fake->mutex);
    return count;
}

/* Returns the exchange at an index, which must exist. The caller holds the
 * mutex. */
static exchange *at_locked(fake_transport *fake, size_t index)
{
    if (index >= fake->exchange_count) {
        abort();
    }
    return fake->exchanges[index];
}

fake_request fake_transport_request(fake_transport *fake, size_t index)
{
    fake_request request;

    kl__mutex_lock(&fake->mutex);
    request = at_locked(fake, index)->request;
    request.taken = at_locked(fake, index)->taken;
    kl__mutex_unlock(&fake->mutex);
    return request;
}

size_t fake_transport_asked(fake_transport *fake, const char *target)
{
    size_t count = 0;

    kl__mutex_lock(&fake->mutex);
    for (size_t i = 0; i < fake->exchange_count; i++) {
        count +=
            fake_target_matches(target, fake->exchanges[i]->request.target);
    }
    kl__mutex_unlock(&fake->mutex);
    return count;
}

bool fake_transport_await(fake_transport *fake, size_t count)
{
    int64_t deadline_ms = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool came;

    kl__mutex_lock(&fake->mutex);
    while (fake->exchange_count < count &&
           kl__cond_wait(&fake->changed, &fake->mutex, deadline_ms)) {
    }
    came = fake->exchange_count >= count;
    kl__mutex_unlock(&fake->mutex);
    return came;
}

static bool has_reader(const exchange *self)
{
    return self->has_reader;
}

static bool is_closed(const exchange *self)
{
    return self->request.is_closed;
}

static bool await_exchange(fake_transport *fake, size_t index,
                           bool (*is_so)(const exchange *))
{
    int64_t deadline_ms = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool came;

    if (!fake_transport_await(fake, index + 1)) {
        return false;
    }
    kl__mutex_lock(&fake->mutex);
    while (!is_so(at_locked(fake, index)) &&
           kl__cond_wait(&fake->changed, &fake->mutex, deadline_ms)) {
    }
    came = is_so(at_locked(fake, index));
    kl__mutex_unlock(&fake->mutex);
    return came;
}

bool fake_transport_await_reader(fake_transport *fake, size_t index)
{
    return await_exchange(fake, index, has_reader);
}

bool fake_transport_await_closed(fake_transport *fake, size_t index)
{
    return await_exchange(fake, index, is_closed);
}

void fake_transport_release(fake_transport *fake, size_t index)
{
    kl__mutex_lock(&fake->mutex);
    at_locked(fake, index)->holds_head = false;
    fake_tell_reader(at_locked(fake, index));
    kl__mutex_unlock(&fake->mutex);
}

void fake_transport_send(fake_transport *fake, size_t index, const char *text)
{
    kl__mutex_lock(&fake->mutex);
    fake_put_bytes(at_locked(fake, index), text, strlen(text));
    fake_tell_reader(at_locked(fake, index));
    kl__mutex_unlock(&fake->mutex);
}

void fake_transport_finish(fake_transport *fake, size_t index, fake_end end)
{
    kl__mutex_lock(&fake->mutex);
    at_locked(fake, index)->end = end;
    fake_tell_reader(at_locked(fake, index));
    kl__mutex_unlock(&fake->mutex);
}
