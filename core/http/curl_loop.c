/*
 * curl_loop.c - the transport's thread: obeys commands, lets curl work, ends
 * transfers that are over. It owns the multi handle and every easy handle in
 * it; it blocks in curl_multi_poll alone.
 */
#include "http/curl_loop.h"

#include "base/clock.h"
#include "base/str.h"

#include <poll.h>
#include <string.h>

enum {
    POLL_MS = 60000,
    PAUSE_MS = 100,
    NUDGED_UNTIL = 0x080100,
    /* A server tells with its first bytes how many streams a connection takes;
     * how long its answer is waited for until others join. */
    SETTINGS_MS = 500,
    /* Brief streams that may have a connection each: a thousand at once would
     * take all descriptors of a process (ulimit -n is 1,024 mostly). */
    MOST_CONNECTIONS = 100
};

/* Takes the transfer out of curl's hands, if it is there. */
static void drop_easy(kl__curl_stream *stream)
{
    if (stream->easy == NULL) {
        return;
    }
    kl__list_remove(&stream->waiting_node);
    stream->transport->brief_count -= stream->is_counted;
    stream->is_counted = false;
    if (stream->held) {
        /* libcurl 7.88 never frees what it holds back for a transfer that ends
         * while others share its connection: have it handed over. */
        stream->dropped = true;
        (void)curl_easy_pause(stream->easy, CURLPAUSE_CONT);
    }
    stream->transport->must_nudge |= stream->secure;
    curl_multi_remove_handle(stream->transport->multi, stream->easy);
    curl_easy_cleanup(stream->easy);
    stream->easy = NULL;
}

/* Whether two may share a connection. */
static bool go_together(const kl__curl_stream *one, const kl__curl_stream *two)
{
    return one->secure && !one->fresh && two->secure && !two->fresh &&
           strcmp(one->origin, two->origin) == 0 &&
           kl__streq(one->proxy, two->proxy);
}

/* Whether `other` waits for the connection that `stream` makes. */
static bool waits_for(const kl__curl_stream *other,
                      const kl__curl_stream *stream)
{
    return other->easy != NULL && other->attempts == 0 && !other->dials &&
           go_together(other, stream);
}

/* Those who wait fail with it, rather than one by one, each a connect timeout
 * later than the one before. Whom TLS trusts is everybody's own affair. */
static void end_waiting(const kl__curl_stream *stream, const kl_error *failure)
{
    kl__list *streams = &stream->transport->streams;

    for (kl__list *node = streams->next; node != streams; node = node->next) {
        kl__curl_stream *other = KL__CONTAINER(node, kl__curl_stream, node);

        if (waits_for(other, stream)) {
            drop_easy(other);
            kl__curl_stream_finish(other, failure);
        }
    }
}

/* Its reader may free the stream meanwhile: it is not to be touched afterwards.
 */
static void end_transfer(kl__curl_stream *stream, CURLcode status)
{
    kl_error failure;

    kl__curl_explain(stream, status, &failure);
    drop_easy(stream);
    if (failure.code != KL_OK && failure.code != KL_ENOMEM && stream->secure &&
        stream->attempts == 0) {
        end_waiting(stream, &failure);
    }
    kl__curl_stream_leave(stream, &failure);
}

static void begin_transfer(kl__curl_stream *stream)
{
    kl__list_append(&stream->transport->streams, &stream->node);
    if (stream->easy != NULL) {
        kl__list_append(&stream->transport->waiting, &stream->waiting_node);
    }
}

/*
 * True if the connection of a stream is made, and known to take more. Until a
 * new one has told its limit, libcurl takes that for 100; what a server refuses
 * of those is then sent again, each on a connection of its own: 200 streams on
 * a server that allows 50 made up to 24.
 */
static bool is_settled(const kl__curl_stream *stream, int64_t now_ms)
{
    return stream->attempts > 0 && (!stream->dials || stream->has_head ||
                                    now_ms - stream->sent_ms >= SETTINGS_MS);
}

/* True if the stream has to wait because MOST_CONNECTIONS brief streams have a
 * connection each. Over HTTP/2 they share one, so none has to. */
