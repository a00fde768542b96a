/*
 * curl_stream.c - the reader's side of a stream: waits until the loop has
 * received bytes, takes and decodes them, and tells the loop when there is room
 * again. It frees the memory of an idle stream.
 */
#include "http/curl_loop.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include "kubelua/client.h"

#include <string.h>

enum {
    DEFAULT_WINDOW = 256 * 1024,
    IDLE_MS = 100,           /* idle: no byte for this long */
    SPARE_MEMORY = 64 * 1024 /* memory that an idle buffer may keep */
};

static const kl__stream_ops ops;

/* ---- life ---- */

kl__curl_stream *kl__curl_stream_new(kl__curl_transport *transport,
                                     const kl__request *request)
{
    kl__curl_stream *stream = kl__calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return NULL;
    }
    stream->base.ops = &ops;
    stream->transport = transport;
    stream->tls = request->tls != NULL ? kl__tls_ref(request->tls) : NULL;
    stream->fresh = request->fresh_connection;
    stream->keeps_headers = request->keeps_headers;
    stream->is_brief = request->is_brief;
    stream->send_by_ms = request->send_by_ms;
    stream->window = request->window != 0 ? request->window : DEFAULT_WINDOW;
    kl__list_init(&stream->inbox_node);
    kl__list_init(&stream->node);
    kl__list_init(&stream->news_node);
    kl__list_init(&stream->waiting_node);
    kl__list_init(&stream->gather_node);
    kl__mutex_init(&stream->mutex, KL__RANK_STREAM);
    kl__cond_init(&stream->cond);
    atomic_init(&stream->unread, 0);
    atomic_init(&stream->paused, false);
    atomic_init(&stream->gathers, request->gathers);
    atomic_init(&stream->last_byte_ms, kl__clock_now(kl__clock_real()));
    return stream;
}

void kl__curl_stream_free(kl__curl_stream *stream)
{
    curl_easy_cleanup(stream->easy);
    curl_slist_free_all(stream->headers);
    curl_slist_free_all(stream->connect_to);
    kl__inflate_free(stream->inflate);
    kl__buf_deinit(&stream->taken);
    kl__buf_deinit(&stream->arrived);
    kl__buf_deinit(&stream->header_lines);
    kl__cond_deinit(&stream->cond);
    kl__mutex_deinit(&stream->mutex);
    kl__free(stream->body);
    kl__free(stream->proxy);
    kl__free(stream->origin);
    kl__trust_unref(stream->trust);
    kl__tls_unref(stream->tls);
    kl__free(stream);
}

static bool stream_set_hook(kl__stream *base, const kl__stream_hook *hook)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;
    bool has_news;

    kl__mutex_lock(&stream->mutex);
    stream->hook = *hook;
    has_news = stream->has_head || stream->finished;
    kl__mutex_unlock(&stream->mutex);
    return has_news;
}

static void stream_stop_gathering(kl__stream *base)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;

    atomic_store_explicit(&stream->gathers, false, memory_order_relaxed);
}

static bool stream_withdraw(kl__stream *base)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;
    bool was_sent;

    kl__mutex_lock(&stream->mutex);
    stream->withdrawn = true;
    was_sent = stream->attempts > 0;
    kl__mutex_unlock(&stream->mutex);
    return was_sent;
}

static void stream_close(kl__stream *base)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;
    kl__curl_transport *transport = stream->transport;
    bool is_left;

    if (kl__check_process(transport->made_in, NULL) != KL_OK) {
        return; /* in a child of fork() the loop does not exist */
    }
    kl__mutex_lock(&stream->mutex);
    stream->hook.wake = NULL; /* from here on the loop does not set is_left */
    is_left = stream->is_left;
    kl__mutex_unlock(&stream->mutex);
    kl__live_add(KL_LIVE_STREAM, -1);
    if (is_left) {
        kl__curl_take_back(stream);
    }
    if (is_left || !kl__curl_post(stream, KL__CURL_FORGET)) {
        kl__curl_stream_free(stream);
    }
    kl_transport_unref(&transport->base);
}

/* ---- room for more bytes ---- */

/* True if the transfer is paused and at most half of the window is unread. */
static bool should_resume(kl__curl_stream *stream)
{
    return atomic_load(&stream->paused) &&
           atomic_load(&stream->unread) <= stream->window / 2;
}

/* Swaps the empty `taken` with `arrived`; false: no bytes have arrived, or the
 * transport was closed. Call it when `taken` is used up. */
