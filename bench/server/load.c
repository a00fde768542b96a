/*
 * load.c - a client that costs next to nothing, to measure an API server with:
 * bytes in and out of a socket, no JSON. Each measurement prints one line of
 * JSON. Over TLS where the URL says https; the server's certificate is not
 * looked at, which is alike for all that are compared.
 *
 * usage: load URL TOKEN list PATH TIMES
 *        load URL TOKEN write COUNT
 *        load URL TOKEN watch WATCHERS UPDATES
 *        load URL TOKEN start COMMAND [ARGUMENT...]
 */
#include "link.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

enum { MAX_EVENTS = 256, PATIENCE_MS = 120 * 1000, BODY_SIZE = 512 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* CPU seconds of this process, so that they can be told from the server's. */
static double spent(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void fail(const char *what)
{
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}

/* The status and length of an answer, whose body is thrown away. */
static size_t exchange(link_t *link, const char *method, const char *path,
                       const char *body, int wanted)
{
    size_t length;
    int status;

    if (!link_send(link, method, path, body) ||
        !link_receive(link, &status, &length)) {
        fail("the connection broke");
    }
    if (status != wanted) {
        fprintf(stderr, "load: %s %s: %d\n", method, path, status);
        exit(1);
    }
    return length;
}

static void measure_list(const link_target *target, const char *path, int times)
{
    link_t *link = link_open(target);
    double begun, taken, cpu;
    size_t bytes = 0;

    if (link == NULL) {
        fail("cannot connect");
    }
    exchange(link, "GET", path, NULL, 200); /* to warm up */
    begun = now();
    cpu = spent();
    for (int i = 0; i < times; i++) {
        bytes += exchange(link, "GET", path, NULL, 200);
    }
    taken = now() - begun;
    printf("{\"bytes\":%zu,\"seconds\":%.6f,\"cpu\":%.6f}\n", bytes, taken,
           spent() - cpu);
    link_close(link);
}

static void write_one(link_t *link, int number)
{
    char body[BODY_SIZE];

    snprintf(body, sizeof(body),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"load-%d\",\"labels\":{\"app\":\"load\"}},\"data\":{"
             "\"key\":\"value %d\"}}",
             number, number);
    exchange(link, "POST", CONFIGMAPS, body, 201);
}

static void change_one(link_t *link, int number)
{
    char body[BODY_SIZE];

    snprintf(body, sizeof(body),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"load\"},\"data\":{\"key\":\"value %d\"}}",
             number);
    exchange(link, "PUT", CONFIGMAPS "/load", body, 200);
}

static void delete_one(link_t *link, int number)
{
    char path[BODY_SIZE];

    snprintf(path, sizeof(path), CONFIGMAPS "/load-%d", number);
    exchange(link, "DELETE", path, NULL, 200);
}

/* Objects created, then one of them updated, then all deleted again. */
static void measure_write(const link_target *target, int count)
{
    link_t *link = link_open(target);
    double begun, created, updated, deleted, cpu;

    if (link == NULL) {
        fail("cannot connect");
    }
    exchange(link, "POST", CONFIGMAPS,
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"load\"}}",
             201);
    begun = now();
    cpu = spent();
    for (int i = 0; i < count; i++) {
        write_one(link, i);
    }
    created = now();
    for (int i = 0; i < count; i++) {
        change_one(link, i);
    }
    updated = now();
    for (int i = 0; i < count; i++) {
        delete_one(link, i);
    }
    deleted = now();
    printf("{\"count\":%d,\"create\":%.6f,\"update\":%.6f,\"delete\":%.6f,"
           "\"cpu\":%.6f}\n",
           count, created - begun, updated - created, deleted - updated,
           spent() - cpu);
    exchange(link, "DELETE", CONFIGMAPS "/load", NULL, 200);
    link_close(link);
}

/* Opens watches until all have their head. */
static uint64_t open_watches(link_t **watches, const link_target *target,
                             int count, int poller)
{
    uint64_t seen = 0;

    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        size_t lines;

        watches[i] = link_open(target);
        if (watches[i] == NULL ||
            !link_send(watches[i], "GET", CONFIGMAPS "?watch=true", NULL) ||
            !link_begin(watches[i])) {
            fail("cannot watch");
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
        int count = epoll_wait(poller, events, MAX_EVENTS, PATIENCE_MS);

        if (count <= 0) {
            fail("events are missing");
        }
        for (int i = 0; i < count; i++) {
            size_t lines;

            if (!link_lines(events[i].data.ptr, &lines)) {
                fail("a watch ended");
            }
            *seen += lines;
        }
    }
}

static void measure_watch(const link_target *target, int count, int updates)
{
    link_t **watches = calloc((size_t)count, sizeof(link_t *));
    link_t *writer = link_open(target);
    int poller = epoll_create1(EPOLL_CLOEXEC);
    double begun, taken, cpu;
    uint64_t seen;

    if (watches == NULL || writer == NULL || poller < 0) {
        fail("cannot connect");
    }
    exchange(writer, "POST", CONFIGMAPS,
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"load\"}}",
             201);
    seen = open_watches(watches, target, count, poller);
    await_lines(poller, (uint64_t)count, &seen); /* what is there already */
    begun = now();
    cpu = spent();
    seen = 0;
    for (int i = 0; i < updates; i++) {
        change_one(writer, i);
    }
    await_lines(poller, (uint64_t)count * (uint64_t)updates, &seen);
    taken = now() - begun;
    printf("{\"watchers\":%d,\"updates\":%d,\"seconds\":%.6f,\"cpu\":%.6f}\n",
           count, updates, taken, spent() - cpu);
    exchange(writer, "DELETE", CONFIGMAPS "/load", NULL, 200);
    exit(0); /* the connections go with the process */
}

/* From starting a server to its first answer. */
static void measure_start(const link_target *target, char **command)
{
    const struct timespec pause = {0, 100 * 1000};
    double begun = now();
    pid_t child = fork();
    link_t *link = NULL;

    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) != NULL) {
            execvp(command[0], command);
        }
        _exit(127);
    }
    while (link == NULL && now() - begun < PATIENCE_MS / 1000.0) {
        link = link_open(target);
        if (link == NULL) {
            nanosleep(&pause, NULL);
        }
    }
    if (link == NULL) {
        kill(child, SIGKILL);
        fail("the server did not start");
    }
    exchange(link, "GET", "/api/v1/namespaces/default", NULL, 200);
    printf("{\"seconds\":%.6f}\n", now() - begun);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    link_close(link);
}

int main(int count, char **arguments)
{
    link_target target;

    if (count < 5 || !link_parse(&target, arguments[1], arguments[2])) {
        fputs("usage: load URL TOKEN list PATH TIMES|write COUNT|"
              "watch WATCHERS UPDATES|start COMMAND\n",
              stderr);
        return 2;
    }
    if (strcmp(arguments[3], "list") == 0 && count == 6) {
        measure_list(&target, arguments[4], atoi(arguments[5]));
    } else if (strcmp(arguments[3], "write") == 0) {
        measure_write(&target, atoi(arguments[4]));
    } else if (strcmp(arguments[3], "watch") == 0 && count == 6) {
        measure_watch(&target, atoi(arguments[4]), atoi(arguments[5]));
    } else if (strcmp(arguments[3], "start") == 0) {
        measure_start(&target, &arguments[4]);
    } else {
        return 2;
    }
    return 0;
}
