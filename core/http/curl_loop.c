/*
 * curl_loop.c - the loop of the transport thread. Each turn it carries out the
 * commands of other threads, lets curl read and write, and ends finished
 * transfers. It owns the multi handle and all easy handles in it, and blocks
 * only in curl_multi_poll.
 */
#include "http/curl_loop.h"

#include "base/clock.h"
#include "base/str.h"

#include <poll.h>
#include <string.h>

enum {
    POLL_MS = 60000,
    PAUSE_MS = 100,
    LOOKUP_MS = 200, /* the longest rest while a name is looked up */
    /* How long other requests wait for the first answer on a new connection:
     * with its first bytes an HTTP/2 server tells how many streams the
     * connection may have. */
    SETTINGS_MS = 500,
    /* The maximum number of brief streams with a connection each, over HTTP/1.
     * A thousand would use all descriptors of a process (ulimit -n is mostly
     * 1,024). */
    MOST_CONNECTIONS = 100,
    MOST_ADMITTED = 32, /* requests given to curl in a turn, over HTTP/1 */
    MOST_RESENT = 5,    /* as curl's own CONN_MAX_RETRIES */
    HELD_UP_MS = 2000   /* a fifth of the time that connecting may take */
};

/* Removes the transfer from curl, if it is there, and frees its easy handle. */
static void drop_easy(kl__curl_stream *stream)
{
    if (stream->easy == NULL) {
        return;
    }
    kl__list_remove(&stream->waiting_node);
    kl__curl_end_gathering(stream);
    kl__curl_end_lookup(stream);
    stream->transport->brief_count -= stream->is_counted;
    stream->is_counted = false;
    if (stream->held) {
        /* libcurl 7.88 leaks the bytes it holds back for a paused transfer that
         * ends while others use its connection. Resuming makes it deliver them;
         * kl__curl_on_body throws them away. */
        stream->dropped = true;
        (void)curl_easy_pause(stream->easy, CURLPAUSE_CONT);
    }
    stream->transport->must_nudge |= kl__curl_may_share(stream);
    curl_multi_remove_handle(stream->transport->multi, stream->easy);
    curl_easy_cleanup(stream->easy);
    stream->easy = NULL;
}

/* True if both requests may share a connection. */
static bool can_share(const kl__curl_stream *one, const kl__curl_stream *two)
{
    return one->secure && !one->fresh && two->secure && !two->fresh &&
           strcmp(one->origin, two->origin) == 0 &&
           kl__streq(one->proxy, two->proxy);
}

/* True if `other` waits for the connection that curl is opening for
 * `stream`. */
static bool waits_for(const kl__curl_stream *other,
                      const kl__curl_stream *stream)
{
    return other->easy != NULL && other->attempts == 0 && !other->dials &&
           can_share(other, stream);
}

/* Ends the requests that wait for the connection of `stream`, with its failure.
 * Otherwise each of them would try to connect after the one before it, and wait
 * for a connect timeout of its own. */
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

/* Gives curl a transfer; false: out of memory. */
static bool give_to_curl(kl__curl_stream *stream)
{
    kl__curl_transport *transport = stream->transport;

    stream->waited_ms = transport->carried.waited_ms;
    return curl_multi_add_handle(transport->multi, stream->easy) == CURLM_OK;
}

/* True if connecting took too long because others had the thread meanwhile:
 * that says nothing about the server. Seen: 300 clients that share a thread and
 * read the system's CAs, each for 40 ms; half of them failed. */
static bool was_held_up(const kl__curl_stream *stream, CURLcode status)
{
    const kl__carried *carried = &stream->transport->carried;

    return status == CURLE_OPERATION_TIMEDOUT &&
           carried->waited_ms - stream->waited_ms >= HELD_UP_MS;
}

static bool was_refused(const kl__curl_stream *stream, CURLcode status)
{
    return status != CURLE_OK && stream->is_refused && !stream->head.complete;
}

/*
 * Sends a request again that a server over HTTP/2 has refused unprocessed, as
 * Go's transport does, if curl has not done so; or one that was held up. False:
 * not that, or too often; then one that was refused counts as never sent.
 */