static bool is_crowded_out(const kl__curl_stream *stream)
{
    const kl__curl_transport *transport = stream->transport;

    return stream->is_brief && transport->brief_count >= MOST_CONNECTIONS &&
           (!stream->secure || transport->speaks_http1);
}

/* True if curl has none that might still make a connection which this one could
 * share. Connections in HTTP/1 are not shared. */
static bool is_next(const kl__curl_stream *stream)
{
    const kl__list *streams = &stream->transport->streams;
    int64_t now_ms = kl__clock_now(kl__clock_real());

    if (stream->transport->speaks_http1) {
        return true;
    }
    for (kl__list *node = streams->next; node != streams; node = node->next) {
        kl__curl_stream *other = KL__CONTAINER(node, kl__curl_stream, node);

        if (other->easy != NULL && kl__list_empty(&other->waiting_node) &&
            go_together(other, stream) && !is_settled(other, now_ms)) {
            return false;
        }
    }
    return true;
}

/*
 * Hands a transfer to curl: the first that need not wait; false: there is none.
 * To the same place they go one by one, each as soon as the one before it has a
 * connection. That is the turn after, where it joined one that was there.
 * libcurl (7.88) has all wait for the first connection, but once that is full
 * each makes its own: of 250 informers opened at once, 130 did.
 */
static bool admit(kl__curl_transport *transport)
{
    kl__list *waiting = &transport->waiting;
    const kl__curl_stream *waits = NULL;

    for (kl__list *node = waiting->next; node != waiting; node = node->next) {
        kl__curl_stream *stream =
            KL__CONTAINER(node, kl__curl_stream, waiting_node);

        if (is_crowded_out(stream) ||
            (waits != NULL && go_together(stream, waits))) {
            continue;
        }
        if (is_next(stream)) {
            kl__list_remove(&stream->waiting_node);
            stream->is_counted = stream->is_brief;
            transport->brief_count += stream->is_counted;
            if (curl_multi_add_handle(transport->multi, stream->easy) !=
                CURLM_OK) {
                end_transfer(stream, CURLE_OUT_OF_MEMORY);
            }
            return true;
        }
        waits = stream;
    }
    return false;
}

/* May bring bytes at once, and pause again. */
static void resume_transfer(kl__curl_stream *stream)
{
    CURLcode status;

    if (stream->easy == NULL) {
        return; /* it ended meanwhile */
    }
    stream->held = false;
    stream->resuming = true;
    status = curl_easy_pause(stream->easy, CURLPAUSE_CONT);
    stream->resuming = false;
    /* "Bad argument" is curl's word for a transfer without a connection. */
    if (status != CURLE_OK && status != CURLE_BAD_FUNCTION_ARGUMENT) {
        end_transfer(stream, status);
    }
}

static void obey(kl__curl_stream *stream, unsigned commands)
{
    if ((commands & KL__CURL_FORGET) != 0) {
        drop_easy(stream);
        kl__list_remove(&stream->news_node);
        kl__list_remove(&stream->node);
        kl__curl_stream_free(stream);
        return;
    }
    if ((commands & KL__CURL_ADD) != 0) {
        begin_transfer(stream);
    }
    if ((commands & KL__CURL_RESUME) != 0) {
        resume_transfer(stream);
    }
}

/* The first stream of the inbox, with its commands; NULL: it is empty. One that
 * the loop has left may be freed with the mutex given back. */
static kl__curl_stream *next_locked(kl__curl_transport *transport,
                                    unsigned *commands)
{
    kl__list *node;

    while ((node = kl__list_shift(&transport->inbox)) != NULL) {
        kl__curl_stream *stream =
            KL__CONTAINER(node, kl__curl_stream, inbox_node);

        *commands = stream->commands;
        stream->commands = 0;
        if (!stream->is_left) {
            return stream;
        }
    }
    return NULL;
}

/* Obeys until the inbox is empty. Then false if the transport is closing; with
 * `stop` it takes no more commands from that moment on. */
static bool obey_all(kl__curl_transport *transport, bool stop)
{
    kl__curl_stream *stream;
    unsigned commands = 0;
    bool closing;

    for (;;) {
        kl__mutex_lock(&transport->mutex);
        stream = next_locked(transport, &commands);
        closing = transport->closing;
        if (stream == NULL && stop) {
            transport->stopped = true;
        }
        kl__mutex_unlock(&transport->mutex);
        if (stream == NULL) {
            return !closing;
        }
        obey(stream, commands);
    }
}