static bool swap_arrived_locked(kl__curl_stream *stream)
{
    kl__buf empty = stream->taken;

    if (stream->arrived.length == 0 || kl__curl_is_closed(stream)) {
        return false;
    }
    stream->taken = stream->arrived;
    stream->arrived = empty;
    return true;
}

/* Resumes a transfer that was paused, if there is room. With `swaps`, also
 * takes the bytes that have arrived, and returns true if there are any. */
static bool make_room(kl__curl_stream *stream, bool swaps)
{
    bool resume, has_taken;

    kl__mutex_lock(&stream->mutex);
    resume = should_resume(stream);
    if (resume) {
        atomic_store(&stream->paused, false);
    }
    has_taken = swaps && swap_arrived_locked(stream);
    kl__mutex_unlock(&stream->mutex);
    if (resume) {
        kl__curl_post(stream, KL__CURL_RESUME);
    }
    return has_taken;
}

/* Counts bytes of `taken` as read. Resumes a paused transfer when at most half
 * of the window is unread. */
static void note_read(kl__curl_stream *stream, size_t length)
{
    stream->taken_used += length;
    atomic_fetch_sub(&stream->unread, length);
    if (should_resume(stream)) {
        (void)make_room(stream, false);
    }
}

/* ---- memory ---- */

static void trim_buf(kl__buf *buf)
{
    if (buf->length == 0 && buf->capacity > SPARE_MEMORY) {
        kl__buf_deinit(buf);
    }
}

/* True if the buffers have more memory than an idle stream may keep. */
static bool has_much_memory(kl__curl_stream *stream)
{
    bool has_much;

    kl__mutex_lock(&stream->mutex);
    has_much = stream->taken.capacity > SPARE_MEMORY ||
               stream->arrived.capacity > SPARE_MEMORY;
    kl__mutex_unlock(&stream->mutex);
    return has_much;
}

/* Frees the memory of empty buffers that have too much. */
static void trim_buffers(kl__curl_stream *stream)
{
    kl__mutex_lock(&stream->mutex);
    trim_buf(&stream->taken);
    trim_buf(&stream->arrived);
    kl__mutex_unlock(&stream->mutex);
}

/* ---- waiting ---- */

typedef bool (*condition)(const kl__curl_stream *stream);

static bool knows_head(const kl__curl_stream *stream)
{
    return stream->has_head || stream->finished;
}

static bool has_bytes(const kl__curl_stream *stream)
{
    return stream->arrived.length > 0 || stream->finished;
}

/* The cancel token's hook; runs on the thread that fires the token. */
static void wake_reader(void *arg)
{
    kl__curl_stream *stream = arg;

    kl__mutex_lock(&stream->mutex);
    kl__cond_broadcast(&stream->cond);
    kl__mutex_unlock(&stream->mutex);
}

typedef struct wait_limits {
    int64_t deadline_ms;
    kl__cancel *cancel;
} wait_limits;

/* Waits until `ready` is true. KL_ECANCELED, KL_ETIMEOUT. */
static kl_code wait_for_locked(kl__curl_stream *stream, condition ready,
                               const wait_limits *limits)
{
    bool in_time = true;

    while (!ready(stream)) {
        if (kl__cancel_fired(limits->cancel)) {
            return KL_ECANCELED;
        }
        if (!in_time || limits->deadline_ms == 0) {
            return KL_ETIMEOUT;
        }
        in_time =
            kl__cond_wait(&stream->cond, &stream->mutex, limits->deadline_ms);
    }
    return KL_OK;
}

/* As above, for an unlocked stream. The stream is locked afterwards if the
 * result is KL_OK, and only then. */
