/*
 * listen.c - raw bytes to a simulator's port: a pattern of chunks on the first
 * line, the bytes on the others. Whatever they are, the server answers with
 * HTTP or nothing, the connection ends, and the cluster still answers
 * afterwards.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "kubelua/memory.h"
#include "kubelua/sim.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A connection that is silent for so long is taken for a watch, and closed. */
enum { SILENCE_MS = 50, MOST_BYTES = 1 << 20 };

static int connect_to(const kl_sim *sim)
{
    const char *port = strrchr(kl_sim_url(sim), ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET};
    int on = 1, peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_port = htons((uint16_t)atoi(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    FUZZ_EXPECT(peer >= 0);
    FUZZ_EXPECT(connect(peer, (struct sockaddr *)&address, sizeof(address)) ==
                0);
    setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return peer;
}

/* Sends all bytes, unless the server closes the connection before. */
static void send_all(int peer, fuzz_text text, fuzz_chunks chunks)
{
    while (text.length > 0) {
        size_t size = fuzz_chunk(&chunks, text.length);
        ssize_t sent = send(peer, text.bytes, size, MSG_NOSIGNAL);

        if (sent <= 0) {
            return;
        }
        text.bytes += sent;
        text.length -= (size_t)sent;
    }
}

/* Reads to the end of the connection; if the connection stays silent, the port
 * is closed to end it. */
static void receive_all(int peer, kl_sim *sim, kl__buf *out)
{
    struct pollfd ready = {.fd = peer, .events = POLLIN};
    bool listens = true;

    while (out->length < MOST_BYTES) {
        char room[4096];
        ssize_t length;

        if (listens && poll(&ready, 1, SILENCE_MS) == 0) {
            kl_sim_unlisten(sim);
            listens = false;
        }
        length = recv(peer, room, sizeof(room), 0);
        if (length <= 0) {
            break;
        }
        kl__buf_append(out, room, (size_t)length);
    }
}

static void expect_alive(kl_sim *sim)
{
    kl_call call = {.method = "GET", .target = "/api/v1/namespaces/default"};
    kl_reply reply;

    FUZZ_EXPECT(kl_sim_call(sim, &call, &reply, NULL) == KL_OK);
    FUZZ_EXPECT(reply.status == 200 || reply.status == 404);
    kl_reply_clear(&reply);
}

void fuzz_listen(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text pattern = fuzz_line(&text);
    kl_sim *sim = kl_sim_new(NULL, NULL);
    kl__buf out = {0};
    int peer;

    FUZZ_EXPECT(kl_sim_listen(sim, &(kl_sim_listen_options){.port = 0}, NULL) ==
                KL_OK);
    peer = connect_to(sim);
    send_all(peer, text, (fuzz_chunks){.pattern = pattern});
    shutdown(peer, SHUT_WR);
    receive_all(peer, sim, &out);
    close(peer);
    FUZZ_EXPECT(out.length == 0 || strncmp(out.bytes, "HTTP/1.", 7) == 0);
    expect_alive(sim);
    kl__buf_deinit(&out);
    kl_sim_unref(sim);
}
