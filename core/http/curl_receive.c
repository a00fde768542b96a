/*
 * curl_receive.c - the loop's side of a stream: it wakes the reader, and has
 * the callbacks that curl calls for headers, for the body and before sending.
 */
#include "http/curl_loop.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* A response of at most this many bytes is short: see kl__stream_hook.end.
     */
    SHORT_ANSWER = 64 * 1024,
    /* Fewer bytes than this are few: see kl__stream_turn. As many are what curl
     * reads at once, and more are likely to follow. */
    LENT_MAX = 16 * 1024,
    /* Over HTTP/1, so many bytes beyond the window are taken before curl has to
     * keep any: what it reads in one turn of the loop, and then some. */
    BEYOND_WINDOW = 128 * 1024
};

/* ---- waking the reader ---- */

/* Wakes a reader that has lent its turn: the loop leaves it the rest. */
static void return_turn_locked(kl__curl_stream *stream)
{
    if (stream->lent != NULL && !stream->is_taken && !stream->is_awaited &&
        !stream->is_returned) {
        stream->is_returned = true;
        stream->lent->wake(stream->lent->arg);
    }
}

static void call_hook_locked(kl__curl_stream *stream)
{
    return_turn_locked(stream);
    if (stream->hook.wake != NULL &&
        (!stream->hook.at_end || stream->finished ||
         atomic_load(&stream->paused))) {
        stream->hook.wake(stream->hook.arg);
    }
}

/* Unlocks the stream's mutex and wakes the reader: a part of the response has
 * arrived. A reader that wakes while the mutex is held would only wait again.
 */
static void unlock_and_tell(kl__curl_stream *stream)
{
    call_hook_locked(stream);
    kl__mutex_unlock(&stream->mutex);
    kl__cond_broadcast(&stream->cond);
}

/* True if this end counts (see kl__curl_stream_finish): then the caller wakes
 * the reader. */
static bool finish_locked(kl__curl_stream *stream, const kl_error *failure)
{
    bool is_news = !stream->finished || failure->code == KL_ECLOSED;

    if (is_news) {
        stream->finished = true;
        stream->failure = *failure;
    }
    return is_news;
}

void kl__curl_stream_finish(kl__curl_stream *stream, const kl_error *failure)
{
    kl__mutex_lock(&stream->mutex);
    if (finish_locked(stream, failure)) {
        unlock_and_tell(stream);
    } else {
        kl__mutex_unlock(&stream->mutex);
    }
}

/* Returns the hook if its `end` is to be called, else a zeroed one. `end` is
 * called only for a short response: the reader decodes it on the loop, and
 * other streams wait meanwhile. */
static kl__stream_hook take_end_locked(kl__curl_stream *stream)
{
    kl__stream_hook hook = {0};

    if (stream->hook.end != NULL &&
        atomic_load(&stream->unread) <= SHORT_ANSWER) {
        hook = stream->hook;
        stream->hook.wake = NULL;
        hook.hold(hook.arg);
    }
    return hook;
}

void kl__curl_stream_leave(kl__curl_stream *stream, const kl_error *failure)
{
    kl__stream_hook hook = {0};

    kl__mutex_lock(&stream->mutex);
    if (stream->hook.wake == NULL || !stream->hook.at_end) {
        kl__mutex_unlock(&stream->mutex);
        kl__curl_stream_finish(stream, failure);
        return;
    }
    kl__list_remove(&stream->news_node);
    kl__list_remove(&stream->node);
    stream->is_left = true;
    atomic_store(&stream->paused, false); /* nothing is left to be resumed */
    if (finish_locked(stream, failure)) {
        hook = take_end_locked(stream);
        /* With the mutex locked: after the unlock the reader may free the
         * stream. */
        kl__cond_broadcast(&stream->cond);
        call_hook_locked(stream);
    }
    kl__mutex_unlock(&stream->mutex);
    if (hook.end != NULL) {
        hook.end(hook.arg);
    }
}

/* ---- the reader's turn ---- */

/* True if the loop may carry out the reader's turn: the reader sleeps, and few
 * bytes have come. */
