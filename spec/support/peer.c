/*
 * peer.c - see peer.h.
 */
#include "peer.h"

#include "kube_script.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILLERS = sizeof(((peer *)0)->fillers) / sizeof(int) };

#define GROUPS(items) \
    "{\"kind\":\"APIGroupDiscoveryList\",\"metadata\":{},\"items\":[" items "]}"

static const char core_group[] =
    GROUPS("{\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"resources\":[{"
           "\"resource\":\"nodes\",\"responseKind\":{\"kind\":\"Node\"},"
           "\"scope\":\"Cluster\",\"singularResource\":\"node\",\"verbs\":["
           "\"get\",\"list\",\"watch\"]}]}]}");

#define ITEMS NODE("a", "1") "," NODE("b", "2") "," NODE("c", "3")
#define EVENTS ADDED("d", "11") MODIFIED("d", "12") DELETED("d", "13")

const char *peer_describe(peer_kind kind)
{
    static const char *const names[PEER_KINDS] = {
        [PEER_HEALTHY] = "a healthy server",
        [PEER_SLOW] = "a slow server",
        [PEER_FROZEN] = "a frozen server",
        [PEER_HALFWAY] = "a server frozen halfway",
        [PEER_CLOSED] = "a server gone halfway",
        [PEER_BLACKHOLE] = "an address without an answer",
        [PEER_NAMELESS] = "a name server without an answer",
        [PEER_NO_TLS] = "a handshake without an answer",
    };

    return names[kind];
}

/* ---- servers ---- */

static void script(hostile_server *server, peer_kind kind, const char *match,
                   const char *body)
{
    size_t half = strlen(body) / 2;

    switch (kind) {
    case PEER_SLOW:
        hostile_always(server, match,
                       STEPS(HOSTILE_STALL(2), HOSTILE_STREAM, HOSTILE_STALL(2),
                             HOSTILE_CHUNK("\n"), HOSTILE_STALL(2),
                             HOSTILE_CHUNK(body), HOSTILE_STALL(2),
                             HOSTILE_CHUNK("\n"), HOSTILE_STALL(8),
                             HOSTILE_STREAM_END));
        break;
    case PEER_FROZEN:
        hostile_always(server, match, STEPS(HOSTILE_FREEZE));
        break;
    case PEER_HALFWAY:
        hostile_always(
            server, match,
            STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Type: application/"
                               "json\r\nContent-Length: 100000\r\n\r\n"),
                  HOSTILE_BYTES(body, half), HOSTILE_FREEZE));
        break;
    case PEER_CLOSED:
        hostile_always(
            server, match,
            STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Type: application/"
                               "json\r\nContent-Length: 100000\r\n\r\n"),
                  HOSTILE_BYTES(body, half), HOSTILE_CLOSE));
        break;
    default:
        hostile_always(server, match, STEPS(HOSTILE_ANSWER(200, body)));
        break;
    }
}

static void serve(peer *self, bool all)
{
    peer_kind discovery = all ? self->kind : PEER_HEALTHY;

    self->server = hostile_new(NULL);
    script(self->server, discovery, "GET /apis ", GROUPS(""));
    script(self->server, discovery, "GET /api ", core_group);
    if (self->kind == PEER_HEALTHY) { /* a healthy watch stays open */
        hostile_always(self->server, "watch=true", OPEN_WATCH(EVENTS));
    } else {
        script(self->server, self->kind, "watch=true", EVENTS);
    }
    script(self->server, self->kind, "", LIST("10", ITEMS));
    snprintf(self->url, sizeof(self->url), "%s", hostile_url(self->server));
}

/* ---- peers that are no servers ---- */

static int connect_to(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    (void)connect(fd, (const struct sockaddr *)address, sizeof(*address));
    return fd;
}

/* Listens on a port, but never accepts. `backlog`: how many connections may
 * wait; with `fill`, the queue is filled, so that the kernel drops further
 * SYNs. */
static void listen_only(peer *self, const char *scheme, int backlog, bool fill)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);

    self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(self->listener >= 0);
    assert_int_equal(
        bind(self->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(self->listener, backlog), 0);
    assert_int_equal(
        getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    for (int i = 0; fill && i < FILLERS; i++) {
        self->fillers[i] = connect_to(&address);
    }
    snprintf(self->url, sizeof(self->url), "%s://127.0.0.1:%d", scheme,
             ntohs(address.sin_port));
}

peer *peer_new(peer_kind kind, bool all)
{
    peer *self = calloc(1, sizeof(*self));

    assert_non_null(self);
    self->kind = kind;
    self->listener = -1;
    for (int i = 0; i < FILLERS; i++) {
        self->fillers[i] = -1;
    }
    switch (kind) {
    case PEER_BLACKHOLE:
        listen_only(self, "http", 0, true);
        break;
    case PEER_NO_TLS:
        listen_only(self, "https", SOMAXCONN, false);
        break;
    case PEER_NAMELESS:
        snprintf(self->url, sizeof(self->url), "http://" PEER_NAME);
        break;
    default:
        serve(self, all);
        break;
    }
    return self;
}

void peer_free(peer *self)
{
    for (int i = 0; i < FILLERS; i++) {
        if (self->fillers[i] >= 0) {
            close(self->fillers[i]);
        }
    }
    if (self->listener >= 0) {
        close(self->listener);
    }
    hostile_free(self->server);
    free(self);
}
