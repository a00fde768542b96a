/*
 * writes.c - how many writes a second one client can make: one after the other,
 * or with several in flight, like a client with a few workers.
 */
#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MAX_IN_FLIGHT = 64 };

typedef enum { CREATE, UPDATE, DELETE, KINDS } write_kind;

static void send_write(link_t *link, write_kind kind, int number)
{
    char name[32], path[LOAD_BODY_SIZE], body[LOAD_BODY_SIZE];
    bool sent;

    snprintf(name, sizeof(name), "load-%d", number);
    snprintf(path, sizeof(path), LOAD_CONFIGMAPS "/%s", name);
    switch (kind) {
    case CREATE:
        snprintf(body, sizeof(body),
                 "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                 "\"name\":\"%s\",\"labels\":{\"app\":\"load\"}},\"data\":{"
                 "\"key\":\"value %d\"}}",
                 name, number);
        sent = link_send(link, "POST", LOAD_CONFIGMAPS, body);
        break;
    case UPDATE:
        load_send_change(link, name, number);
        return;
    default:
        sent = link_send(link, "DELETE", path, NULL);
    }
    if (!sent) {
        load_fail("the connection broke");
    }
}

/* All writes of a kind; returns the seconds that they took. */
static double write_all(link_t **links, int in_flight, write_kind kind,
                        int count)
{
    const int wanted = kind == CREATE ? 201 : 200;
    int poller = epoll_create1(EPOLL_CLOEXEC), sent = 0, done = 0;
    double begun = load_now();

    for (int i = 0; i < in_flight; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = links[i]};

        epoll_ctl(poller, EPOLL_CTL_ADD, link_fd(links[i]), &event);
        send_write(links[i], kind, sent++);
    }
    while (done < count) {
        struct epoll_event events[MAX_IN_FLIGHT];
        int ready = epoll_wait(poller, events, MAX_IN_FLIGHT, LOAD_PATIENCE_MS);

        if (ready <= 0) {
            load_fail("an answer is missing");
        }
        for (int i = 0; i < ready; i++, done++) {
            load_receive(events[i].data.ptr, wanted);
            if (sent < count) {
                send_write(events[i].data.ptr, kind, sent++);
            }
        }
    }
    begun = load_now() - begun;
    close(poller);
    return begun;
}

/* One after the other: a client that does nothing else waits in its read. */
static double write_each(link_t *link, write_kind kind, int count)
{
    double begun = load_now();

    for (int i = 0; i < count; i++) {
        send_write(link, kind, i);
        load_receive(link, kind == CREATE ? 201 : 200);
    }
    return load_now() - begun;
}

void load_write(const link_target *target, int count, int in_flight)
{
    link_t *links[MAX_IN_FLIGHT];
    double seconds[KINDS], cpu;

    if (in_flight < 1 || in_flight > MAX_IN_FLIGHT || count < in_flight) {
        load_fail("so many in flight are not possible");
    }
    for (int i = 0; i < in_flight; i++) {
        links[i] = load_open(target);
        load_exchange(links[i], "GET", LOAD_CONFIGMAPS "?limit=1", NULL, 200);
    }
    cpu = load_spent();
    for (int kind = CREATE; kind < KINDS; kind++) {
        seconds[kind] =
            in_flight == 1
                ? write_each(links[0], (write_kind)kind, count)
                : write_all(links, in_flight, (write_kind)kind, count);
    }
    printf("{\"count\":%d,\"create\":%.6f,\"update\":%.6f,\"delete\":%.6f,"
           "\"cpu\":%.6f}\n",
           count, seconds[CREATE], seconds[UPDATE], seconds[DELETE],
           load_spent() - cpu);
    for (int i = 0; i < in_flight; i++) {
        link_close(links[i]);
    }
}