/* Has curl look at a transfer again: pausing and resuming does. */
static void nudge(kl__curl_stream *stream)
{
    CURLcode status;

    if (stream->easy == NULL || stream->attempts == 0 || !stream->secure ||
        stream->held) {
        return;
    }
    status = curl_easy_pause(stream->easy, CURLPAUSE_RECV);
    if (status == CURLE_OK) {
        status = curl_easy_pause(stream->easy, CURLPAUSE_CONT);
    }
    if (status != CURLE_OK && status != CURLE_BAD_FUNCTION_ARGUMENT) {
        end_transfer(stream, status);
    }
}

/*
 * Before libcurl 8.1, what was read from an HTTP/2 connection for one transfer
 * can leave bytes of another behind, and nothing looks at those until more come
 * in: with 50 transfers at a time, one in 1,700 stood still (measured with
 * 7.88.1, whose on_data_chunk_recv pauses nghttp2 then). So whenever something
 * came in, or a transfer ended, all are looked at once more before the loop
 * sleeps, until that brings nothing.
 */
static void nudge_all(kl__curl_transport *transport)
{
    kl__list *streams = &transport->streams;

    transport->must_nudge = false;
    if (curl_version_info(CURLVERSION_NOW)->version_num >= NUDGED_UNTIL) {
        return;
    }
    for (kl__list *node = streams->next, *next; node != streams; node = next) {
        next = node->next;
        nudge(KL__CONTAINER(node, kl__curl_stream, node));
    }
}

static void reap(kl__curl_transport *transport)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(transport->multi, &left)) != NULL) {
        kl__curl_stream *stream = NULL;

        if (message->msg == CURLMSG_DONE) {
            CURLcode status = message->data.result;

            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &stream);
            end_transfer(stream, status);
        }
    }
}

/* Wakes the readers of what came in: they look under the stream's mutex, under
 * which it was put there, so none misses it. */
static void tell_news(kl__curl_transport *transport)
{
    kl__list *node;

    while ((node = kl__list_shift(&transport->news)) != NULL) {
        kl__curl_stream *stream =
            KL__CONTAINER(node, kl__curl_stream, news_node);

        kl__mutex_lock(&stream->mutex);
        kl__curl_stream_tell_locked(stream);
        kl__mutex_unlock(&stream->mutex);
    }
}

static void end_all(kl__curl_transport *transport)
{
    kl_error closed;

    kl_error_set(&closed, KL_ECLOSED, "the connection was closed");
    for (kl__list *node = transport->streams.next; node != &transport->streams;
         node = node->next) {
        kl__curl_stream *stream = KL__CONTAINER(node, kl__curl_stream, node);

        drop_easy(stream);
        kl__curl_stream_finish(stream, &closed);
    }
}

/* While streams wait, the time may let them in. */
static int patience_ms(const kl__curl_transport *transport)
{
    return kl__list_empty(&transport->waiting) ? POLL_MS : SETTINGS_MS;
}

void *kl__curl_loop(void *arg)
{
    kl__curl_transport *transport = arg;
    bool admitted;
    int running;

    while (obey_all(transport, false)) {
        if (transport->must_nudge) {
            nudge_all(transport);
        }
        curl_multi_perform(transport->multi, &running);
        reap(transport);
        tell_news(transport);
        admitted = admit(transport);
        if (!transport->must_nudge && !admitted &&
            curl_multi_poll(transport->multi, NULL, 0, patience_ms(transport),
                            NULL) != CURLM_OK) {
            poll(NULL, 0, PAUSE_MS); /* out of memory: do not spin */
        }
    }
    /* 1. Nobody can open a stream any more. End those that there are. */
    end_all(transport);
    /* 2. Their owners may be closing them: free what they hand over, until the
     * moment from which they do it themselves. */
    obey_all(transport, true);
    /* 3. No stream is touched from here on. */
    curl_multi_cleanup(transport->multi);
    return NULL;
}
