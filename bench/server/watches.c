/*
 * watches.c - measures what a server needs to tell many watchers of one
 * resource about every change: first to open the watches, then to send updates
 * to all.
 */
#include "load.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { MAX_EVENTS = 256, LINE_SIZE = 256 };

/* Bytes of memory that a process has; 0 for process 0. */
static long resident(pid_t process)
{
    char path[64], line[LINE_SIZE];
    long kilobytes = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)process);
    file = process != 0 ? fopen(path, "r") : NULL;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kilobytes = strtol(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kilobytes * 1024;
}

/* Opens watches until all have their head; returns the lines that arrived
 * meanwhile. */
static uint64_t open_watches(link_t **watches, const link_target *target,
                             int count, int poller)
{
    uint64_t seen = 0;

    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        size_t lines;

        watches[i] = load_open(target);
        if (!link_send(watches[i], "GET", LOAD_CONFIGMAPS "?watch=true",
                       NULL) ||
            !link_begin(watches[i])) {
            load_fail("cannot watch");
        }
        event.data.ptr = watches[i];
        epoll_ctl(poller, EPOLL_CTL_ADD, link_fd(watches[i]), &event);
        if (link_has_more(watches[i]) && link_lines(watches[i], &lines)) {
            seen += lines;
        }
    }
    return seen;
}

/* Reads from the watches until they have seen that many lines in all. */
static void await_lines(int poller, uint64_t wanted, uint64_t *seen)
{
    struct epoll_event events[MAX_EVENTS];

    while (*seen < wanted) {
        int count = epoll_wait(poller, events, MAX_EVENTS, LOAD_PATIENCE_MS);

        if (count <= 0) {
            load_fail("events are missing");
        }
        for (int i = 0; i < count; i++) {
            size_t lines;

            if (!link_lines(events[i].data.ptr, &lines)) {
                load_fail("a watch ended");
            }
            *seen += lines;
        }
    }
}

void load_watch(const link_target *target, int count, int updates, pid_t server)
{
    link_t **watches = calloc((size_t)count, sizeof(link_t *));
    link_t *writer = load_open(target);
    int poller = epoll_create1(EPOLL_CLOEXEC);
    double opened, begun, opening_cpu, cpu;
    long before, idle;
    uint64_t seen;

    if (watches == NULL || poller < 0) {
        load_fail("cannot watch");
    }
    load_exchange(writer, "POST", LOAD_CONFIGMAPS,
                  "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"name\":\"load\"}}",
                  201);
    /* 1. To have them. */
    before = resident(server);
    opening_cpu = load_spent_by(server);
    opened = load_now();
    seen = open_watches(watches, target, count, poller);
    await_lines(poller, (uint64_t)count, &seen); /* the initial events */
    opened = load_now() - opened;
    opening_cpu = load_spent_by(server) - opening_cpu;
    idle = resident(server);
    /* 2. To send them updates. */
    begun = load_now();
    cpu = load_spent_by(server);
    seen = 0;
    for (int i = 0; i < updates; i++) {
        load_send_change(writer, "load", i);
        load_receive(writer, 200);
    }
    await_lines(poller, (uint64_t)count * (uint64_t)updates, &seen);
    printf("{\"watchers\":%d,\"updates\":%d,\"opened\":%.6f,"
           "\"opening_cpu\":%.6f,\"idle_bytes\":%ld,\"seconds\":%.6f,"
           "\"server_cpu\":%.6f,\"busy_bytes\":%ld}\n",
           count, updates, opened, opening_cpu, idle - before,
           load_now() - begun, load_spent_by(server) - cpu,
           resident(server) - before);
    load_exchange(writer, "DELETE", LOAD_CONFIGMAPS "/load", NULL, 200);
    exit(0); /* the connections go with the process */
}