static bool send_again(kl__curl_stream *stream, CURLcode status)
{
    bool is_refused = was_refused(stream, status);

    if (!is_refused && !was_held_up(stream, status)) {
        return false;
    }
    if (stream->resent++ < MOST_RESENT) {
        CURLM *multi = stream->transport->multi;

        stream->curl_message[0] = '\0';
        if (!is_refused) {
            stream->dials = stream->in_tls = false; /* from the beginning */
        }
        return curl_multi_remove_handle(multi, stream->easy) == CURLM_OK &&
               give_to_curl(stream);
    }
    if (is_refused) {
        kl__mutex_lock(&stream->mutex);
        stream->attempts = 0;
        stream->withdrawn = true;
        kl__mutex_unlock(&stream->mutex);
    }
    return false;
}

/* Ends a transfer. The stream must not be used afterwards: its reader may have
 * freed it. */
static void end_transfer(kl__curl_stream *stream, CURLcode status)
{
    kl_error failure;

    if (send_again(stream, status)) {
        return;
    }
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
 * True if the connection of a stream is open and its limit of streams is known.
 * Until the server has told its limit, libcurl assumes 100; a stream that the
 * server refuses is sent again on a connection of its own. Measured: 200
 * streams to a server that allows 50 made up to 24 connections.
 */
static bool is_settled(const kl__curl_stream *stream, int64_t now_ms)
{
    return stream->attempts > 0 && (!stream->dials || stream->has_head ||
                                    now_ms - stream->sent_ms >= SETTINGS_MS);
}

/* True if the stream must wait because MOST_CONNECTIONS brief streams have a
 * connection each. Over HTTP/2 they share a connection, and none waits. */
static bool is_crowded_out(const kl__curl_stream *stream)
{
    const kl__curl_transport *transport = stream->transport;

    return stream->is_brief && transport->brief_count >= MOST_CONNECTIONS &&
           (!stream->secure || transport->speaks_http1);
}

/* True if curl is not opening a connection that this stream could share.
 * Connections with HTTP/1 cannot be shared. */
static bool can_start(const kl__curl_stream *stream)
{
    const kl__list *streams = &stream->transport->streams;
    int64_t now_ms = kl__clock_now(kl__clock_real());

    if (stream->transport->speaks_http1) {
        return true;
    }
    for (kl__list *node = streams->next; node != streams; node = node->next) {
        kl__curl_stream *other = KL__CONTAINER(node, kl__curl_stream, node);

        if (other->easy != NULL && kl__list_empty(&other->waiting_node) &&
            can_share(other, stream) && !is_settled(other, now_ms)) {
            return false;
        }
    }
    return true;
}

/*
 * Gives curl the first transfer that need not wait; false: there is none.
 * Transfers to the same server are given one by one, each when the one before
 * it has a connection. A transfer that joins an open connection has it after
 * one turn of the loop. Given all at once, they would wait in libcurl (7.88)
 * for the first connection; but when that is full, each of the others opens a
 * connection of its own: of 250 informers opened at once, 130 did.
 */
static bool admit_next(kl__curl_transport *transport)
{
    kl__list *waiting = &transport->waiting;
    const kl__curl_stream *waits = NULL;

    for (kl__list *node = waiting->next; node != waiting; node = node->next) {
        kl__curl_stream *stream =
            KL__CONTAINER(node, kl__curl_stream, waiting_node);

        if (is_crowded_out(stream) ||
            (waits != NULL && can_share(stream, waits))) {
            continue;
        }
        if (can_start(stream)) {
            kl__list_remove(&stream->waiting_node);
            stream->is_counted = stream->is_brief;
            transport->brief_count += stream->is_counted;
            if (!give_to_curl(stream)) {
                end_transfer(stream, CURLE_OUT_OF_MEMORY);
            }
            return true;
        }
        waits = stream;
    }
    return false;
}

/* As many as may be given in one turn: over HTTP/1 they do not wait for one
 * another, and curl walks over all transfers in each turn. */
static bool admit_some(kl__curl_transport *transport)
{
    int most = transport->speaks_http1 ? MOST_ADMITTED : 1;
    int count = 0;

    while (count < most && admit_next(transport)) {
        count++;
    }
    return count > 0;
}

/* Resumes a paused transfer. curl may deliver bytes during the call, and the
 * transfer may be paused again. */
static void resume_transfer(kl__curl_stream *stream)
{
    CURLcode status;

    if (stream->easy == NULL) {
        return; /* it has ended meanwhile */
    }
    stream->held = false;
    stream->resuming = true;
    status = curl_easy_pause(stream->easy, CURLPAUSE_CONT);
    stream->resuming = false;
    /* curl reports "bad argument" for a transfer without a connection. */
    if (status != CURLE_OK && status != CURLE_BAD_FUNCTION_ARGUMENT) {
        end_transfer(stream, status);
    }
}

static void run_commands(kl__curl_stream *stream, unsigned commands)
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

/* The first stream of the inbox, with its commands; NULL: the inbox is empty.
 * Skips a stream with is_left: its reader may free it when the mutex is
 * unlocked. */
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

/* Carries out commands until the inbox is empty. False: the transport is
 * closing. With `stop`, no more commands are accepted from then on. */
static bool run_inbox(kl__curl_transport *transport, bool stop)
{
    kl__curl_stream *stream;
    unsigned commands = 0;
    bool closing;

    for (;;) {
        kl__mutex_lock(&transport->mutex);
        stream = next_locked(transport, &commands);
        closing = transport->closing;
        transport->is_asleep = false;
        if (stream == NULL && stop) {
            transport->stopped = true;
        }
        kl__mutex_unlock(&transport->mutex);
        if (stream == NULL) {
            return !closing;
        }
        run_commands(stream, commands);
    }
}

/* Makes curl look at a transfer again, by pausing and resuming it. */
static void nudge_stream(kl__curl_stream *stream)
{
    CURLcode status;

    if (stream->easy == NULL || stream->attempts == 0 || stream->held ||
        !kl__curl_may_share(stream)) {
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
 * A workaround for a bug in libcurl before 8.1. When curl reads an HTTP/2
 * connection for one transfer, bytes of another may stay in its buffer until
 * more arrive from the network. Measured with 7.88.1, whose on_data_chunk_recv
 * pauses nghttp2 then: with 50 transfers at a time, one in 1,700 hung. So after
 * bytes have arrived or a transfer has ended, every transfer that may share a
 * connection is looked at again before the loop sleeps, until no more bytes
 * come. Not after the bytes of a transfer that has its connection to itself
 * (note_byte): this takes as long as reading a lone event does. Over HTTP/1
 * each has: looking at a thousand watches after each of their answers took 4 s.
 */
static void nudge_all(kl__curl_transport *transport)
{
    kl__list *streams = &transport->streams;

    transport->must_nudge = false;
    if (!transport->is_nudged) {
        return;
    }
    for (kl__list *node = streams->next, *next; node != streams; node = next) {
        next = node->next;
        nudge_stream(KL__CONTAINER(node, kl__curl_stream, node));
    }
}

static void end_finished(kl__curl_transport *transport)
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

/* Pauses a transfer over HTTP/1 whose window is full. */
static void pause_full(kl__curl_stream *stream)
{
    if (stream->easy != NULL && kl__curl_fills_window(stream)) {
        stream->held = true;
        /* If it fails, curl delivers more, and on_body has it keep that. */
        (void)curl_easy_pause(stream->easy, CURLPAUSE_RECV);
    }
}

/* Tells readers that bytes have come, but those of lists that gather. */
static void deliver_news(kl__curl_transport *transport)
{
    kl__list *news = &transport->news;

    for (kl__list *node = news->next, *next; node != news; node = next) {
        kl__curl_stream *stream =
            KL__CONTAINER(node, kl__curl_stream, news_node);

        next = node->next;
        pause_full(stream);
        if (!kl__curl_holds_back(stream)) {
            kl__list_remove(node);
            kl__curl_stream_deliver(stream);
        }
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

/* How long the loop may sleep. While streams wait to be given to curl, at most
 * SETTINGS_MS: then is_settled may be true. */
static int sleep_limit_ms(const kl__curl_transport *transport)
{
    return kl__list_empty(&transport->waiting) ? POLL_MS : SETTINGS_MS;
}

/* True if the loop may sleep: nothing was posted meanwhile. From here on a post
 * wakes it. */
static bool may_sleep(kl__curl_transport *transport)
{
    bool may;

    kl__mutex_lock(&transport->mutex);
    may = kl__list_empty(&transport->inbox) && !transport->closing;
    transport->is_asleep = may;
    kl__mutex_unlock(&transport->mutex);
    return may;
}

/* One turn. False: the transport is closing. `*is_idle`: there is nothing more
 * to do at once. */
static bool run_turn(kl__curl_transport *transport, bool *is_idle)
{
    bool admitted;
    int running;

    if (!run_inbox(transport, false)) {
        return false;
    }
    if (transport->must_nudge) {
        nudge_all(transport);
    }
    transport->is_flowing = false;
    curl_multi_perform(transport->multi, &running);
    end_finished(transport);
    deliver_news(transport);
    admitted = admit_some(transport);
    /* curl reads one TLS record in a turn: first read what has come. */
    *is_idle = !transport->is_flowing && !transport->must_nudge && !admitted;
    return true;
}

/* The last use of the transport by the loop. */
static void end_loop(kl__curl_transport *transport)
{
    /* 1. No stream can be opened any more. End all existing ones. */
    end_all(transport);
    /* 2. Readers may be closing streams. Free the streams that readers have
     *    handed to the loop; from then on a reader frees its stream itself. */
    run_inbox(transport, true);
    /* 3. The loop uses no stream from here on. A thread that has posted a
     *    command may still be about to wake it. */
    kl__mutex_lock(&transport->wake_mutex);
    transport->is_over = true;
    kl__mutex_unlock(&transport->wake_mutex);
    curl_multi_cleanup(transport->multi);
}

void *kl__curl_loop(void *arg)
{
    kl__curl_transport *transport = arg;
    bool is_idle;

    kl__thread_set_role(KL__ROLE_TRANSPORT);
    while (run_turn(transport, &is_idle)) {
        if (is_idle && may_sleep(transport) &&
            kl__curl_sleep(transport, sleep_limit_ms(transport)) != CURLM_OK) {
            poll(NULL, 0, PAUSE_MS); /* out of memory: try again later */
        }
    }
    end_loop(transport);
    return NULL;
}

/* How long a loop of a carrier may sleep. From libcurl 8.20 on, a name that was
 * found wakes curl_multi_poll and nothing else: neither a socket of ours nor
 * curl_multi_timeout tells of it. So look again and again, as libcurl did
 * before: the longer it takes, the more seldom. */
static int carried_limit_ms(const kl__curl_transport *transport)
{
    int most_ms = sleep_limit_ms(transport);
    int64_t next_ms;

    if (transport->lookups == 0) {
        return most_ms;
    }
    next_ms = (kl__clock_now(kl__clock_real()) - transport->lookup_ms) / 3;
    return next_ms < 1 ? 1 : next_ms > LOOKUP_MS ? LOOKUP_MS : (int)next_ms;
}

/* The time of the next turn if nothing happens before; KL__CARRIED_AGAIN: a
 * socket is ready. The carrier is told of a change once, and curl may have left
 * something in a socket: so the sockets are looked at here. */
static int64_t find_rest(kl__curl_transport *transport)
{
    int most_ms = kl__curl_raise_marks(transport, carried_limit_ms(transport));
    long curl_ms = -1;
    int ready = 0;

    if (curl_multi_poll(transport->multi, NULL, 0, 0, &ready) != CURLM_OK ||
        curl_multi_timeout(transport->multi, &curl_ms) != CURLM_OK) {
        most_ms = PAUSE_MS; /* out of memory: try again later */
    } else if (ready > 0 || curl_ms == 0) {
        return KL__CARRIED_AGAIN;
    }
    if (curl_ms > 0 && curl_ms < most_ms) {
        most_ms = (int)curl_ms;
    }
    return kl__clock_now(kl__clock_real()) + most_ms;
}

int64_t kl__curl_carried_turn(void *arg)
{
    kl__curl_transport *transport = arg;
    bool is_idle;

    kl__curl_lower_marks(transport);
    if (!run_turn(transport, &is_idle)) {
        end_loop(transport);
        return KL__CARRIED_OVER;
    }
    return is_idle && may_sleep(transport) ? find_rest(transport)
                                           : KL__CARRIED_AGAIN;
}
