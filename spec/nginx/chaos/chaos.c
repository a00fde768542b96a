/*
 * chaos.c - nginx_chaos: requests over many connections whose answers are
 * judged while a cluster changes (verdict.h). The spec tells what answers may
 * be by lines on standard input; the end of the input ends the run, and then
 * the program prints what it has counted. spec/nginx/README.md says more.
 *
 *   nginx_chaos [-c CONNECTIONS] [-r RATE] GROUP...
 *   nginx_chaos pair NAME SECONDS
 *
 * GROUP is PORT[/SNI],NAME=HOST/PATH,...: targets that take turns on the same
 * connections. With SNI, the subject "SNI" judges the certificates. Lines:
 * allow NAME IDENTITY, ban NAME IDENTITY, loose NAME, strict NAME. The program
 * says "ruled" after each, "seen NAME IDENTITY" when a request that began after
 * "allow" is answered so, and "failing NAME" when one that began after "loose"
 * fails. Requests begin at the line "go".
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pair.h"
#include "verdict.h"
#include "wire.h"

enum { MOST_TARGETS = 8, MOST_GROUPS = 8, MOST_TOLD = 20 };

typedef struct {
    verdict_subject subject;
    wire_request request;
    atomic_uint_fast64_t requests, outcomes[WIRE_OUTCOMES];
    atomic_uint_fast64_t failed, forgiven, wrong; /* answers */
} chaos_target;

typedef struct {
    int port;
    const char *sni;
    chaos_target certificate; /* counts handshakes, if there is an SNI */
    chaos_target targets[MOST_TARGETS];
    int target_count;
    atomic_uint_fast64_t expired; /* handshakes with such a certificate */
} chaos_group;

static chaos_group groups[MOST_GROUPS];
static int group_count;
static int connections = 4, rate = 400; /* of each group */
static atomic_bool is_over;
static atomic_int told;

static int64_t read_clock_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sleep_us(int64_t us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

/* Says what is wrong, for the first ones: their order helps to find a fault. */
static void tell(const chaos_target *target, const char *what, unsigned number,
                 uint64_t begun)
{
    if (atomic_fetch_add(&told, 1) < MOST_TOLD) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        printf("# %lld.%03ld %s: %s %u, begun at moment %llu, now %llu\n",
               (long long)now.tv_sec, now.tv_nsec / 1000000,
               target->subject.name, what, number, (unsigned long long)begun,
               (unsigned long long)atomic_load(&target->subject.moment));
        fflush(stdout);
    }
}

static void say_seen(chaos_target *target, unsigned identity, uint64_t begun)
{
    if (verdict_is_first(&target->subject, begun, identity)) {
        printf("seen %s %u\n", target->subject.name, identity);
        fflush(stdout);
    }
}

static void forgive(chaos_target *target, uint64_t begun)
{
    atomic_fetch_add(&target->forgiven, 1);
    if (verdict_is_first_failure(&target->subject, begun)) {
        printf("failing %s\n", target->subject.name);
        fflush(stdout);
    }
}

/* Judges the certificate of a handshake. */
static void judge_certificate(chaos_group *group, const wire *connection,
                              uint64_t begun)
{
    chaos_target *shown = &group->certificate;
    unsigned number = connection->certificate;

    if (!verdict_allows(&shown->subject, begun, number)) {
        atomic_fetch_add(&shown->wrong, 1);
        tell(shown, "certificate", number, begun);
    } else {
        say_seen(shown, number, begun);
    }
    if (connection->is_expired) {
        atomic_fetch_add(&group->expired, 1);
        tell(shown, "expired", number, begun);
    }
}

static bool open_connection(chaos_group *group, wire *connection)
{
    chaos_target *shown = &group->certificate;
    uint64_t begun = verdict_begin(&shown->subject);
    const char *why = "";

    bool is_open = wire_open(connection, group->port, group->sni, &why);

    if (group->sni == NULL) {
        return is_open;
    }
    atomic_fetch_add(&shown->requests, 1);
    if (is_open) {
        judge_certificate(group, connection, begun);
    } else if (verdict_forgives(&shown->subject, begun)) {
        forgive(shown, begun);
    } else {
        atomic_fetch_add(&shown->outcomes[WIRE_REFUSED], 1);
        tell(shown, why, 0, begun);
    }
    return is_open;
}

static void judge(chaos_target *target, const wire_answer *answer,
                  uint64_t begun)
{
    if (answer->outcome != WIRE_ANSWERED) {
        return;
    }
    if (answer->status < 200 || answer->status > 299) {
        if (verdict_forgives(&target->subject, begun)) {
            forgive(target, begun);
        } else {
            atomic_fetch_add(&target->failed, 1);
            tell(target, "status", (unsigned)answer->status, begun);
        }
    } else if (!verdict_allows(&target->subject, begun, answer->identity)) {
        atomic_fetch_add(&target->wrong, 1);
        tell(target, "backend", answer->identity, begun);
    } else {
        say_seen(target, answer->identity, begun);
    }
}

static void exchange(chaos_group *group, chaos_target *target, wire *connection)
{
    uint64_t begun = verdict_begin(&target->subject);
    wire_answer answer = {WIRE_REFUSED, 0, UINT_MAX};

    if (connection->socket >= 0 || open_connection(group, connection)) {
        answer = wire_ask(connection, &target->request);
    } else if (group->sni != NULL) {
        return; /* was counted as a handshake */
    }
    atomic_fetch_add(&target->requests, 1);
    atomic_fetch_add(&target->outcomes[answer.outcome], 1);
    judge(target, &answer, begun);
}

