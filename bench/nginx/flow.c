/*
 * flow.c - measures the CPU time that a request costs an nginx worker, for each
 * route. flow opens connections for each route, and keeps them open. In a round
 * it sends REQUESTS requests to each route, one at a time on each connection;
 * each round takes the routes in another order. Eight lists name hosts and
 * paths in a random order; all routes use the same list in a round, and the
 * next round uses the next list. Before the first round, flow sends all eight
 * lists once. It reads the CPU time of the worker's main thread from the
 * scheduler, once the worker is idle again.
 *
 * usage: flow PID ROUNDS REQUESTS CONNECTIONS
 *
 * Standard input has a line for each route, in which %d is a number of a host
 * and of a path:
 *
 *   NAME PORT http|https HOST HOSTS PATH PATHS    one 80 http h%d.a 9 /p%d 9
 *
 * Prints "NAME ROUND NANOSECONDS SWITCHES" for each route and round: of a
 * request, the time and how often the worker went to sleep.
 */
#include <arpa/inet.h>
#include <gnutls/gnutls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_ROUTES = 64,
    MAX_CONNECTIONS = 64,
    TEXT_SIZE = 8192,
    PARTS = 8, /* different sequences of requests */
    PATIENCE_S = 20
};

typedef struct {
    int socket;
    gnutls_session_t tls; /* NULL: none */
} flow_link;

typedef struct {
    char name[64], scheme[8], host[128], path[128];
    int port, hosts, paths;
    flow_link links[MAX_CONNECTIONS];
} flow_route;

static flow_route routes[MAX_ROUTES];
static int route_count, connections;
static const char *pid;
static gnutls_certificate_credentials_t credentials;

__attribute__((format(printf, 1, 2))) static _Noreturn void
fail(const char *format, ...)
{
    va_list words;

    va_start(words, format);
    vfprintf(stderr, format, words);
    va_end(words);
    fputs("\n", stderr);
    exit(1);
}