static bool may_take_locked(kl__curl_stream *stream)
{
    size_t unread = atomic_load(&stream->unread);

    return stream->lent != NULL && stream->lent->run != NULL &&
           !stream->is_awaited && !stream->is_returned && !stream->finished &&
           !atomic_load(&stream->paused) && unread > 0 && unread < LENT_MAX;
}

/* Carries out the reader's turn, unlocked. False: the reader has to go on, or
 * waits for the end of the turn. */
static bool run_turn_locked(kl__curl_stream *stream)
{
    const kl__stream_turn *turn = stream->lent;
    bool is_done;

    stream->is_taken = true;
    kl__mutex_unlock(&stream->mutex);
    is_done = turn->run(turn->arg);
    kl__mutex_lock(&stream->mutex);
    stream->is_taken = false;
    return is_done && !stream->is_awaited;
}

/* Both sides hold the stream's mutex, so the reader misses no wake-up. */
void kl__curl_stream_deliver(kl__curl_stream *stream)
{
    kl__mutex_lock(&stream->mutex);
    if (may_take_locked(stream) && run_turn_locked(stream)) {
        kl__mutex_unlock(&stream->mutex);
    } else {
        unlock_and_tell(stream);
    }
}

/* ---- what curl calls ---- */

/* True if no other transfer may use the same connection. */
static bool is_alone(const kl__curl_stream *stream)
{
    const kl__list *streams = &stream->transport->streams;

    for (kl__list *node = streams->next; node != streams; node = node->next) {
        if (kl__curl_may_meet(stream,
                              KL__CONTAINER(node, kl__curl_stream, node))) {
            return false;
        }
    }
    return true;
}

static void note_byte(kl__curl_stream *stream)
{
    kl__curl_transport *transport = stream->transport;

    atomic_store_explicit(&stream->last_byte_ms,
                          kl__clock_now(kl__clock_real()),
                          memory_order_relaxed);
    if (!transport->must_nudge && kl__curl_may_share(stream)) {
        transport->must_nudge = !is_alone(stream);
    }
}

size_t kl__curl_on_header(char *bytes, size_t one, size_t length, void *arg)
{
    kl__curl_stream *stream = arg;

    (void)one;
    note_byte(stream);
    if (stream->keeps_headers && !stream->head.complete) {
        kl__head_keep(&stream->header_lines, bytes, length);
    }
    if (kl__head_line(&stream->head, bytes, length)) {
        if (stream->secure) {
            stream->transport->speaks_http1 = !stream->head.response.http2;
        }
        kl__mutex_lock(&stream->mutex);
        stream->response = stream->head.response;
        stream->encoding = stream->head.encoding;
        stream->has_head = true;
        unlock_and_tell(stream);
    }
    return length;
}

/* True if a stream with unread bytes has no room for `length` more. Over HTTP/1
 * the loop pauses such a transfer after its turn (kl__curl_fills_window), so
 * that curl keeps nothing: it would copy twice what it keeps. */
static bool is_full(const kl__curl_stream *stream, size_t unread, size_t length)
{
    size_t room = stream->window;

    if (!stream->head.response.http2) {
        room += BEYOND_WINDOW;
    }
    return unread > 0 && unread + length > room;
}

bool kl__curl_fills_window(kl__curl_stream *stream)
{
    bool fills;

    kl__mutex_lock(&stream->mutex);
    fills = !stream->head.response.http2 && !atomic_load(&stream->paused) &&
            atomic_load(&stream->unread) > stream->window;
    if (fills) {
        atomic_store(&stream->paused, true);
    }
    kl__mutex_unlock(&stream->mutex);
    return fills;
}

/*
 * Called with a part of the body. A stream without unread bytes always accepts
 * it; a stream with unread bytes pauses when its window is full, and its
 * reader, which has bytes to read, resumes it later. On resuming, everything is
 * accepted at once: over HTTP/2 that can be megabytes, and curl would copy the
 * rest each time it had to keep some. deliver_news tells the reader once of all
 * parts that arrive in one turn of the loop: curl delivers at most 16 KB in
 * each call.
 */
