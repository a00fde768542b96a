/*
 * load.c - a client that needs almost no CPU, to measure an API server: bytes
 * in and out of a socket, no JSON. Each measurement prints one line of JSON.
 * With https in the URL it uses TLS, and does not check the server's
 * certificate; this is the same for all servers that are compared.
 *
 * usage: load URL TOKEN list PATH TIMES
 *        load URL TOKEN write COUNT IN-FLIGHT
 *        load URL TOKEN watch WATCHERS UPDATES SERVER-PROCESS
 *        load URL TOKEN start COMMAND [ARGUMENT...]
 *        load - - echo COUNT together|apart
 */
#include "load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ASKED = 300, ANSWERED = 400 }; /* bytes, as of a small write */

double load_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

double load_spent(void)
{
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

double load_spent_by(pid_t process)
{
    struct timespec t = {0, 0};
    clockid_t clock;

    if (process != 0 && (clock_getcpuclockid(process, &clock) != 0 ||
                         clock_gettime(clock, &t) != 0)) {
        load_fail("the server is gone");
    }
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void load_fail(const char *what)
{
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}

link_t *load_open(const link_target *target)
{
    link_t *link = link_open(target);

    if (link == NULL) {
        load_fail("cannot connect");
    }
    return link;
}

size_t load_receive(link_t *link, int wanted)
{
    size_t length;
    int status;

    if (!link_receive(link, &status, &length)) {
        load_fail("the connection broke");
    }
    if (status != wanted) {
        fprintf(stderr, "load: %d instead of %d\n", status, wanted);
        exit(1);
    }
    return length;
}

size_t load_exchange(link_t *link, const char *method, const char *path,
                     const char *body, int wanted)
{
    if (!link_send(link, method, path, body)) {
        load_fail("the connection broke");
    }
    return load_receive(link, wanted);
}

void load_send_change(link_t *link, const char *name, int number)
{
    char path[LOAD_BODY_SIZE], body[LOAD_BODY_SIZE];

    snprintf(path, sizeof(path), LOAD_CONFIGMAPS "/%s", name);
    snprintf(body, sizeof(body),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"%s\"},\"data\":{\"key\":\"value %d\"}}",
             name, number);
    if (!link_send(link, "PUT", path, body)) {
        load_fail("the connection broke");
    }
}

static void measure_list(const link_target *target, const char *path, int times)
{
    link_t *link = load_open(target);
    double begun, taken, cpu;
    size_t bytes = 0;

    load_exchange(link, "GET", path, NULL, 200); /* to warm up */
    begun = load_now();
    cpu = load_spent();
    for (int i = 0; i < times; i++) {
        bytes += load_exchange(link, "GET", path, NULL, 200);
    }
    taken = load_now() - begun;
    printf("{\"bytes\":%zu,\"seconds\":%.6f,\"cpu\":%.6f}\n", bytes, taken,
           load_spent() - cpu);
    link_close(link);
}

/* Keeps this process on one core. */
static void stay_on(int core)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        load_fail("there is no second core");
    }
}

/* How long this machine takes for a request and an answer without any work: two
 * processes, each waiting for the other. "apart" runs them on two cores: each
 * sleeps while the other works, and has to be woken. */
static void measure_echo(int count, bool is_apart)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char bytes[ANSWERED] = {0};
    double begun;
    pid_t child;

    if (bind(listener, (struct sockaddr *)&address, length) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0 ||
        connect(fd, (struct sockaddr *)&address, length) != 0) {
        load_fail("cannot listen");
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    child = fork();
    stay_on(child == 0 && is_apart ? 1 : 0);
    if (child == 0) {
        close(fd);
        fd = accept(listener, NULL, NULL);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        while (recv(fd, bytes, ASKED, MSG_WAITALL) == ASKED &&
               send(fd, bytes, ANSWERED, MSG_NOSIGNAL) == ANSWERED) {
        }
        _exit(0);
    }
    begun = load_now();
    for (int i = 0; i < count; i++) {
        if (send(fd, bytes, ASKED, MSG_NOSIGNAL) != ASKED ||
            recv(fd, bytes, ANSWERED, MSG_WAITALL) != ANSWERED) {
            load_fail("the connection broke");
        }
    }
    printf("{\"count\":%d,\"seconds\":%.6f}\n", count, load_now() - begun);
    close(fd);
    waitpid(child, NULL, 0);
}

/* From starting a server to its first answer. */
static void measure_start(const link_target *target, char **command)
{
    const struct timespec pause = {0, 100 * 1000};
    double begun = load_now();
    pid_t child = fork();
    link_t *link = NULL;

    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) != NULL) {
            execvp(command[0], command);
        }
        _exit(127);
    }
    while (link == NULL && load_now() - begun < LOAD_PATIENCE_MS / 1000.0) {
        link = link_open(target);
        if (link == NULL) {
            nanosleep(&pause, NULL);
        }
    }
    if (link == NULL) {
        kill(child, SIGKILL);
        load_fail("the server did not start");
    }
    load_exchange(link, "GET", "/api/v1/namespaces/default", NULL, 200);
    printf("{\"seconds\":%.6f}\n", load_now() - begun);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    link_close(link);
}

int main(int count, char **arguments)
{
    const char *what = count > 4 ? arguments[3] : "";
    link_target target;

    if (strcmp(what, "echo") == 0 && count == 6) {
        measure_echo(atoi(arguments[4]), strcmp(arguments[5], "apart") == 0);
        return 0;
    }
    if (count < 5 || !link_parse(&target, arguments[1], arguments[2])) {
        fputs("usage: load URL TOKEN list PATH TIMES|write COUNT IN-FLIGHT|"
              "watch WATCHERS UPDATES SERVER|start COMMAND\n",
              stderr);
        return 2;
    }
    if (strcmp(what, "list") == 0 && count == 6) {
        measure_list(&target, arguments[4], atoi(arguments[5]));
    } else if (strcmp(what, "write") == 0 && count == 6) {
        load_write(&target, atoi(arguments[4]), atoi(arguments[5]));
    } else if (strcmp(what, "watch") == 0 && count == 7) {
        load_watch(&target, atoi(arguments[4]), atoi(arguments[5]),
                   atoi(arguments[6]));
    } else if (strcmp(what, "start") == 0) {
        measure_start(&target, &arguments[4]);
    } else {
        return 2;
    }
    return 0;
}
