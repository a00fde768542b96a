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
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    LOAD_MAX_TARGETS = 8,
    LOAD_MAX_BODIES = 64, /* different bodies that are counted */
    LOAD_BODY_SIZE = 64,
    LOAD_LATE_MS = 5000,
    LOAD_TIMES = 2000 /* buckets of the histogram of times */
};

typedef struct {
    struct sockaddr_in address;
    int connections;
    int rate; /* requests a second of all connections; 0: no bound */
    double seconds;
    int target_count;
    struct {
        const char *name, *path;
    } targets[LOAD_MAX_TARGETS];
} load_plan;

typedef struct {
    int socket;  /* -1 while there is none */
    int answers; /* how many answers came on this connection */
} load_connection;

typedef enum {
    LOAD_ANSWERED,
    LOAD_REFUSED,
    LOAD_BROKEN,
    LOAD_RACED,
    LOAD_LATE,
    LOAD_OUTCOMES
} load_outcome;

typedef struct {
    load_outcome outcome;
    int status;                /* of the answer */
    char body[LOAD_BODY_SIZE]; /* its first line, cut to this size */
} load_answer;

typedef struct {
    uint64_t outcomes[LOAD_OUTCOMES];
    uint64_t statuses[600];
    uint64_t times[LOAD_TIMES];
    int64_t longest_us;
    int body_count;
    struct {
        char text[LOAD_BODY_SIZE];
        uint64_t count;
    } bodies[LOAD_MAX_BODIES];
} load_tally;

/* Buckets of 1 %: 1 us to some 7 minutes. */
#define LOAD_STEP 1.01

static int bucket_of(int64_t us)
{
    int bucket = 0;

    for (double bound = 1; bound < (double)us && bucket < LOAD_TIMES - 1;
         bound *= LOAD_STEP) {
        bucket++;
    }
    return bucket;
}

static void count_body(load_tally *tally, const char *text, uint64_t count)
{
    int i = 0;

    while (i < tally->body_count && strcmp(tally->bodies[i].text, text) != 0) {
        i++;
    }
    if (i == LOAD_MAX_BODIES) {
        return;
    }
    if (i == tally->body_count) {
        tally->body_count++;
        snprintf(tally->bodies[i].text, LOAD_BODY_SIZE, "%s", text);
    }
    tally->bodies[i].count += count;
}

static void load_count(load_tally *tally, const load_answer *answer, int64_t us)
{
    tally->outcomes[answer->outcome]++;
    if (answer->outcome != LOAD_ANSWERED) {
        return;
    }
    if (answer->status >= 0 && answer->status < 600) {
        tally->statuses[answer->status]++;
    }
    if (answer->status == 200) {
        count_body(tally, answer->body, 1);
    }
    tally->times[bucket_of(us)]++;
    if (us > tally->longest_us) {
        tally->longest_us = us;
    }
}

static void load_add(load_tally *sum, const load_tally *part)
{
    for (int i = 0; i < LOAD_OUTCOMES; i++) {
        sum->outcomes[i] += part->outcomes[i];
    }
    for (int i = 0; i < 600; i++) {
        sum->statuses[i] += part->statuses[i];
    }
    for (int i = 0; i < LOAD_TIMES; i++) {
        sum->times[i] += part->times[i];
    }
    if (part->longest_us > sum->longest_us) {
        sum->longest_us = part->longest_us;
    }
    for (int i = 0; i < part->body_count; i++) {
        count_body(sum, part->bodies[i].text, part->bodies[i].count);
    }
}

static unsigned long long find_time(const load_tally *tally, double share)
{
    uint64_t limit = (uint64_t)((double)tally->outcomes[LOAD_ANSWERED] * share);
    uint64_t seen = 0;
    double bound = 1;

    for (int i = 0; i < LOAD_TIMES; i++, bound *= LOAD_STEP) {
        seen += tally->times[i];
        if (seen > limit) {
            break;
        }
    }
    return (unsigned long long)bound;
}

static void load_print(const char *name, const load_tally *tally)
{
    uint64_t requests = 0;

    for (int i = 0; i < LOAD_OUTCOMES; i++) {
        requests += tally->outcomes[i];
    }
    printf("%s requests=%llu refused=%llu broken=%llu raced=%llu late=%llu "
           "p50_us=%llu p99_us=%llu max_us=%lld",
           name, (unsigned long long)requests,
           (unsigned long long)tally->outcomes[LOAD_REFUSED],
           (unsigned long long)tally->outcomes[LOAD_BROKEN],
           (unsigned long long)tally->outcomes[LOAD_RACED],
           (unsigned long long)tally->outcomes[LOAD_LATE],
           find_time(tally, 0.5), find_time(tally, 0.99),
           (long long)tally->longest_us);
    for (int i = 0; i < 600; i++) {
        if (tally->statuses[i] > 0) {
            printf(" status.%d=%llu", i,
                   (unsigned long long)tally->statuses[i]);
        }
    }
    for (int i = 0; i < tally->body_count; i++) {
        printf(" body.%s=%llu", tally->bodies[i].text,
               (unsigned long long)tally->bodies[i].count);
    }
    puts("");
}