static void open_tls(flow_link *link, const flow_route *route)
{
    char name[160];
    int result;

    snprintf(name, sizeof(name), route->host, 0);
    gnutls_init(&link->tls, GNUTLS_CLIENT);
    gnutls_set_default_priority(link->tls);
    gnutls_credentials_set(link->tls, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_server_name_set(link->tls, GNUTLS_NAME_DNS, name, strlen(name));
    gnutls_transport_set_int(link->tls, link->socket);
    do {
        result = gnutls_handshake(link->tls);
    } while (result < 0 && gnutls_error_is_fatal(result) == 0);
    if (result < 0) {
        fail("%s: TLS: %s", route->name, gnutls_strerror(result));
    }
}

static void open_link(flow_link *link, const flow_route *route)
{
    struct timeval patience = {PATIENCE_S, 0};
    struct sockaddr_in address = {.sin_family = AF_INET};
    int on = 1;

    address.sin_port = htons((uint16_t)route->port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    link->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (link->socket < 0 ||
        connect(link->socket, (struct sockaddr *)&address, sizeof(address))) {
        fail("%s: no connection to port %d", route->name, route->port);
    }
    setsockopt(link->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(link->socket, SOL_SOCKET, SO_RCVTIMEO, &patience,
               sizeof(patience));
    if (strcmp(route->scheme, "https") == 0) {
        open_tls(link, route);
    }
}

static ssize_t receive(flow_link *link, char *text, size_t size)
{
    ssize_t n;

    if (link->tls == NULL) {
        return recv(link->socket, text, size, 0);
    }
    do {
        n = gnutls_record_recv(link->tls, text, size);
    } while (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED);
    return n;
}

static void send_request(flow_link *link, const flow_route *route,
                         uint32_t number)
{
    char text[1024], host[160], path[160];
    int length;
    ssize_t sent;

    snprintf(host, sizeof(host), route->host,
             (int)(number % (unsigned)route->hosts));
    snprintf(path, sizeof(path), route->path,
             (int)(number / 65536 % (unsigned)route->paths));
    length = snprintf(text, sizeof(text),
                      "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: flow/1.0\r\n"
                      "Accept: */*\r\n\r\n",
                      path, host);
    sent = link->tls != NULL
               ? gnutls_record_send(link->tls, text, (size_t)length)
               : send(link->socket, text, (size_t)length, MSG_NOSIGNAL);
    if (sent != length) {
        fail("%s: a request could not be sent", route->name);
    }
}

/* Reads an answer that has a length, and is 200. */
static void read_answer(flow_link *link, const flow_route *route)
{
    static char text[TEXT_SIZE];
    size_t used = 0, wanted = TEXT_SIZE - 1;
    bool has_head = false;

    while (used < wanted) {
        ssize_t n = receive(link, text + used, TEXT_SIZE - 1 - used);
        const char *end, *length;

        if (n <= 0) {
            fail("%s: an answer is missing", route->name);
        }
        used += (size_t)n;
        text[used] = '\0';
        end = has_head ? NULL : strstr(text, "\r\n\r\n");
        if (end != NULL) {
            has_head = true;
            length = strstr(text, "Content-Length: ");
            if (strncmp(text, "HTTP/1.1 200", 12) != 0 || length == NULL) {
                fail("%s: an answer is not as expected:\n%s", route->name,
                     text);
            }
            wanted = (size_t)(end + 4 - text) + strtoul(length + 16, NULL, 10);
        }
    }
}

/* Which hosts and paths are asked for is a matter of `part`. */
static void send_all(flow_route *route, int part, int count)
{
    uint32_t seed = 2463534242 + (uint32_t)part * 7919;
    int i, n;

    for (i = 0; i < count; i += connections) {
        int together = count - i < connections ? count - i : connections;

        for (n = 0; n < together; n++) {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            send_request(&route->links[n], route, seed);
        }
        for (n = 0; n < together; n++) {
            read_answer(&route->links[n], route);
        }
    }
}

/* The number after a word in a file of /proc. */
static uint64_t read_proc(const char *file, const char *word)
{
    char path[128], text[4096], *at;
    size_t size;
    FILE *stream;

    snprintf(path, sizeof(path), "/proc/%s/task/%s/%s", pid, pid, file);
    stream = fopen(path, "r");
    if (stream == NULL) {
        fail("%s: the worker is gone", path);
    }
    size = fread(text, 1, sizeof(text) - 1, stream);
    fclose(stream);
    text[size] = '\0';
    at = strstr(text, word);
    return at == NULL ? 0 : strtoull(at + strlen(word), NULL, 10);
}

/* What the worker has used; the scheduler counts it when a thread pauses. */
static void read_worker(uint64_t *nanoseconds, uint64_t *switches)
{
    struct timespec pause = {0, 1000000};
    uint64_t before;

    *nanoseconds = read_proc("schedstat", "");
    do {
        before = *nanoseconds;
        nanosleep(&pause, NULL);
        *nanoseconds = read_proc("schedstat", "");
    } while (*nanoseconds - before > 100000);
    *switches = read_proc("status", "\nvoluntary_ctxt_switches:");
}

static void measure(flow_route *route, int round, int count)
{
    uint64_t time, switches, time_after, switches_after;

    if (round == 0) {
        for (int part = 0; part < PARTS; part++) {
            send_all(route, part, count);
        }
    } else {
        read_worker(&time, &switches);
        send_all(route, round % PARTS, count);
        read_worker(&time_after, &switches_after);
        printf("%s %d %.1f %.4f\n", route->name, round,
               (double)(time_after - time) / count,
               (double)(switches_after - switches) / count);
        fflush(stdout);
    }
}

static void read_routes(void)
{
    flow_route *route = routes;

    while (route_count < MAX_ROUTES &&
           scanf("%63s %d %7s %127s %d %127s %d", route->name, &route->port,
                 route->scheme, route->host, &route->hosts, route->path,
                 &route->paths) == 7) {
        if (route->hosts < 1 || route->paths < 1) {
            fail("%s: how many hosts and paths?", route->name);
        }
        for (int i = 0; i < connections; i++) {
            open_link(&route->links[i], route);
        }
        route++;
        route_count++;
    }
}

int main(int argc, char **argv)
{
    int rounds, requests;

    if (argc != 5 || (connections = atoi(argv[4])) < 1 ||
        connections > MAX_CONNECTIONS || (requests = atoi(argv[3])) < 1) {
        fail("usage: flow PID ROUNDS REQUESTS CONNECTIONS < ROUTES");
    }
    pid = argv[1];
    rounds = atoi(argv[2]);
    gnutls_certificate_allocate_credentials(&credentials);
    read_routes();
    for (int round = 0; round <= rounds; round++) {
        for (int turn = 0; turn < route_count; turn++) {
            int i = (turn + round) % route_count;

            measure(&routes[round % 2 == 0 ? i : route_count - 1 - i], round,
                    requests);
        }
    }
    return 0;
}
