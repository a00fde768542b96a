/*
 * sim_socket.c - see sim_socket.h.
 */
#include "sim_socket.h"

#include "sim_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { CHUNK = 4096 };

int sim_dial(kl_sim *sim)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (kl_sim_url(sim) == NULL) {
        assert_int_equal(kl_sim_listen(sim, NULL, NULL), KL_OK);
    }
    address.sin_port = htons((uint16_t)atoi(strrchr(kl_sim_url(sim), ':') + 1));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)),
                     0);
    return fd;
}

void sim_say(int fd, const char *bytes)
{
    (void)send(fd, bytes, strlen(bytes), MSG_NOSIGNAL);
}

char *sim_hear(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    kl__buf out = {0};
    ssize_t length;

    do {
        char *room = kl__buf_reserve(&out, CHUNK);

        assert_int_equal(poll(&ready, 1, SIM_CLIENT_PATIENCE_MS), 1);
        length = recv(fd, room, CHUNK, 0);
        out.length += length > 0 ? (size_t)length : 0;
        out.bytes[out.length] = '\0';
    } while (length > 0);
    close(fd);
    return kl__buf_take(&out, NULL);
}

void sim_hear_exactly(int fd, const char *bytes)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};

    for (char byte; *bytes != '\0'; bytes++) {
        assert_int_equal(poll(&ready, 1, SIM_CLIENT_PATIENCE_MS), 1);
        assert_int_equal(recv(fd, &byte, 1, 0), 1);
        assert_int_equal(byte, *bytes);
    }
}

char *sim_talk(kl_sim *sim, const char *bytes)
{
    int fd = sim_dial(sim);

    sim_say(fd, bytes);
    return sim_hear(fd);
}