enum { HEAD_SIZE = 16384 };

static void load_close(load_connection *connection)
{
    if (connection->socket >= 0) {
        close(connection->socket);
    }
    connection->socket = -1;
    connection->answers = 0;
}

static bool open_connection(load_connection *connection, const load_plan *plan)
{
    struct timeval patience = {LOAD_LATE_MS / 1000, 0};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (s < 0) {
        return false;
    }
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(s, (const struct sockaddr *)&plan->address,
                sizeof(plan->address)) != 0) {
        close(s);
        return false;
    }
    connection->socket = s;
    connection->answers = 0;
    return true;
}

static bool send_request(int s, const char *path)
{
    char text[1024];
    int length = snprintf(text, sizeof(text),
                          "GET %s HTTP/1.1\r\nHost: load\r\n\r\n", path);

    return length < (int)sizeof(text) &&
           send(s, text, (size_t)length, MSG_NOSIGNAL) == length;
}

/* The value of a header, or NULL. `head` ends in an empty line. */
static const char *find_header(const char *head, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = strstr(head, "\r\n"); line != NULL;
         line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) == 0 &&
            line[2 + length] == ':') {
            return line + 2 + length + 1 + strspn(line + 3 + length, " ");
        }
    }
    return NULL;
}

static void copy_line(char *to, const char *from, size_t length)
{
    size_t n = 0;

    while (n < length && n < LOAD_BODY_SIZE - 1 &&
           (unsigned char)from[n] > ' ') {
        to[n] = from[n];
        n++;
    }
    to[n] = '\0';
}

/* Reads until `text` holds a whole answer of known length, or the connection
 * ends. *body: where the head ends. Returns how many bytes there are; -1: the
 * connection broke within the answer; -2: no byte of an answer came, or no
 * whole answer came in time. */
static ssize_t read_answer(int s, char *text, char **body, bool *keeps)
{
    size_t used = 0, wanted = HEAD_SIZE - 1;

    *body = NULL;
    while (used < wanted) {
        ssize_t n = recv(s, text + used, HEAD_SIZE - 1 - used, 0);

        if (n < 0) {
            return used > 0 && errno != EAGAIN ? -1 : -2;
        }
        if (n == 0) {
            return used == 0                  ? -2
                   : *body != NULL && !*keeps ? (ssize_t)used
                                              : -1;
        }
        used += (size_t)n;
        text[used] = '\0';
        if (*body == NULL && (*body = strstr(text, "\r\n\r\n")) != NULL) {
            const char *length, *closes;

            *body += 4;
            length = find_header(text, "Content-Length");
            closes = find_header(text, "Connection");
            *keeps = length != NULL &&
                     (closes == NULL || strncasecmp(closes, "close", 5) != 0);
            if (length != NULL) {
                wanted = (size_t)(*body - text) + strtoul(length, NULL, 10);
            }
        }
    }
    return (ssize_t)used;
}

static void load_exchange(load_connection *connection, const load_plan *plan,
                          const char *path, load_answer *answer)
{
    char text[HEAD_SIZE], *body;
    bool keeps = false;
    ssize_t size;

    memset(answer, 0, sizeof(*answer));
    if (connection->socket < 0 && !open_connection(connection, plan)) {
        answer->outcome = LOAD_REFUSED;
        return;
    }
    errno = 0;
    size = send_request(connection->socket, path)
               ? read_answer(connection->socket, text, &body, &keeps)
               : -2;
    if (size < 0) {
        /* -2: no byte of an answer came */
        answer->outcome = errno == EAGAIN || errno == EWOULDBLOCK ? LOAD_LATE
                          : size == -2 && connection->answers > 0 ? LOAD_RACED
                                                                  : LOAD_BROKEN;
        load_close(connection);
        return;
    }
    answer->outcome = LOAD_ANSWERED;
    if (strncmp(text, "HTTP/1.", 7) != 0 || body == NULL) {
        answer->outcome = LOAD_BROKEN;
        load_close(connection);
        return;
    }
    answer->status = atoi(text + 9);
    copy_line(answer->body, body, (size_t)(text + size - body));
    connection->answers++;
    if (!keeps) {
        load_close(connection);
    }
}

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
