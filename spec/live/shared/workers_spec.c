/*
 * workers_spec.c - processes that share a map, like nginx's workers. One of
 * them owns the map, and is killed, stopped, told to exit, or replaced by a
 * reload. Readers (here the master process) always have the last published
 * state. The master and its forks have no threads when they fork; the cluster
 * is another process.
 */
#include "base/clock.h"
#include "kubelua/config.h"
#include "kubelua/shared_serve.h"
#include "owner_rig.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A process that gets commands, a line each, and answers when it has carried
 * one out. */
typedef struct process {
    pid_t pid;
    int line; /* a socket to it; -1: the process has ended */
} process;

enum { WORKERS = 4, LINE = 256 };

static struct {
    kl_shared *map;
    process cluster;
    process workers[2 * WORKERS];
    int count;
    char url[LINE];
} world;

/* Runs `obey` for each line in a child that ends with this process. */
static process start_process(void (*obey)(char *line))
{
    process self;
    int ends[2];

    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    self = (process){.pid = fork(), .line = ends[0]};
    if (self.pid == 0) {
        char line[LINE];
        ssize_t length;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        while ((length = recv(ends[1], line, sizeof(line) - 1, 0)) > 0) {
            line[length] = '\0';
            obey(line);
            send(ends[1], line, strlen(line) + 1, 0);
        }
        _exit(0);
    }
    close(ends[1]);
    assert_true(self.pid > 0);
    return self;
}

/* Sends a command to a process, and returns its answer: valid until the next
 * call. */
static const char *tell(process *self, const char *line)
{
    static char answer[LINE];

    assert_int_equal(send(self->line, line, strlen(line) + 1, MSG_NOSIGNAL),
                     (ssize_t)strlen(line) + 1);
    assert_true(recv(self->line, answer, sizeof(answer), 0) > 0);
    return answer;
}

static void end_process(process *self, int with)
{
    if (self->line >= 0) {
        kill(self->pid, with);
        kill(self->pid, SIGCONT);
        waitpid(self->pid, NULL, 0);
        close(self->line);
        self->line = -1;
    }
}

/* Carries out a command in the process of the cluster: "slice ADDRESS", "away",
 * "back". */
static void obey_cluster(char *line)
{
    static kl_sim *sim;
    static int port;

    if (sim == NULL) {
        sim = kl_sim_new(NULL, NULL);
        owner_service(sim, "shop");
        owner_slice(sim, "shop-a", "shop", "10.0.0.1");
        if (kl_sim_listen(sim, NULL, NULL) != KL_OK) {
            abort();
        }
        port = atoi(strrchr(kl_sim_url(sim), ':') + 1);
    }
    if (strncmp(line, "slice ", 6) == 0) {
        owner_slice(sim, "shop-a", "shop", line + 6);
    } else if (strcmp(line, "away") == 0) {
        kl_sim_unlisten(sim);
    } else if (strcmp(line, "back") == 0) {
        kl_sim_listen_options options = {.port = port};

        if (kl_sim_listen(sim, &options, NULL) != KL_OK) {
            abort();
        }
    }
    snprintf(line, LINE, "http://127.0.0.1:%d", port);
}

/* Carries out a command in a worker: "serve", "leave", "role". */
static void obey_worker(char *line)
{
    kl_config_options options = {.server = world.url};
    kl_config *config;
    kl_client *client;
    kl_error err = {0};

    if (strcmp(line, "serve") == 0) {
        config = kl_config_load(&options, &err);
        client = kl_client_new(&(kl_client_options){.config = config}, &err);
        if (client == NULL ||
            kl_shared_serve(world.map, client, NULL, &err) != KL_OK) {
            fprintf(stderr, "%s\n", err.message);
            abort();
        }
        kl_client_unref(client);
        kl_config_unref(config);
    } else if (strcmp(line, "leave") == 0) {
        kl_shared_leave(world.map);
    }
    snprintf(line, LINE, "%d", (int)kl_shared_role(world.map));
}

/* Forks all workers before any of them serves, as nginx does. */
static void start_workers(int count)
{
    int first = world.count;

    for (int i = 0; i < count; i++) {
        world.workers[world.count++] = start_process(obey_worker);
    }
    for (int i = first; i < world.count; i++) {
        tell(&world.workers[i], "serve");
    }
}

static kl_shared_status status_now(void)
{
    kl_shared_status status;

    kl_shared_get_status(world.map, &status);
    return status;
}

/* The worker that owns the map; NULL: there is no owner. */
static process *find_owner(void)
{
    pid_t pid = (pid_t)status_now().owner_pid;

    for (int i = 0; i < world.count; i++) {
        if (world.workers[i].line >= 0 && world.workers[i].pid == pid) {
            return &world.workers[i];
        }
    }
    return NULL;
}

/* Waits for `takeovers` changes of the owner; meanwhile readers must have the
 * endpoint. Returns the milliseconds that it took. */
static int64_t await_takeover(uint64_t takeovers)
{
    int64_t begin = kl__clock_now(kl__clock_real());

    while (status_now().takeovers < takeovers || find_owner() == NULL) {
        assert_string_equal(owner_text(world.map, "shop"), "10.0.0.1");
        assert_true(kl__clock_now(kl__clock_real()) <
                    begin + OWNER_PATIENCE_MS);
    }
    return kl__clock_now(kl__clock_real()) - begin;
}

