/*
 * crowd.c - the simulated API server under a crowd of clients that come and go:
 * thousands of connections a lap, among them half-open ones, slow senders,
 * watches, and clients that read nothing or reset at once. After each lap it
 * prints what the process uses, for judge.lua. Usage: crowd
 * CONNECTIONS|MINUTESm [A-LAP]; KUBELUA_SOAK_LEAK=N
 */
#include "usage.h"

#include <arpa/inet.h>
#include <kubelua/kubelua.h>
#include <kubelua/sim.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the crowd does in a lap, in a process of its own. All of a lap's
 * connections are open at once; in each pass every visitor takes its next
 * step. */

/* An object that must exist, and a kind of which there is much to list. */
#define VISITORS_WATCHED "watched"
#define VISITORS_MUCH "secrets"

typedef struct visitors_lap {
    int port;
    int connections;
    int changes; /* changes of the object that is watched */
    /* one connection in so many stays open for ever; 0: none */
    int leak;
    long events;     /* result: events that watchers got */
    long answers;    /* result: answers that slow senders and callers got */
    char fault[200]; /* "" if nothing went wrong */
} visitors_lap;

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define HEAD "Host: localhost\r\nAccept: application/json\r\n"
#define LENGTH "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n"

enum {
    PASSES = 8,
    PATIENCE_S = 60,
    TEXT_SIZE = 1024,
    /* bytes that are sent of a body whose Content-Length is twice as long */
    HALF = 500
};

typedef enum {
    SILENT,    /* connects, and sends nothing */
    HALF_HEAD, /* stops in the middle of the first line */
    HALF_BODY, /* stops in the middle of a body */
    SLOW,      /* creates an object, a few bytes at a time */
    WATCHER,   /* reads the events of a watch */
    DEAF,      /* lists a large collection, and reads nothing */
    HASTY,     /* sends a request, and resets the connection at once */
    /* sends a request, reads the answer, and asks again on the same
     * connection */
    CALLER,
    KINDS
} visitor_kind;

typedef struct visitor {
    int fd;
    visitor_kind kind;
    char *text; /* of SLOW: the request to send */
    size_t sent;
    char last; /* the last byte that was read */
} visitor;

typedef struct crowd {
    visitors_lap *lap;
    visitor *visitors;
    int writer; /* an ordinary connection, which changes objects */
} crowd;

static bool fail(crowd *self, const char *format, ...)
{
    va_list arguments;

    if (self->lap->fault[0] == '\0') {
        va_start(arguments, format);
        vsnprintf(self->lap->fault, sizeof(self->lap->fault), format,
                  arguments);
        va_end(arguments);
    }
    return false;
}

