/*
 * sim_transport.c - the in-process transport of a kl_client: a request goes
 * directly to the cluster; the thread that reads the answer carries the request
 * out, and waits there.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/transport.h"
#include "sim/core/sim_course.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct sim_transport {
    kl_transport base;
    /* a reference; the answers of its streams use it too */
    kl_sim *sim;
    char *authorization; /* for requests that have none; NULL: none */
    bool closed;         /* guarded by the cluster's mutex */
} sim_transport;

typedef struct sim_stream {
    kl__stream base;
    sim_transport *transport; /* a reference */
    kl__sim_answer *answer;
    kl__buf headers; /* written when the reader asks for them */
    /* a real server would have received the request by now */
    bool was_sent;
    _Atomic int64_t last_byte_ms; /* relaxed: read by a watchdog */
} sim_stream;

static int64_t machine_now_ms(void)
{
    return kl__clock_now(kl__clock_real());
}

static void note_bytes(sim_stream *stream)
{
    atomic_store_explicit(&stream->last_byte_ms, machine_now_ms(),
                          memory_order_relaxed);
}

static kl_code take_warnings(const kl__sim_answer *answer, kl__response *out,
                             kl_error *err)
{
    kl__buf lines = {0};

    if (answer->warnings.count == 0) {
        return KL_OK;
    }
    kl__sim_warnings_lines(&answer->warnings, &lines);
    if (lines.failed) {
        kl__buf_deinit(&lines);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a warning");
    }
    snprintf(out->warnings, sizeof(out->warnings), "%s", lines.bytes);
    kl__buf_deinit(&lines);
    return KL_OK;
}

static kl_code stream_response(kl__stream *base, kl__response *out,
                               int64_t deadline_ms, kl__cancel *cancel,
                               kl_error *err)
{
    sim_stream *stream = (sim_stream *)base;
    const kl__sim_wait wait = {deadline_ms, cancel};
    const kl__sim_answer *answer = stream->answer;
    kl_code code = kl__check_process(stream->transport->sim->made_in, err);

    if (code == KL_OK) {
        code = kl__sim_answer_begin(stream->answer, &wait, err);
        stream->was_sent = code != KL_EUNAVAILABLE || answer->is_planned;
    }
    if (code != KL_OK) {
        return code;
    }
    memset(out, 0, sizeof(*out));
    out->status = answer->status;
    out->retry_after_ms = answer->retry_after_seconds < 0
                              ? -1
                              : answer->retry_after_seconds * 1000L;
    snprintf(out->content_type, sizeof(out->content_type), "%s",
             answer->content_type);
    note_bytes(stream);
    return take_warnings(answer, out, err);
}

static kl_code read_stream(kl__stream *base, char *buffer, size_t size,
                           size_t *length, int64_t deadline_ms,
                           kl__cancel *cancel, kl_error *err)
{
    sim_stream *stream = (sim_stream *)base;
    const kl__sim_wait wait = {deadline_ms, cancel};
    kl_code code = kl__check_process(stream->transport->sim->made_in, err);

    *length = 0;
    if (code == KL_OK) {
        code = kl__sim_answer_begin(stream->answer, &wait, err);
    }
    if (code == KL_OK) {
        code = kl__sim_answer_read(stream->answer, buffer, size, length, &wait,
                                   err);
    }
    if (code == KL_OK && *length != 0) {
        note_bytes(stream);
    }
    return code;
}

static int64_t last_byte_ms(const kl__stream *base)
{
    const sim_stream *stream = (const sim_stream *)base;

    return atomic_load_explicit(&stream->last_byte_ms, memory_order_relaxed);
}

static void close_stream(kl__stream *base)
{
    sim_stream *stream = (sim_stream *)base;

    if (kl__check_process(stream->transport->sim->made_in, NULL) != KL_OK) {
        return; /* after a fork: the cluster's locks are the parent's */
    }
    kl__sim_answer_free(stream->answer);
    kl__buf_deinit(&stream->headers);
    kl_transport_unref(&stream->transport->base);
    kl__free(stream);
    kl__live_add(KL_LIVE_STREAM, -1);
}

/* Returns true: the reader's own thread makes the answer, so its first read
 * need not wait for the hook. */
static bool set_hook(kl__stream *base, const kl__stream_hook *hook)
{
    kl__sim_answer *answer = ((sim_stream *)base)->answer;

    kl__mutex_lock(&answer->sim->mutex);
    answer->ear.wake = hook->wake;
    answer->ear.arg = hook->arg;
    kl__mutex_unlock(&answer->sim->mutex);
    return true;
}

static int64_t look_again_ms(const kl__stream *base)
{
    return ((const sim_stream *)base)->answer->look_again_ms;
}

/* There is nothing to stop: only the reader's thread carries the request
 * out. */
static bool withdraw_stream(kl__stream *base)
{
    return ((sim_stream *)base)->was_sent;
}