static void change_cluster(const char *address)
{
    char line[LINE];

    snprintf(line, sizeof(line), "slice %s", address);
    tell(&world.cluster, line);
    owner_await(world.map, "shop", address);
}

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof(world));
    world.cluster = start_process(obey_cluster);
    snprintf(world.url, sizeof(world.url), "%s", tell(&world.cluster, "start"));
    world.map = kl_shared_open(NULL, NULL);
    assert_non_null(world.map);
    start_workers(WORKERS);
    owner_await(world.map, "shop", "10.0.0.1");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < world.count; i++) {
        end_process(&world.workers[i], SIGKILL);
    }
    end_process(&world.cluster, SIGKILL);
    kl_shared_close(world.map);
    return 0;
}

static void one_worker_owns_the_map(void **state)
{
    int owners = 0;

    (void)state;
    for (int i = 0; i < world.count; i++) {
        const char *role = tell(&world.workers[i], "role");

        owners += strcmp(role, "2") == 0 ? 1 : 0;
    }
    assert_int_equal(owners, 1);
    assert_string_equal(tell(find_owner(), "role"), "2");
    assert_int_equal(status_now().takeovers, 1);
    assert_true(kl_shared_has_owner(world.map));
    assert_true(status_now().owned_ms >= status_now().published_ms);
    assert_true(status_now().published_ms >= 0);
}

static void a_map_whose_last_worker_was_killed_has_no_owner(void **state)
{
    (void)state;
    for (int i = 0; i < world.count; i++) {
        assert_true(kl_shared_has_owner(world.map));
        end_process(find_owner(), SIGKILL);
        if (i < world.count - 1) {
            await_takeover((uint64_t)i + 2);
        }
    }
    assert_false(kl_shared_has_owner(world.map));
    assert_int_not_equal(status_now().owner_pid, 0);
}

static void another_takes_over_when_the_owner_is_killed(void **state)
{
    (void)state;
    for (uint64_t round = 2; round <= WORKERS; round++) {
        process *owner = find_owner();

        assert_non_null(owner);
        end_process(owner, SIGKILL);
        print_message("a new owner after %d ms\n", (int)await_takeover(round));
        change_cluster("10.0.0.2");
        change_cluster("10.0.0.1");
    }
}

static void a_stopped_owner_keeps_the_map(void **state)
{
    process *owner = find_owner();
    siginfo_t stopped;

    (void)state;
    kill(owner->pid, SIGSTOP);
    /* The process runs on for a moment: wait until all of its threads have
     * stopped. */
    assert_int_equal(waitid(P_PID, (id_t)owner->pid, &stopped, WSTOPPED), 0);
    tell(&world.cluster, "slice 10.0.0.2");
    owner_await_age(world.map, 300, "shop", "10.0.0.1");
    assert_ptr_equal(find_owner(), owner);
    assert_true(kl_shared_has_owner(world.map));
    kill(owner->pid, SIGCONT);
    owner_await(world.map, "shop", "10.0.0.2");
    assert_int_equal(status_now().takeovers, 1);
}

static void an_owner_that_exits_is_not_the_owner_again(void **state)
{
    process *former = find_owner(), *owner;

    (void)state;
    assert_string_equal(tell(former, "leave"), "0");
    await_takeover(2);
    for (uint64_t round = 3; (owner = find_owner()) != NULL; round++) {
        assert_ptr_not_equal(owner, former);
        end_process(owner, SIGKILL);
        if (round <= WORKERS) {
            await_takeover(round);
        }
    }
    assert_int_equal(status_now().takeovers, WORKERS);
    assert_string_equal(owner_text(world.map, "shop"), "10.0.0.1");
    assert_string_equal(tell(former, "role"), "0");
}

/* A reload: new workers start while the old ones still run. From then on no old
 * worker becomes the owner. */
static void after_a_reload_a_new_worker_is_the_owner(void **state)
{
    kl_shared *again = kl_shared_open(NULL, NULL);
    process *owner;

    (void)state;
    assert_ptr_equal(again, world.map);
    start_workers(WORKERS);
    assert_int_equal(status_now().takeovers, 1);
    tell(find_owner(), "leave");
    for (uint64_t round = 2; round <= 3; round++) {
        await_takeover(round);
        owner = find_owner();
        assert_true(owner >= &world.workers[WORKERS]);
        change_cluster("10.0.0.2");
        change_cluster("10.0.0.1");
        end_process(owner, SIGKILL);
    }
    await_takeover(4);
    kl_shared_close(again);
}

/* The owner is killed while the server is away: the new owner publishes
 * nothing, and nothing is lost. */
static void a_takeover_without_a_server_publishes_nothing(void **state)
{
    uint64_t generation;

    (void)state;
    tell(&world.cluster, "away");
    generation = status_now().generation;
    end_process(find_owner(), SIGKILL);
    await_takeover(2);
    owner_await_age(world.map, 300, "shop", "10.0.0.1");
    assert_int_equal(status_now().generation, generation);
    assert_true(kl_shared_synced(world.map));
    tell(&world.cluster, "slice 10.0.0.2");
    tell(&world.cluster, "back");
    owner_await(world.map, "shop", "10.0.0.2");
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest specs[] = {
        SPEC(one_worker_owns_the_map),
        SPEC(a_map_whose_last_worker_was_killed_has_no_owner),
        SPEC(another_takes_over_when_the_owner_is_killed),
        SPEC(a_stopped_owner_keeps_the_map),
        SPEC(an_owner_that_exits_is_not_the_owner_again),
        SPEC(after_a_reload_a_new_worker_is_the_owner),
        SPEC(a_takeover_without_a_server_publishes_nothing),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
