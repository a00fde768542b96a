/*
 * sim_wire.c - see sim_wire.h. The broken answer is written directly to the
 * socket, or to its TLS session.
 */
#include "sim/core/http/sim_wire.h"

#include "base/clock.h"

#include <gnutls/gnutls.h>
#include <poll.h>
#include <sys/socket.h>

enum {
    /* of a broken answer; a longer body is cut off here */
    MAX_BODY = 1024 * 1024,
    CHUNK = 32 * 1024,
    READ_MS = 100,  /* a watch sends the events of this time */
    SEND_MS = 5000, /* then a client that does not read is given up */
    LONGER_BY = 1000
};

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return about != NULL ? about->connect_fd : -1;
}

static gnutls_session_t session_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    return about != NULL ? (gnutls_session_t)about->tls_session : NULL;
}

void kl__sim_wire_reset(struct MHD_Connection *connection)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    int fd = socket_of(connection);

    /* On Linux, connect() with AF_UNSPEC resets a TCP connection. */
    if (fd >= 0) {
        (void)connect(fd, &nowhere, sizeof(nowhere));
    }
}

static ssize_t send_some(gnutls_session_t session, int fd, const char *bytes,
                         size_t length)
{
    return session != NULL ? gnutls_record_send(session, bytes, length)
                           : send(fd, bytes, length, MSG_NOSIGNAL);
}

static void send_all(struct MHD_Connection *connection, const kl__buf *out)
{
    const int64_t deadline = kl__clock_now(kl__clock_real()) + SEND_MS;
    gnutls_session_t session = session_of(connection);
    struct pollfd ready = {.fd = socket_of(connection), .events = POLLOUT};
    size_t done = 0;

    while (done < out->length && kl__clock_now(kl__clock_real()) < deadline) {
        ssize_t sent;

        if (poll(&ready, 1, READ_MS) <= 0) {
            continue;
        }
        if ((ready.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
            return;
        }
        sent =
            send_some(session, ready.fd, out->bytes + done, out->length - done);
        done += sent > 0 ? (size_t)sent : 0;
    }
}

/* Reads the body: all of it, or the first events of a watch. */
static void read_body(kl__sim_answer *answer, kl__buf *body)
{
    size_t length;

    do {
        const kl__sim_wait wait = {kl__clock_now(kl__clock_real()) + READ_MS,
                                   NULL};
        char *room = kl__buf_reserve(body, CHUNK);

        length = 0;
        if (room == NULL ||
            answer->sim->hooks->answer_read(answer, room, CHUNK, &length, &wait,
                                            NULL) != KL_OK) {
            return;
        }
        body->length += length;
    } while (length != 0 && body->length < MAX_BODY);
}

void kl__sim_wire_send(struct MHD_Connection *connection,
                       kl__sim_answer *answer, kl__sim_how how)
{
    kl__buf out = {0}, body = {0};
    size_t length;

    read_body(answer, &body);
    length = how == KL__SIM_SHORT_LENGTH  ? body.length / 2
             : how == KL__SIM_LONG_LENGTH ? body.length + LONGER_BY
                                          : body.length;
    if (how == KL__SIM_NO_HTTP) {
        kl__buf_puts(&out, "220 mail.example.com ESMTP\r\n\r\n");
    } else {
        kl__buf_printf(&out, "HTTP/1.1 %d Broken\r\nContent-Type: %s\r\n",
                       answer->status, answer->content_type);
    }
    if (how == KL__SIM_CHUNKS) {
        kl__buf_puts(&out, "Transfer-Encoding: chunked\r\n\r\n10000zz\r\n");
    } else if (how != KL__SIM_NO_HTTP) {
        kl__buf_printf(&out, "%sContent-Length: %zu\r\n\r\n",
                       how == KL__SIM_GZIP ? "Content-Encoding: gzip\r\n" : "",
                       length);
    }
    if (how == KL__SIM_GZIP &&
        body.length > 2) { /* begin like gzip, with its magic number */
        body.bytes[0] = 0x1f;
        body.bytes[1] = (char)0x8b;
    }
    kl__buf_append(&out, body.bytes, body.length);
    if (!out.failed && !body.failed) {
        send_all(connection, &out);
    }
    kl__buf_deinit(&out);
    kl__buf_deinit(&body);
}
