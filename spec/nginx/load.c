/*
 * load.c - traffic for the specs of nginx: a thread for each connection. It
 * sends one request at a time, to all targets in turn, so that trouble with a
 * connection meets all targets alike. Ends at its time or at SIGTERM, and
 * prints a line for each target:
 *
 *   NAME requests=N refused=N broken=N raced=N late=N p50_us=N p99_us=N
 *   max_us=N status.200=N ... body.TEXT=N ...         (all in one line)
 *
 * refused: no connection; broken: an answer cut short, or none on a new
 * connection; raced: none on a connection that had answers before, in which
 * case any HTTP client retries; late: no answer in time. It prints "flowing" as
 * soon as each connection has had an answer.
 *
 * usage: nginx_load [-c CONNECTIONS] [-s SECONDS] [-r REQUESTS-A-SECOND]
 *            ADDRESS PORT NAME=PATH...
 *        nginx_load free COUNT          so many free ports of 127.0.0.1
 */
#include "load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONNECTIONS = 512 };

typedef struct {
    pthread_t thread;
    int number;
    load_tally tallies[LOAD_MAX_TARGETS];
} load_worker;

static load_plan plan = {.connections = 16, .seconds = 5};
static atomic_bool is_over;
static atomic_int answered_count;
static load_worker *workers;

static int64_t read_clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sleep_until(int64_t us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void *run_worker(void *argument)
{
    load_worker *w = argument;
    load_connection connection = {.socket = -1};
    int64_t gap =
        plan.rate > 0 ? (int64_t)plan.connections * 1000000 / plan.rate : 0;
    int64_t due = read_clock_us() + gap * w->number / plan.connections;
    int turn = w->number; /* so that all targets are asked equally often */

    for (bool has_answer = false; !atomic_load(&is_over); turn++) {
        int target = turn % plan.target_count;
        load_answer answer;
        int64_t begun;

        if (gap > 0) {
            sleep_until(due);
            due += gap;
        }
        begun = read_clock_us();
        load_exchange(&connection, &plan, plan.targets[target].path, &answer);
        load_count(&w->tallies[target], &answer, read_clock_us() - begun);
        if (answer.outcome == LOAD_ANSWERED && !has_answer) {
            has_answer = true;
            atomic_fetch_add(&answered_count, 1);
        }
        if (answer.outcome == LOAD_REFUSED) {
            sleep_until(read_clock_us() +
                        1000); /* avoids thousands of attempts */
        }
        if (gap > 0 && due < begun) {
            due = begun; /* no burst after a slow answer */
        }
    }
    load_close(&connection);
    return NULL;
}

/* Runs until the plan's time is over, or a SIGTERM or SIGINT arrives. */
static void await_end(const sigset_t *signals)
{
    int64_t end = read_clock_us() + (int64_t)(plan.seconds * 1e6);
    bool has_said = false;

    while (read_clock_us() < end) {
        struct timespec look = {0, 20000000};

        if (sigtimedwait(signals, NULL, &look) > 0) {
            return;
        }
        if (!has_said && atomic_load(&answered_count) == plan.connections) {
            has_said = true;
            puts("flowing");
            fflush(stdout);
        }
    }
}

static void print_results(void)
{
    static load_tally sum;

    for (int t = 0; t < plan.target_count; t++) {
        memset(&sum, 0, sizeof(sum));
        for (int i = 0; i < plan.connections; i++) {
            load_add(&sum, &workers[i].tallies[t]);
        }
        load_print(plan.targets[t].name, &sum);
    }
}

static int run_plan(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    workers = calloc((size_t)plan.connections, sizeof(*workers));
    if (workers == NULL) {
        return 1;
    }
    for (int i = 0; i < plan.connections; i++) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i])) {
            perror("nginx_load: pthread_create");
            return 1;
        }
    }
    await_end(&signals);
    atomic_store(&is_over, true);
    for (int i = 0; i < plan.connections; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    print_results();
    free(workers);
    return 0;
}

/* Opens all sockets at the same time, so that no two ports are the same. */
static int print_free_ports(int count)
{
    for (int i = 0; i < count; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET};
        socklen_t size = sizeof(address);
        int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (s < 0 || bind(s, (struct sockaddr *)&address, size) != 0 ||
            getsockname(s, (struct sockaddr *)&address, &size) != 0) {
            perror("nginx_load: free");
            return 1;
        }
        printf("%d\n", ntohs(address.sin_port)); /* closed when it exits */
    }
    return 0;
}

static int print_usage(void)
{
    fputs("usage: nginx_load [-c CONNECTIONS] [-s SECONDS] [-r RATE] "
          "ADDRESS PORT NAME=PATH...\n"
          "       nginx_load free COUNT\n",
          stderr);
    return 2;
}

static bool read_options(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "c:s:r:")) != -1;) {
        switch (option) {
        case 'c':
            plan.connections = atoi(optarg);
            break;
        case 's':
            plan.seconds = atof(optarg);
            break;
        case 'r':
            plan.rate = atoi(optarg);
            break;
        default:
            return false;
        }
    }
    return plan.connections > 0 && plan.connections <= MAX_CONNECTIONS;
}

static bool read_targets(int argc, char **argv)
{
    plan.address.sin_family = AF_INET;
    plan.address.sin_port = htons((uint16_t)atoi(argv[1]));
    if (inet_pton(AF_INET, argv[0], &plan.address.sin_addr) != 1) {
        return false;
    }
    for (int i = 2; i < argc && plan.target_count < LOAD_MAX_TARGETS; i++) {
        char *path = strchr(argv[i], '=');

        if (path == NULL) {
            return false;
        }
        *path++ = '\0';
        plan.targets[plan.target_count].name = argv[i];
        plan.targets[plan.target_count++].path = path;
    }
    return true;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "free") == 0) {
        return print_free_ports(atoi(argv[2]));
    }
    signal(SIGPIPE, SIG_IGN);
    if (!read_options(argc, argv) || argc - optind < 3 ||
        !read_targets(argc - optind, argv + optind)) {
        return print_usage();
    }
    return run_plan();
}