static int connect_to(int port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr =
                                            htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (fd >= 0 &&
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool put(int fd, const char *bytes, size_t length)
{
    return send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

static bool say(int fd, const char *text)
{
    return put(fd, text, strlen(text));
}

/* Reads a whole answer: its head, and a body of Content-Length bytes. True if
 * it has the wanted status. */
static bool take_answer(int fd, int wanted)
{
    char room[8 * TEXT_SIZE];
    size_t used = 0, length = 0;
    const char *end = NULL;
    int status = 0;

    while (end == NULL || (size_t)(room + used - end) < length) {
        ssize_t got = recv(fd, room + used, sizeof(room) - 1 - used, 0);
        const char *line;

        if (got <= 0) {
            return false;
        }
        used += (size_t)got;
        room[used] = '\0';
        end = strstr(room, "\r\n\r\n");
        line = end != NULL ? strstr(room, "Content-Length: ") : NULL;
        if (line == NULL || sscanf(room, "HTTP/1.1 %d", &status) != 1) {
            end = NULL; /* the head is not complete */
            continue;
        }
        end += 4;
        length = strtoul(line + strlen("Content-Length: "), NULL, 10);
    }
    return status == wanted;
}

/* Sends one request, and reads its answer. */
static bool ask(int fd, int wanted, const char *method, const char *path,
                const char *body)
{
    char text[TEXT_SIZE];
    int used =
        snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\n" HEAD LENGTH "%s",
                 method, path, strlen(body), body);

    return put(fd, text, (size_t)used) && take_answer(fd, wanted);
}

/* Makes the request of a slow visitor. */
static char *make_text(int number)
{
    char body[TEXT_SIZE], text[2 * TEXT_SIZE];

    snprintf(body, sizeof(body),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"slow-%d\",\"labels\":{\"crowd\":\"slow\"}}}",
             number);
    snprintf(text, sizeof(text),
             "POST " CONFIGMAPS " HTTP/1.1\r\n" HEAD LENGTH "%s", strlen(body),
             body);
    return strdup(text);
}

static bool begin_half_body(visitor *self)
{
    char text[TEXT_SIZE], blanks[HALF];
    int used = snprintf(text, sizeof(text),
                        "POST " CONFIGMAPS " HTTP/1.1\r\n" HEAD LENGTH,
                        (size_t)(2 * HALF));

    /* JSON may begin with any number of blanks */
    memset(blanks, ' ', sizeof(blanks));
    return put(self->fd, text, (size_t)used) &&
           put(self->fd, blanks, sizeof(blanks));
}

/* Takes a visitor's first step. */
static bool begin(visitor *self, int number)
{
    switch (self->kind) {
    case HALF_HEAD:
        return say(self->fd, "GET /api/v1/name");
    case HALF_BODY:
        return begin_half_body(self);
    case SLOW:
        self->text = make_text(number);
        return self->text != NULL;
    case WATCHER:
        return say(self->fd, "GET " CONFIGMAPS "?watch=true&fieldSelector="
                             "metadata.name%3D" VISITORS_WATCHED
                             " HTTP/1.1\r\n" HEAD "\r\n");
    case DEAF:
        return say(self->fd,
                   "GET /api/v1/" VISITORS_MUCH " HTTP/1.1\r\n" HEAD "\r\n");
    case HASTY:
        return say(self->fd, "GET /api/v1/namespaces HTTP/1.1\r\n" HEAD "\r\n");
    default:
        return true;
    }
}

/* Closes with an RST. */
static void reset(visitor *self)
{
    const struct linger at_once = {.l_onoff = 1};

    setsockopt(self->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(self->fd);
    self->fd = -1;
}

/* Sends the next bytes of a slow visitor; in the last pass sends the rest, and
 * reads the answer. */
static bool dribble(crowd *self, visitor *slow, int pass)
{
    size_t length = strlen(slow->text);
    size_t until = length * (size_t)(pass + 1) / PASSES;
    bool sent = put(slow->fd, slow->text + slow->sent, until - slow->sent);

    slow->sent = until;
    if (!sent) {
        return fail(self, "a slow sender was cut off");
    }
    if (until == length) {
        if (!take_answer(slow->fd, 201)) {
            return fail(self, "a slow sender had no 201");
        }
        self->lap->answers++;
    }
    return true;
}

static bool step(crowd *self, visitor *one, int pass)
{
    switch (one->kind) {
    case SLOW:
        return dribble(self, one, pass);
    case HASTY:
        if (one->fd >= 0) {
            reset(one);
        }
        return true;
    case CALLER:
        if (!ask(one->fd, 200, "GET", CONFIGMAPS "/" VISITORS_WATCHED, "")) {
            return fail(self, "a caller had no 200");
        }
        self->lap->answers++;
        return true;
    default:
        return true;
    }
}

static bool connect_all(crowd *self)
{
    for (int i = 0; i < self->lap->connections; i++) {
        visitor *one = &self->visitors[i];

        one->kind = (visitor_kind)(i % KINDS);
        one->fd = connect_to(self->lap->port);
        if (one->fd < 0) {
            return fail(self, "connection %d was not accepted", i);
        }
        if (!begin(one, i)) {
            return fail(self, "connection %d was cut off at once", i);
        }
    }
    return true;
}

/* Reads lines of JSON (not those of the chunked encoding) until there were so
 * many. */
static bool read_events(crowd *self, visitor *watcher, int wanted)
{
    int seen = 0;

    while (seen < wanted) {
        char room[16 * TEXT_SIZE];
        ssize_t got = recv(watcher->fd, room, sizeof(room), 0);

        if (got <= 0) {
            return fail(self, "a watcher saw %d events of %d", seen, wanted);
        }
        for (ssize_t i = 0; i < got; i++) {
            seen += room[i] == '\n' && watcher->last == '}';
            watcher->last = room[i];
        }
    }
    self->lap->events += seen;
    return true;
}

static bool change(crowd *self)
{
    for (int i = 0; i < self->lap->changes; i++) {
        char body[TEXT_SIZE];

        snprintf(body, sizeof(body),
                 "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                 "\"name\":\"" VISITORS_WATCHED "\"},\"data\":{\"at\":"
                 "\"%d of %d\"}}",
                 i, rand());
        if (!ask(self->writer, 200, "PUT", CONFIGMAPS "/" VISITORS_WATCHED,
                 body)) {
            return fail(self, "the writer had no 200");
        }
    }
    return true;
}

static bool run(crowd *self)
{
    const int count = self->lap->connections;

    if (self->writer < 0 || !connect_all(self)) {
        return fail(self, "the server is not there");
    }
    for (int pass = 0; pass < PASSES; pass++) {
        for (int i = 0; i < count; i++) {
            if (!step(self, &self->visitors[i], pass)) {
                return false;
            }
        }
    }
    if (!change(self)) {
        return false;
    }
    for (int i = WATCHER; i < count; i += KINDS) {
        /* One event more: the object that existed at first. */
        if (!read_events(self, &self->visitors[i], self->lap->changes + 1)) {
            return false;
        }
    }
    return true;
}

/* Closes all connections, every other one with an RST; if a leak is to be
 * found, some stay open. */
static void leave(crowd *self)
{
    for (int i = 0; i < self->lap->connections; i++) {
        visitor *one = &self->visitors[i];
        bool stays = self->lap->leak != 0 && i % self->lap->leak == 0;

        if (one->fd >= 0 && !stays && i / KINDS % 2 == 0) {
            reset(one);
        } else if (one->fd >= 0 && !stays) {
            close(one->fd);
        }
        free(one->text);
    }
    if (self->writer >= 0) {
        close(self->writer);
    }
}

static void do_lap(visitors_lap *lap)
{
    crowd self = {.lap = lap, .writer = connect_to(lap->port)};

    self.visitors = calloc((size_t)lap->connections, sizeof(*self.visitors));
    if (self.visitors == NULL) {
        fail(&self, "out of memory");
        lap->connections = 0;
    }
    for (int i = 0; i < lap->connections; i++) {
        self.visitors[i].fd = -1;
    }
    run(&self);
    leave(&self);
    free(self.visitors);
}

static _Noreturn void visitors_serve(int told)
{
    visitors_lap lap;

    while (recv(told, &lap, sizeof(lap), MSG_WAITALL) == sizeof(lap)) {
        do_lap(&lap);
        if (send(told, &lap, sizeof(lap), MSG_NOSIGNAL) != sizeof(lap)) {
            break;
        }
    }
    _exit(0);
}

static bool visitors_do(int told, visitors_lap *lap)
{
    return send(told, lap, sizeof(*lap), MSG_NOSIGNAL) == sizeof(*lap) &&
           recv(told, lap, sizeof(*lap), MSG_WAITALL) == sizeof(*lap);
}

enum {
    A_LAP = 2000,
    CHANGES = 10,
    MUCH = 250,        /* objects of the kind that DEAF visitors list */
    MUCH_BYTES = 4000, /* size of each: more than a socket's buffer holds */
    /* changes kept of each kind: full after the first lap */
    HISTORY = 200,
    SPARE = 100, /* descriptors beyond those of the connections */
    /* time for the server to see that all clients have left */
    REST_MS = 20000,
    LEAK_REST_MS = 3000 /* the same if some stay on purpose */
};

/* The server that is judged. */
typedef struct crowd_server {
    kl_sim *sim;
    int told; /* a socket to the process of the crowd */
    int port;
    int leak;
    long connections;
    long events;
    long answers;
    long laps;
    char fault[256]; /* "" if nothing went wrong */
} crowd_server;

static bool fail_server(crowd_server *self, const char *what)
{
    if (self->fault[0] == '\0') {
        snprintf(self->fault, sizeof(self->fault), "%s", what);
    }
    return false;
}

/* Raises the limit of descriptors for so many connections; false: it cannot be
 * raised. */
static bool make_room(int connections)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)connections + SPARE;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < wanted) {
        return false;
    }
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
    }
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static bool load(crowd_server *self)
{
    static char text[MUCH_BYTES + 512], much[MUCH_BYTES + 1];
    int used = snprintf(
        text, sizeof(text),
        "{kind: ConfigMap, apiVersion: v1, metadata: {name: " VISITORS_WATCHED
        ", namespace: default}}");

    memset(much, 'm', MUCH_BYTES);
    for (int i = 0;; i++) {
        if (kl_sim_load(self->sim, text, (size_t)used, NULL) != KL_OK) {
            return fail_server(self, "an object was not loaded");
        }
        if (i == MUCH) {
            return true;
        }
        used = snprintf(text, sizeof(text),
                        "{kind: Secret, apiVersion: v1, metadata: {name: much-"
                        "%d, namespace: default}, stringData: {much: %s}}",
                        i, much);
    }
}

