/*
 * curl_gather.c - while a list comes object by object, bytes gather before a
 * thread is woken: the loop sleeps until its socket has many, and tells the
 * reader when the stream has many. An API server sends each object of a
 * streaming list in one HTTP/2 frame and one TLS record. The loop and the
 * reader woke for each object, which took half of the CPU time of such a list.
 */
#include "http/curl_loop.h"

#include "base/clock.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum {
    /* A shorter list is not held back at all. */
    GATHERS_FROM = 256 * 1024,
    /* The reader is told of this many bytes at once. */
    MUCH_FOR_READER = 64 * 1024,
    /* The loop wakes when its socket has this many: less than the receive
     * buffer of Linux is at first, so the server never waits for the loop. */
    MUCH_FOR_LOOP = 32 * 1024,
    /* Nothing is held back longer. */
    GATHER_MS = 5,
    /* The same for a socket over which events of a watch may come. */
    WATCHED_MS = 1
};

/* ---- sockets ---- */

void kl__curl_note_socket(kl__curl_transport *transport, int socket)
{
    transport->sockets[transport->next_socket] = socket;
    transport->next_socket = (transport->next_socket + 1) % KL__CURL_SOCKETS;
}

/* The descriptor may be another socket's from now on. */
void kl__curl_forget_socket(kl__curl_transport *transport, int socket)
{
    kl__list *gathering = &transport->gathering;

    for (int i = 0; i < KL__CURL_SOCKETS; i++) {
        if (transport->sockets[i] == socket) {
            transport->sockets[i] = -1;
        }
    }
    for (kl__list *node = gathering->next; node != gathering;
         node = node->next) {
        kl__curl_stream *stream =
            KL__CONTAINER(node, kl__curl_stream, gather_node);

        if (stream->socket == socket) {
            stream->socket = -1;
        }
    }
}

static int local_port_of(int socket)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);

    if (getsockname(socket, (struct sockaddr *)&address, &length) != 0) {
        return -1;
    }
    switch (address.ss_family) {
    case AF_INET:
        return ntohs(((struct sockaddr_in *)(void *)&address)->sin_port);
    case AF_INET6:
        return ntohs(((struct sockaddr_in6 *)(void *)&address)->sin6_port);
    default:
        return -1;
    }
}

/* The socket that carries the transfer; -1: not known. curl tells it only for a
 * connection that the transfer itself has opened. */
static int find_socket(const kl__curl_stream *stream)
{
    const kl__curl_transport *transport = stream->transport;

    for (int i = 0; i < KL__CURL_SOCKETS; i++) {
        int socket = transport->sockets[i];

        if (socket >= 0 && local_port_of(socket) == stream->local_port) {
            return socket;
        }
    }
    return -1;
}

/* ---- the reader ---- */

void kl__curl_note_list(kl__curl_stream *stream, size_t length)
{
    stream->received += length;
    /* Without TLS curl reads up to 64 KB at once, and there is less to gain
     * than this costs: 3 % of the CPU time of a fast server's list. */
    if (!stream->secure || stream->received < GATHERS_FROM) {
        return;
    }
    stream->is_flowing = true;
    stream->transport->is_flowing = true;
    if (kl__list_empty(&stream->gather_node)) {
        stream->socket = find_socket(stream);
        kl__list_append(&stream->transport->gathering, &stream->gather_node);
    }
}

void kl__curl_end_gathering(kl__curl_stream *stream)
{
    kl__list_remove(&stream->gather_node);
    stream->received = 0;
    stream->held_until_ms = 0;
}

/* True if more bytes are to come for a reader that can wait for them. */
static bool has_little(kl__curl_stream *stream)
{
    bool has_little;

    kl__mutex_lock(&stream->mutex);
    has_little = !stream->finished && !atomic_load(&stream->paused) &&
                 atomic_load(&stream->unread) < MUCH_FOR_READER;
    kl__mutex_unlock(&stream->mutex);
    return has_little;
}

bool kl__curl_holds_back(kl__curl_stream *stream)
{
    int64_t now_ms;

    if (!kl__list_empty(&stream->gather_node) &&
        !kl__curl_still_gathers(stream)) {
        kl__curl_end_gathering(stream);
    }
    if (kl__list_empty(&stream->gather_node) || !has_little(stream)) {
        stream->held_until_ms = 0;
        return false;
    }
    now_ms = kl__clock_now(kl__clock_real());
    if (stream->held_until_ms == 0) {
        stream->held_until_ms = now_ms + GATHER_MS;
    } else if (now_ms >= stream->held_until_ms) {
        stream->held_until_ms = 0;
        return false;
    }
    return true;
}

/* ---- the loop ---- */

int kl__curl_hold_ms(const kl__curl_stream *stream)
{
    const kl__list *streams = &stream->transport->streams;
    int hold_ms = GATHER_MS;

    for (kl__list *node = streams->next; node != streams; node = node->next) {
        const kl__curl_stream *other =
            KL__CONTAINER(node, kl__curl_stream, node);

        if (!kl__list_empty(&other->gather_node) ||
            !kl__curl_may_meet(stream, other)) {
            continue;
        }
        if (other->is_brief || !other->head.complete) {
            return 0;
        }
        hold_ms = WATCHED_MS;
    }
    return hold_ms;
}

/* Sets how many bytes the socket must have before a poll reports it. */
static void set_low_water(const kl__curl_stream *stream, int bytes)
{
    (void)setsockopt(stream->socket, SOL_SOCKET, SO_RCVLOWAT, &bytes,
                     sizeof(bytes));
}

/* Raises the low-water mark of each connection over which a list comes, and
 * which has brought bytes since the last time, unless an answer is awaited from
 * it. Returns how long the loop may sleep, `most_ms` at most. */
static int raise_marks(kl__curl_transport *transport, int most_ms)
{
    kl__list *gathering = &transport->gathering;

    for (kl__list *node = gathering->next, *next; node != gathering;
         node = next) {
        kl__curl_stream *stream =
            KL__CONTAINER(node, kl__curl_stream, gather_node);
        bool may_hold =
            stream->is_flowing && !stream->held && stream->socket >= 0;
        int hold_ms = may_hold ? kl__curl_hold_ms(stream) : 0;

        next = node->next;
        stream->is_flowing = false;
        if (!kl__curl_still_gathers(stream)) {
            kl__curl_end_gathering(stream);
        } else if (hold_ms > 0) {
            stream->is_low = true;
            set_low_water(stream, MUCH_FOR_LOOP);
            most_ms = hold_ms < most_ms ? hold_ms : most_ms;
        }
    }
    return most_ms;
}

int kl__curl_raise_marks(kl__curl_transport *transport, int most_ms)
{
    if (kl__list_empty(&transport->gathering)) {
        return most_ms;
    }
    if (!kl__list_empty(&transport->news) && most_ms > GATHER_MS) {
        most_ms = GATHER_MS;
    }
    return raise_marks(transport, most_ms);
}

void kl__curl_lower_marks(kl__curl_transport *transport)
{
    kl__list *gathering = &transport->gathering;

    for (kl__list *node = gathering->next; node != gathering;
         node = node->next) {
        kl__curl_stream *stream =
            KL__CONTAINER(node, kl__curl_stream, gather_node);

        if (stream->is_low) {
            stream->is_low = false;
            set_low_water(stream, 1);
        }
    }
}

CURLMcode kl__curl_sleep(kl__curl_transport *transport, int most_ms)
{
    CURLMcode status =
        curl_multi_poll(transport->multi, NULL, 0,
                        kl__curl_raise_marks(transport, most_ms), NULL);

    kl__curl_lower_marks(transport);
    return status;
}
