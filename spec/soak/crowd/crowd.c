/*
 * crowd.c - the simulated API server under a crowd of clients that come and go:
 * thousands of connections a lap, among them half-open ones, slow senders,
 * watches, and clients that read nothing or reset at once. After each lap it
 * prints what the process uses, for judge.lua. Usage: crowd
 * CONNECTIONS|MINUTESm [A-LAP]; KUBELUA_SOAK_LEAK=N
 */
#include "visitors.h"

#include "usage.h"

#include <kubelua/kubelua.h>
#include <kubelua/sim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

static bool fail(crowd_server *self, const char *what)
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
            return fail(self, "an object was not loaded");
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

static bool begin(crowd_server *self)
{
    const kl_sim_options options = {.history = HISTORY};
    const kl_sim_listen_options where = {0};

    self->sim = kl_sim_new(&options, NULL);
    if (self->sim == NULL || kl_sim_listen(self->sim, &where, NULL) != KL_OK) {
        return fail(self, "it does not listen");
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
    return done || fail(self, "a request of the administrator failed");
}

static bool run_lap(crowd_server *self, int connections)
{
    visitors_lap lap = {.port = self->port,
                        .connections = connections,
                        .changes = CHANGES,
                        .leak = self->leak};

    if (!visitors_do(self->told, &lap)) {
        return fail(self, "the crowd's process is gone");
    }
    if (lap.fault[0] != '\0') {
        return fail(self, lap.fault);
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

static void run(crowd_server *self, const usage_length *length, int a_lap)
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
    if (begin(&self)) {
        run(&self, &length, a_lap);
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
