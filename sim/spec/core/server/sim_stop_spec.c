/*
 * sim_stop_spec.c - a port that is closed, or refuses connections, while
 * requests of every kind are under way.
 */
#include "spec_case.h"
#include "sim_socket.h"

#include <poll.h>
#include <unistd.h>

enum { ROUNDS = 400, PEERS = 6 };

/* Until the first of them hears something: the others are being answered. */
static void await_first(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&ready, 1, SIM_CLIENT_PATIENCE_MS), 1);
}

/* libmicrohttpd before 1.0.1 follows a NULL pointer where it is stopped while
 * it refuses a request: once in some hundred such ends. */
PLAIN_CASE(a_port_can_be_closed_while_it_refuses_requests)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);
    int peers[PEERS];

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < PEERS; i++) {
            peers[i] = sim_dial(sim);
        }
        for (int i = 0; i < PEERS; i++) {
            sim_say(peers[i], "GET / HTTP/1.1\r\nX: x\r\n\x93\x93\r\n\r\n");
        }
        if (round % 2 == 0) {
            await_first(peers[0]);
        }
        kl_sim_unlisten(sim);
        for (int i = 0; i < PEERS; i++) {
            close(peers[i]);
        }
    }
    sim_expect(sim, "GET", "/version", NULL, 200);
    kl_sim_unref(sim);
    sim_expect_nothing_lives();
}