static kl_code wait_for(kl__curl_stream *stream, condition ready,
                        const wait_limits *limits, kl_error *err)
{
    kl__cancel_hook hook = {.wake = wake_reader, .arg = stream};
    kl_code code = kl__check_process(stream->transport->made_in, err);

    if (code != KL_OK) {
        return code;
    }
    /* 1. Add the hook before locking the stream: the token's mutex ranks
     * lower. */
    if (!kl__cancel_add(limits->cancel, &hook)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    kl__mutex_lock(&stream->mutex);
    code = wait_for_locked(stream, ready, limits);
    kl__mutex_unlock(&stream->mutex);
    /* 2. Remove the hook while the stream is unlocked. `ready` stays true
     *    meanwhile: only this thread, the reader, removes bytes. */
    kl__cancel_remove(limits->cancel, &hook);
    if (code == KL_ECANCELED) {
        return kl_error_set(err, code, "the call was cancelled");
    }
    if (code == KL_ETIMEOUT) {
        return kl_error_set(err, code, "%s did not answer in time",
                            stream->origin);
    }
    kl__mutex_lock(&stream->mutex);
    return KL_OK;
}

static kl_code copy_failure(const kl__curl_stream *stream, kl_error *err)
{
    if (err != NULL) {
        *err = stream->failure;
    }
    return stream->failure.code;
}

static kl_code stream_response(kl__stream *base, kl__response *response,
                               int64_t deadline_ms, kl__cancel *cancel,
                               kl_error *err)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;
    wait_limits limits = {deadline_ms, cancel};
    kl_code code = wait_for(stream, knows_head, &limits, err);

    if (code != KL_OK) {
        return code;
    }
    if (stream->has_head && !kl__curl_is_closed(stream)) {
        *response = stream->response;
        stream->took_head = true;
    } else {
        code = copy_failure(stream, err);
    }
    kl__mutex_unlock(&stream->mutex);
    return code;
}

/* ---- reading ---- */

static bool is_idle(const kl__curl_stream *stream)
{
    return kl__clock_now(kl__clock_real()) -
               atomic_load_explicit(&stream->last_byte_ms,
                                    memory_order_relaxed) >=
           IDLE_MS;
}

/* Waits for bytes, as wait_for. If no byte comes for IDLE_MS, it frees large
 * buffers: an idle watch must not keep the memory that a list once needed. Not
 * earlier, because in the middle of a list the buffers are often empty. */
static kl_code wait_for_bytes(kl__curl_stream *stream,
                              const wait_limits *limits, kl_error *err)
{
    int64_t idle_at = kl__clock_now(kl__clock_real()) + IDLE_MS;
    wait_limits brief = {idle_at, limits->cancel};
    kl_code code;

    if (!has_much_memory(stream)) {
        return wait_for(stream, has_bytes, limits, err);
    }
    if (limits->deadline_ms >= 0 && limits->deadline_ms <= idle_at) {
        code = wait_for(stream, has_bytes, limits, err);
        if (code == KL_ETIMEOUT && is_idle(stream)) {
            trim_buffers(stream); /* see stream_look_again_ms */
        }
        return code;
    }
    code = wait_for(stream, has_bytes, &brief, err);
    if (code != KL_ETIMEOUT) {
        return code;
    }
    trim_buffers(stream);
    return wait_for(stream, has_bytes, limits, err);
}

/* Makes sure that `taken` has unread bytes. *ended is set at the end of the
 * stream. */
static kl_code take_arrived(kl__curl_stream *stream, const wait_limits *limits,
                            bool *ended, kl_error *err)
{
    kl_code code;

    if (stream->taken_used < stream->taken.length) {
        return KL_OK;
    }
    code = kl__check_process(stream->transport->made_in, err);
    if (code != KL_OK) {
        return code;
    }
    kl__buf_reset(&stream->taken);
    stream->taken_used = 0;
    if (!kl__cancel_fired(limits->cancel) && make_room(stream, true)) {
        return KL_OK;
    }
    code = wait_for_bytes(stream, limits, err);
    if (code != KL_OK) {
        return code;
    }
    if (!swap_arrived_locked(stream)) {
        *ended = true;
        code = copy_failure(stream, err);
    }
    kl__mutex_unlock(&stream->mutex);
    return code;
}

static kl_code decode_bytes(kl__curl_stream *stream, kl__inflate_io *io,
                            kl_error *err)
{
    size_t available = stream->taken.length - stream->taken_used;
    kl_code code;

    if (stream->inflate == NULL) {
        stream->inflate = kl__inflate_new();
    }
    if (stream->inflate == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for gzip");
    }
    io->in = available > 0 ? stream->taken.bytes + stream->taken_used : "";
    io->in_length = available;
    code = kl__inflate_step(stream->inflate, io, err);
    if (code == KL_EPARSE) {
        kl_error_prefix(err, "%s", stream->origin);
    }
    if (code == KL_OK && io->in_length < available) {
        note_read(stream, available - io->in_length);
    }
    return code;
}

static void copy_bytes(kl__curl_stream *stream, kl__inflate_io *io)
{
    size_t available = stream->taken.length - stream->taken_used;
    size_t length = available < io->out_length ? available : io->out_length;

    memcpy(io->out, stream->taken.bytes + stream->taken_used, length);
    io->out += length;
    io->out_length -= length;
    note_read(stream, length);
}

/* Moves bytes from `taken` to the reader's buffer; with gzip the result may be
 * empty. Reads `encoding` without the mutex: it was set before the first byte
 * and never changes. */