/* Writes the response headers that the HTTP port would send. */
static kl_code write_headers(kl__stream *base, const char **lines,
                             kl_error *err)
{
    sim_stream *stream = (sim_stream *)base;
    const kl__sim_answer *answer = stream->answer;
    size_t index = 0;
    kl__buf *out = &stream->headers;
    kl__buf value = {0};

    kl__buf_reset(out);
    kl__buf_printf(out, "content-type:%s\ncache-control:%s\n",
                   answer->content_type,
                   answer->is_public ? "public" : "no-cache, private");
    if (answer->vary != NULL) {
        kl__buf_printf(out, "vary:%s\n", answer->vary);
    }
    if (answer->retry_after_seconds >= 0) {
        kl__buf_printf(out, "retry-after:%d\n", answer->retry_after_seconds);
    }
    while (kl__sim_warnings_header(&answer->warnings, &index, &value) &&
           !value.failed) {
        kl__buf_printf(out, "warning:%s\n", value.bytes);
        kl__buf_reset(&value);
    }
    out->failed = out->failed || value.failed;
    kl__buf_deinit(&value);
    *lines = out->bytes;
    return !out->failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for headers");
}

static const kl__stream_ops stream_ops = {.response = stream_response,
                                          .read = read_stream,
                                          .last_byte_ms = last_byte_ms,
                                          .close = close_stream,
                                          .set_hook = set_hook,
                                          .look_again_ms = look_again_ms,
                                          .withdraw = withdraw_stream,
                                          .headers = write_headers};

static const char *find_request_header(const kl__request *request,
                                       const char *name)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name) == 0) {
            return request->headers[i].value;
        }
    }
    return NULL;
}

/* Appends a line for each group to impersonate; false: out of memory. */
static bool join_groups(const kl__request *request, kl__buf *lines)
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, "Impersonate-Group") == 0) {
            kl__buf_puts(lines, request->headers[i].value);
            kl__buf_putc(lines, '\n');
        }
    }
    return !lines->failed;
}

static kl_code check_open(sim_transport *transport, kl_error *err)
{
    bool closed;

    if (kl__check_process(transport->sim->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    kl__mutex_lock(&transport->sim->mutex);
    closed = transport->closed;
    kl__mutex_unlock(&transport->sim->mutex);
    return !closed ? KL_OK
                   : kl_error_set(err, KL_ECLOSED,
                                  "simulator: the transport is closed");
}

static kl__stream *open_stream(kl_transport *base, const kl__request *request,
                               kl_error *err)
{
    sim_transport *transport = (sim_transport *)base;
    const char *given = find_request_header(request, "Authorization");
    kl__buf groups = {0};
    const bool is_named = join_groups(request, &groups);
    const kl__sim_request asked = {
        .method = request->method,
        .target = request->target,
        .accept = find_request_header(request, "Accept"),
        .content_type = find_request_header(request, "Content-Type"),
        .authorization = given != NULL ? given : transport->authorization,
        .is_local = true,
        .impersonated = find_request_header(request, "Impersonate-User"),
        .impersonated_groups = groups.bytes,
        .user_agent = find_request_header(request, "User-Agent"),
        .run = find_request_header(request, "Kubelua-Run"),
        .accept_encoding = find_request_header(request, "Accept-Encoding"),
        .body = request->body,
        .body_length = request->body_length};
    sim_stream *stream;

    if (check_open(transport, err) != KL_OK) {
        kl__buf_deinit(&groups);
        return NULL;
    }
    stream = kl__calloc(1, sizeof(*stream));
    if (stream == NULL) {
        kl__buf_deinit(&groups);
        kl_error_set(err, KL_ENOMEM, "out of memory for a request");
        return NULL;
    }
    stream->answer =
        is_named ? kl__sim_answer_new(transport->sim, &asked, err) : NULL;
    kl__buf_deinit(&groups);
    if (stream->answer == NULL) {
        kl__free(stream);
        kl_error_set(err, KL_ENOMEM, "out of memory for a request");
        return NULL;
    }
    stream->answer->closed = &transport->closed;
    stream->answer->may_control = true;
    stream->base.ops = &stream_ops;
    stream->transport = transport;
    kl__transport_ref(base);
    atomic_init(&stream->last_byte_ms, machine_now_ms());
    kl__live_add(KL_LIVE_STREAM, 1);
    return &stream->base;
}

static void close_transport(kl_transport *base)
{
    sim_transport *transport = (sim_transport *)base;

    if (kl__check_process(transport->sim->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&transport->sim->mutex);
    transport->closed = true;
    kl__sim_wake_all(transport->sim);
    kl__mutex_unlock(&transport->sim->mutex);
}

static void free_transport(kl_transport *base)
{
    sim_transport *transport = (sim_transport *)base;

    kl_sim_unref(transport->sim);
    kl__free(transport->authorization);
    kl__free(transport);
}

static const kl__transport_ops transport_ops = {open_stream, close_transport,
                                                free_transport};

kl_transport *kl_sim_transport_as(kl_sim *sim, const char *token, kl_error *err)
{
    sim_transport *transport;

    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return NULL;
    }
    transport = kl__calloc(1, sizeof(*transport));
    if (transport != NULL && token != NULL) {
        transport->authorization = kl__strprintf("Bearer %s", token);
    }
    if (transport == NULL ||
        (token != NULL && transport->authorization == NULL)) {
        kl__free(transport);
        kl_error_set(err, KL_ENOMEM, "out of memory for a transport");
        return NULL;
    }
    transport->base.ops = &transport_ops;
    atomic_init(&transport->base.refs, 1);
    transport->sim = kl_sim_ref(sim);
    return &transport->base;
}

kl_transport *kl_sim_transport(kl_sim *sim, kl_error *err)
{
    return kl_sim_transport_as(sim, NULL, err);
}