/* A connection carries some requests, and then makes room for a new one. */
static void *run_worker(void *argument)
{
    chaos_group *group = argument;
    wire connection = {.socket = -1};
    int64_t gap = (int64_t)connections * 1000000 / rate;
    unsigned seed = (unsigned)(uintptr_t)&connection;
    int left = 0;

    for (int turn = rand_r(&seed) % MOST_TARGETS; !atomic_load(&is_over);
         turn++) {
        int64_t due = read_clock_us() + gap;
        int64_t now;

        if (left-- <= 0) {
            wire_close(&connection);
            left = rand_r(&seed) % (group->sni != NULL ? 8 : 40);
        }
        exchange(group, &group->targets[turn % group->target_count],
                 &connection);
        now = read_clock_us();
        if (due > now) {
            sleep_us(due - now);
        }
    }
    wire_close(&connection);
    return NULL;
}

static chaos_target *find_target(const char *name)
{
    for (int g = 0; g < group_count; g++) {
        chaos_group *group = &groups[g];

        if (group->sni != NULL && strcmp(group->sni, name) == 0) {
            return &group->certificate;
        }
        for (int t = 0; t < group->target_count; t++) {
            if (strcmp(group->targets[t].subject.name, name) == 0) {
                return &group->targets[t];
            }
        }
    }
    return NULL;
}

/* Follows the lines of the spec until "go", or until the input ends. */
static bool read_rules(void)
{
    char line[256], verb[16], name[VERDICT_NAME_SIZE];

    while (fgets(line, sizeof(line), stdin) != NULL &&
           strcmp(line, "go\n") != 0) {
        unsigned identity = 0;
        int count = sscanf(line, "%15s %31s %u", verb, name, &identity);
        chaos_target *target = count >= 2 ? find_target(name) : NULL;

        if (target == NULL || !verdict_rule(&target->subject, verb, identity)) {
            printf("# no such rule: %s", line);
            return false;
        }
        puts("ruled"); /* the spec waits for it before it makes the change */
        fflush(stdout);
    }
    return true;
}

static void print_target(chaos_target *target, uint64_t expired)
{
    printf("%s requests=%llu refused=%llu broken=%llu raced=%llu late=%llu "
           "failed=%llu forgiven=%llu wrong=%llu expired=%llu\n",
           target->subject.name,
           (unsigned long long)atomic_load(&target->requests),
           (unsigned long long)atomic_load(&target->outcomes[WIRE_REFUSED]),
           (unsigned long long)atomic_load(&target->outcomes[WIRE_BROKEN]),
           (unsigned long long)atomic_load(&target->outcomes[WIRE_RACED]),
           (unsigned long long)atomic_load(&target->outcomes[WIRE_LATE]),
           (unsigned long long)atomic_load(&target->failed),
           (unsigned long long)atomic_load(&target->forgiven),
           (unsigned long long)atomic_load(&target->wrong),
           (unsigned long long)expired);
}

static void print_results(void)
{
    for (int g = 0; g < group_count; g++) {
        if (groups[g].sni != NULL) {
            print_target(&groups[g].certificate,
                         atomic_load(&groups[g].expired));
        }
        for (int t = 0; t < groups[g].target_count; t++) {
            print_target(&groups[g].targets[t], 0);
        }
    }
}

static int run_all(void)
{
    pthread_t threads[MOST_GROUPS * 64];
    int count = 0;
    bool ok = read_rules();

    for (int g = 0; g < group_count; g++) {
        for (int i = 0; i < connections && i < 64; i++) {
            if (pthread_create(&threads[count++], NULL, run_worker,
                               &groups[g]) != 0) {
                perror("nginx_chaos: pthread_create");
                return 1;
            }
        }
    }
    ok = ok && read_rules();
    atomic_store(&is_over, true);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    print_results();
    puts("over");
    return ok ? 0 : 1;
}

/* PORT[/SNI],NAME=HOST/PATH,... */
static bool read_group(chaos_group *group, char *text)
{
    char *part = strtok(text, ",");
    char *sni = part != NULL ? strchr(part, '/') : NULL;

    if (part == NULL) {
        return false;
    }
    group->port = atoi(part);
    if (sni != NULL) {
        group->sni = sni + 1;
        verdict_init(&group->certificate.subject, group->sni);
    }
    while ((part = strtok(NULL, ",")) != NULL &&
           group->target_count < MOST_TARGETS) {
        chaos_target *target = &group->targets[group->target_count++];
        char *host = strchr(part, '='), *path;

        if (host == NULL || (path = strchr(host, '/')) == NULL) {
            return false;
        }
        *host++ = '\0';
        verdict_init(&target->subject, part);
        target->request.path = strdup(path);
        *path = '\0';
        target->request.host = strdup(host);
    }
    return group->target_count > 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "pair") == 0) {
        return pair_print(argv[2], strtol(argv[3], NULL, 10));
    }
    signal(SIGPIPE, SIG_IGN);
    if (!wire_init()) {
        return 1;
    }
    for (int option; (option = getopt(argc, argv, "c:r:")) != -1;) {
        *(option == 'c' ? &connections : &rate) = atoi(optarg);
    }
    while (optind < argc && group_count < MOST_GROUPS) {
        if (!read_group(&groups[group_count++], argv[optind++])) {
            fputs("usage: nginx_chaos [-c N] [-r RATE] "
                  "PORT[/SNI],NAME=HOST/PATH,... ...\n",
                  stderr);
            return 2;
        }
    }
    return run_all();
}