static kl_code deliver_bytes(kl__curl_stream *stream, kl__inflate_io *io,
                             kl_error *err)
{
    switch (stream->encoding) {
    case KL__ENCODING_IDENTITY:
        copy_bytes(stream, io);
        return KL_OK;
    case KL__ENCODING_GZIP:
        return decode_bytes(stream, io, err);
    default:
        return kl_error_set(err, KL_EPARSE,
                            "%s sent an encoding that was not asked for; only "
                            "gzip is",
                            stream->origin);
    }
}

/* Fills `io` with at least one byte, or sets *ended. */
static kl_code read_some(kl__curl_stream *stream, kl__inflate_io *io,
                         const wait_limits *limits, bool *ended, kl_error *err)
{
    size_t size = io->out_length;
    kl_code code = KL_OK;

    if (stream->inflate != NULL) {
        /* First the output that did not fit the last time; it needs no
         * input. */
        code = decode_bytes(stream, io, err);
    }
    while (code == KL_OK && !*ended && io->out_length == size) {
        code = take_arrived(stream, limits, ended, err);
        if (code == KL_OK && !*ended) {
            code = deliver_bytes(stream, io, err);
        }
    }
    return code;
}

static kl_code stream_read(kl__stream *base, char *buffer, size_t size,
                           size_t *length, int64_t deadline_ms,
                           kl__cancel *cancel, kl_error *err)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;
    kl__inflate_io io = {.out = buffer, .out_length = size};
    wait_limits limits = {deadline_ms, cancel};
    bool ended = false;
    kl_code code;

    *length = 0;
    if (size == 0) {
        return kl_error_set(err, KL_EINVAL, "reading needs a buffer");
    }
    if (kl__cancel_fired(cancel)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    code = read_some(stream, &io, &limits, &ended, err);
    if (code == KL_OK && ended && stream->inflate != NULL &&
        !kl__inflate_is_whole(stream->inflate)) {
        return kl_error_set(err, KL_EUNAVAILABLE,
                            "the answer of %s broke off inside of its gzip",
                            stream->origin);
    }
    if (code == KL_OK) {
        *length = size - io.out_length;
    }
    return code;
}

static int64_t stream_last_byte_ms(const kl__stream *base)
{
    const kl__curl_stream *stream = (const kl__curl_stream *)base;

    return atomic_load_explicit(&stream->last_byte_ms, memory_order_relaxed);
}

/* The hook is called for all changes. Only a stream with large buffers must be
 * looked at again, to free them when it is idle. */
static int64_t stream_look_again_ms(const kl__stream *base)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;

    return has_much_memory(stream) ? stream_last_byte_ms(base) + IDLE_MS : -1;
}

static kl_code stream_headers(kl__stream *base, const char **lines,
                              kl_error *err)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;

    if (stream->header_lines.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for headers");
    }
    *lines =
        stream->header_lines.bytes != NULL ? stream->header_lines.bytes : "";
    return KL_OK;
}

/* ---- lending the turn ---- */

static bool stream_lend(kl__stream *base, const kl__stream_turn *turn)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;
    bool is_lent;

    if (kl__check_process(stream->transport->made_in, NULL) != KL_OK) {
        return false; /* the next read says so */
    }
    kl__mutex_lock(&stream->mutex);
    is_lent = stream->took_head ? !has_bytes(stream) : !knows_head(stream);
    if (is_lent) {
        stream->lent = turn;
        stream->is_returned = false;
    }
    kl__mutex_unlock(&stream->mutex);
    return is_lent;
}

static void stream_retract(kl__stream *base)
{
    kl__curl_stream *stream = (kl__curl_stream *)base;

    if (kl__check_process(stream->transport->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&stream->mutex);
    stream->is_awaited = true;
    while (stream->is_taken) {
        kl__cond_wait(&stream->cond, &stream->mutex, -1);
    }
    stream->is_awaited = false;
    stream->lent = NULL;
    kl__mutex_unlock(&stream->mutex);
}

static const kl__stream_ops ops = {.response = stream_response,
                                   .read = stream_read,
                                   .last_byte_ms = stream_last_byte_ms,
                                   .close = stream_close,
                                   .set_hook = stream_set_hook,
                                   .look_again_ms = stream_look_again_ms,
                                   .withdraw = stream_withdraw,
                                   .headers = stream_headers,
                                   .lend = stream_lend,
                                   .retract = stream_retract,
                                   .stop_gathering = stream_stop_gathering};