static bool begin_server(crowd_server *self)
{
    const kl_sim_options options = {.history = HISTORY};
    const kl_sim_listen_options where = {0};

    self->sim = kl_sim_new(&options, NULL);
    if (self->sim == NULL || kl_sim_listen(self->sim, &where, NULL) != KL_OK) {
        return fail_server(self, "it does not listen");
    }
    self->port = atoi(strrchr(kl_sim_url(self->sim), ':') + 1);
    return load(self);
}

/* Makes one request as an administrator. */
static bool call(crowd_server *self, const char *method, const char *target,
                 const char *body)
{
    const kl_call asked = {.method = method,
                           .target = target,
                           .body = body,
                           .body_length = strlen(body)};
    kl_reply reply = {0};
    bool done = kl_sim_call(self->sim, &asked, &reply, NULL) == KL_OK &&
                reply.status == 200;

    kl_reply_clear(&reply);
    return done || fail_server(self, "a request of the administrator failed");
}

static bool run_lap(crowd_server *self, int connections)
{
    visitors_lap lap = {.port = self->port,
                        .connections = connections,
                        .changes = CHANGES,
                        .leak = self->leak};

    if (!visitors_do(self->told, &lap)) {
        return fail_server(self, "the crowd's process is gone");
    }
    if (lap.fault[0] != '\0') {
        return fail_server(self, lap.fault);
    }
    self->laps++;
    self->connections += connections;
    self->events += lap.events;
    self->answers += lap.answers;
    return call(self, "DELETE",
                "/api/v1/namespaces/default/configmaps?labelSelector="
                "crowd%3Dslow",
                "");
}