size_t kl__curl_on_body(char *bytes, size_t one, size_t length, void *arg)
{
    kl__curl_stream *stream = arg;
    size_t taken = length, unread;
    bool has_news = false;

    (void)one;
    if (stream->dropped) {
        return length;
    }
    note_byte(stream);
    if (kl__curl_still_gathers(stream)) {
        kl__curl_note_list(stream, length);
    }
    kl__mutex_lock(&stream->mutex);
    unread = atomic_load(&stream->unread); /* the reader may lower it now */
    if (!stream->resuming && is_full(stream, unread, length)) {
        atomic_store(&stream->paused, true);
        stream->held = true;
        has_news = true; /* a reader with at_end must now make room */
        taken = CURL_WRITEFUNC_PAUSE;
    } else {
        kl__buf_append(&stream->arrived, bytes, length);
        if (stream->arrived.failed) {
            stream->arrived.failed = false;
            taken = 0; /* curl ends the transfer: CURLE_WRITE_ERROR */
        } else {
            atomic_fetch_add(&stream->unread, length);
            has_news = true;
        }
    }
    kl__mutex_unlock(&stream->mutex);
    if (has_news && kl__list_empty(&stream->news_node)) {
        kl__list_append(&stream->transport->news, &stream->news_node);
    }
    return taken;
}

/* Marks the streams that a GOAWAY refuses: those above its last stream, on the
 * connection of the transfer that has read it. */
static void note_goaway(const kl__curl_stream *reader, long last)
{
    kl__list *streams = &reader->transport->streams;

    for (kl__list *node = streams->next; node != streams; node = node->next) {
        kl__curl_stream *stream = KL__CONTAINER(node, kl__curl_stream, node);

        stream->is_refused |= stream->easy != NULL && stream->h2_id > last &&
                              stream->local_port == reader->local_port;
    }
}

/*
 * Called with what curl does, in words: nothing else tells that a server over
 * HTTP/2 has refused a stream unprocessed (RFC 9113, section 8.7), by
 * REFUSED_STREAM or a GOAWAY that names a lower stream. Mostly curl then sends
 * the request again by itself, up to five times. Seen with libcurl 7.88.
 */
int kl__curl_on_words(CURL *easy, curl_infotype type, char *words,
                      size_t length, void *arg)
{
    kl__curl_stream *stream = arg;
    char line[128];
    const char *number;

    (void)easy;
    if (type != CURLINFO_TEXT) {
        return 0;
    }
    length = length < sizeof(line) ? length : sizeof(line) - 1;
    memcpy(line, words, length);
    line[length] = '\0';
    if (strstr(line, "REFUSED_STREAM, retrying") != NULL) {
        stream->is_refused = true;
    } else if ((number = strstr(line, "Using Stream ID: ")) != NULL) {
        stream->h2_id = strtol(number + 17, NULL, 10);
    } else if ((number = strstr(line, "[HTTP/2] [")) != NULL &&
               strstr(number, "] OPENED stream") != NULL) {
        stream->h2_id = strtol(number + 10, NULL, 10); /* libcurl 8 */
    } else if (strstr(line, "GOAWAY, error=") != NULL &&
               (number = strstr(line, "last_stream=")) != NULL) {
        note_goaway(stream, strtol(number + 12, NULL, 10));
    }
    return 0;
}

/*
 * Called before each sending of a request. If a reused connection proves to be
 * dead, curl sends the request again by itself. A POST or PATCH may have been
 * carried out already and must not be sent twice, unless the server refused it
 * unprocessed.
 */
int kl__curl_on_send(void *arg, char *peer_ip, char *local_ip, int peer_port,
                     int local_port)
{
    kl__curl_stream *stream = arg;
    bool may_send;

    (void)peer_ip;
    (void)local_ip;
    (void)peer_port;
    kl__mutex_lock(&stream->mutex);
    if (stream->send_by_ms > 0 && kl__boottime_ms() >= stream->send_by_ms) {
        stream->was_late = !stream->withdrawn && stream->attempts == 0;
        stream->withdrawn = true;
    }
    may_send = !stream->withdrawn && (stream->attempts == 0 ||
                                      stream->repeatable || stream->is_refused);
    stream->attempts += !stream->withdrawn;
    stream->is_refused = false;
    stream->h2_id = 0;
    stream->local_port = local_port;
    kl__mutex_unlock(&stream->mutex);
    kl__curl_end_gathering(stream);
    kl__curl_end_lookup(stream);
    stream->sent_ms = kl__clock_now(kl__clock_real());
    return may_send ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}