static void run_laps(crowd_server *self, const usage_length *length, int a_lap)
{
    int threads = usage_threads(), descriptors = usage_descriptors();
    int sampled = 0;

    while (sampled < USAGE_SAMPLES) {
        if (!run_lap(self, a_lap)) {
            return;
        }
        if (usage_progress(length, self->connections) * (double)USAGE_SAMPLES <
            sampled + 1) {
            continue;
        }
        usage_rest(threads, descriptors,
                   self->leak != 0 ? LEAK_REST_MS : REST_MS);
        sampled++;
        usage_print_sample(length, self->connections,
                           kl_live_count(KL_LIVE_STREAM));
    }
}

int main(int argc, char **argv)
{
    static crowd_server self;
    const char *leak = getenv("KUBELUA_SOAK_LEAK");
    usage_length length;
    int pair[2], a_lap = argc > 2 ? atoi(argv[2]) : A_LAP;
    pid_t child;

    if (argc < 2 || !usage_length_read(&length, argv[1]) || a_lap <= 0) {
        fputs("usage: crowd CONNECTIONS|MINUTESm [A-LAP]\n", stderr);
        return 2;
    }
    if (!make_room(a_lap) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        fputs("crowd: not so many descriptors (ulimit -n)\n", stderr);
        return 2;
    }
    child = fork();
    if (child == 0) {
        close(pair[0]);
        visitors_serve(pair[1]);
    }
    close(pair[1]);
    self.told = pair[0];
    self.leak = leak != NULL ? atoi(leak) : 0;
    printf("trims\t1\n");
    usage_print_rest("begin");
    if (begin_server(&self)) {
        run_laps(&self, &length, a_lap);
    }
    kl_sim_unref(self.sim);
    if (self.fault[0] != '\0') {
        printf("fault\t%s\n", self.fault);
    }
    usage_print_alive();
    usage_print_rest("end");
    printf("done\t%ld connections in %ld laps of %d, %ld events seen, %ld "
           "answers\n",
           self.connections, self.laps, a_lap, self.events, self.answers);
    close(self.told);
    waitpid(child, NULL, 0);
    return self.fault[0] == '\0' ? 0 : 1;
}
