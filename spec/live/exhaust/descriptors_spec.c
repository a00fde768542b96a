/*
 * descriptors_spec.c - no descriptor is left: each call that needs one fails
 * with an error that names the limit; an informer that lost its connection
 * reports that, waits without spinning, and reconnects when descriptors are
 * free.
 */
#include "kubeconfigs.h"
#include "live_world.h"
#include "temp_files.h"

#include "base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { WAIT_MS = 10, PATIENCE_MS = 10000, CALM_MS = 400, CALM_CPU_MS = 200 };

enum { FILLERS = 1024 };

static struct rlimit usual_limit;
static int fillers[FILLERS];
static int filler_count;

/* Fills all holes below the limit, so that no descriptor is left; then closes
 * `left` of them. */
static void take_descriptors(int left)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual_limit), 0);
    limit = usual_limit;
    limit.rlim_cur = FILLERS;
    filler_count = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (filler_count < FILLERS) {
        int fd = fcntl(0, F_DUPFD_CLOEXEC, 0);

        if (fd < 0) {
            break;
        }
        fillers[filler_count++] = fd;
    }
    while (left-- > 0) {
        close(fillers[--filler_count]);
    }
}

static void give_descriptors_back(void)
{
    while (filler_count > 0) {
        close(fillers[--filler_count]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual_limit), 0);
}

/* How many descriptors are open. */
static int count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

/* CPU time that the whole process has used. */
static int64_t cpu_ms(void)
{
    struct timespec spent;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return (int64_t)spent.tv_sec * 1000 + spent.tv_nsec / 1000000;
}

static void expect_remedy(const kl_error *err, kl_code code)
{
    if (err->code != code || strstr(err->message, "ulimit -n") == NULL) {
        fail_msg("%s: %s", kl_code_name(err->code), err->message);
    }
}

static void a_queue_names_the_limit(void **state)
{
    kl_error err = {0};

    (void)state;
    take_descriptors(0);
    assert_null(kl_event_queue_new(&err));
    give_descriptors_back();
    expect_remedy(&err, KL_EIO);
}

static void a_kubeconfig_names_the_limit(void **state)
{
    const kl_config_options options = {
        .kubeconfig = kubeconfig_write("{server: \"http://s\"}", "{token: t}")};
    kl_error err = {0};

    (void)state;
    take_descriptors(0);
    assert_null(kl_config_load(&options, &err));
    give_descriptors_back();
    expect_remedy(&err, KL_ECONFIG);
}

/* The thread that clients share needs two descriptors, and each client those of
 * its multi handle. */
static void a_client_names_the_limit(void **state)
{
    kl_config *config =
        config_load(&(kl_config_options){.server = "http://127.0.0.1:1"});
    int left = 0;
    kl_client *client = NULL;

    (void)state;
    while (client == NULL) {
        kl_error err = {0};

        take_descriptors(left++);
        client = kl_client_new(
            &(kl_client_options){.config = config, .shares_thread = true},
            &err);
        give_descriptors_back();
        if (client == NULL) {
            expect_remedy(&err, KL_EIO);
        }
    }
    assert_in_range(left, 4, 8);
    kl_client_unref(client);
    kl_config_unref(config);
}

/* Makes one call of a client with a config, which it takes, while `left`
 * descriptors are left. Returns the call's error. */
static kl_error call_with(kl_config *config, int left)
{
    const kl_call call = {.method = "GET", .target = "/version"};
    kl_client *client =
        kl_client_new(&(kl_client_options){.config = config}, NULL);
    kl_error err = {0};
    kl_reply reply;

    assert_non_null(client);
    take_descriptors(left);
    assert_int_not_equal(kl_client_call(client, &call, &reply, &err), KL_OK);
    give_descriptors_back();
    kl_client_unref(client);
    kl_config_unref(config);
    return err;
}

static void a_certificate_authority_names_the_limit(void **state)
{
    const char *ca = temp_write("ca", "-----BEGIN CERTIFICATE-----\n");
    kl_error err =
        call_with(config_load(&(kl_config_options){
                      .server = "https://127.0.0.1:1", .ca_file = ca}),
                  0);

    (void)state;
    expect_remedy(&err, KL_ECONFIG);
}

static void a_connection_names_the_limit(void **state)
{
    kl_error err = call_with(
        config_load(&(kl_config_options){.server = "http://127.0.0.1:1"}), 0);

    (void)state;
    expect_remedy(&err, KL_EUNAVAILABLE);
}

/* Runs the plugin with 0, 1, 2 ... descriptors left, so that a pipe, a file of
 * the child process or the descriptor that reports its end is missing. */
static void a_plugin_names_the_limit(void **state)
{
    int left;

    (void)state;
    for (left = 0; left < 16; left++) {
        kl_error err = call_with(plugin_answering("\"token\":\"t\""), left);

        if (strstr(err.message, "127.0.0.1") != NULL ||
            strstr(err.message, "s:6443") != NULL) {
            break; /* the plugin ran: the connection failed next */
        }
        expect_remedy(&err, err.code);
    }
    assert_in_range(left, 4, 15);
}

static void a_port_names_the_limit(void **state)
{
    kl_sim *sim = kl_sim_new(NULL, NULL);
    kl_code code = KL_EIO;
    int left;

    (void)state;
    for (left = 0; code != KL_OK; left++) {
        kl_error err = {0};

        assert_true(left < 16);
        take_descriptors(left);
        code = kl_sim_listen(sim, NULL, &err);
        give_descriptors_back();
        if (code != KL_OK) {
            expect_remedy(&err, KL_EIO);
        }
    }
    kl_sim_unref(sim);
}

/* A client that is opened without descriptors fails with the limit, or works
 * afterwards. */
static void a_client_names_the_limit_or_works(void **state)
{
    const kl_call call = {.method = "GET", .target = "/version"};
    kl_sim *sim = kl_sim_new(NULL, NULL);
    kl_config *config;
    int opened = 0;

    (void)state;
    assert_int_equal(kl_sim_listen(sim, NULL, NULL), KL_OK);
    config = config_load(&(kl_config_options){.server = kl_sim_url(sim)});
    for (int left = 0; left < 8; left++) {
        kl_error err = {0};
        kl_reply reply;
        kl_client *client;

        take_descriptors(left);
        client = kl_client_new(&(kl_client_options){.config = config}, &err);
        give_descriptors_back();
        if (client == NULL) {
            expect_remedy(&err, KL_EIO);
            continue;
        }
        opened++;
        assert_int_equal(kl_client_call(client, &call, &reply, &err), KL_OK);
        kl_reply_clear(&reply);
        kl_client_unref(client);
    }
    assert_true(opened > 0);
    kl_config_unref(config);
    kl_sim_unref(sim);
}

/* Waits until the handler of `live` got an error, and the status has an error
 * that contains `part`. */
static void await_complaint(live_world *live, const char *part)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    kl_informer_status status;
    bool told;

    do {
        if (kl__clock_now(kl__clock_real()) >= deadline) {
            fail_msg("%s, %s", kl_informer_state_name(status.state),
                     status.error.message);
        }
        (void)kl_event_queue_wait(live->queue, WAIT_MS);
        live_world_pull(live);
        kl_informer_status_get(live->informer, &status);
        kl__mutex_lock(&live->mutex);
        told = live->told;
        kl__mutex_unlock(&live->mutex);
    } while (!told || strstr(status.error.message, part) == NULL);
}

static void expect_calm(live_world *live)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + CALM_MS;
    int64_t spent = cpu_ms();

    while (kl__clock_now(kl__clock_real()) < deadline) {
        (void)kl_event_queue_wait(live->queue, WAIT_MS);
        live_world_pull(live);
    }
    assert_in_range(cpu_ms() - spent, 0, CALM_CPU_MS);
}

/* Breaks the informer's connection before taking the descriptors: that frees
 * the client's and, as both are in one process, the server's. */
static void suffer(live_world_way way)
{
    static live_world live;
    int before;

    live_world_open(&live, way);
    before = count_descriptors();
    kl_sim_refuse(live.sim, true);
    await_complaint(&live, "");
    take_descriptors(0);
    live_world_touch(&live, 'c');
    live_world_delete(&live, 'b');
    await_complaint(&live, "ulimit -n");
    expect_calm(&live);
    give_descriptors_back();
    kl_sim_refuse(live.sim, false);
    live_world_assert_whole(&live);
    assert_in_range(count_descriptors(), 0, before + 2);
    live_world_close(&live);
}

static void an_informer_over_http_waits_for_descriptors(void **state)
{
    (void)state;
    suffer(LIVE_WORLD_HTTP);
}

static void an_informer_over_tls_waits_for_descriptors(void **state)
{
    (void)state;
    suffer(LIVE_WORLD_TLS);
}

/* One descriptor is left: the client connects with it, and the server has none
 * to accept with. */
static void a_simulator_without_descriptors_does_not_spin(void **state)
{
    const kl_call call = {
        .method = "GET", .target = "/version", .timeout_ms = CALM_MS};
    static live_world live;
    int64_t spent;
    kl_client *client;
    kl_reply reply;

    (void)state;
    live_world_open(&live, LIVE_WORLD_HTTP);
    client = live_world_connect(&live, LIVE_WORLD_HTTP, NULL);
    take_descriptors(1);
    spent = cpu_ms();
    assert_int_not_equal(kl_client_call(client, &call, &reply, NULL), KL_OK);
    assert_in_range(cpu_ms() - spent, 0, CALM_CPU_MS);
    give_descriptors_back();
    assert_int_equal(kl_client_call(client, &call, &reply, NULL), KL_OK);
    kl_reply_clear(&reply);
    kl_client_unref(client);
    live_world_assert_whole(&live);
    live_world_close(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_names_the_limit),
        SPEC(a_kubeconfig_names_the_limit),
        SPEC(a_client_names_the_limit),
        SPEC(a_certificate_authority_names_the_limit),
        cmocka_unit_test(a_connection_names_the_limit),
        SPEC(a_plugin_names_the_limit),
        cmocka_unit_test(a_port_names_the_limit),
        cmocka_unit_test(a_client_names_the_limit_or_works),
        cmocka_unit_test(an_informer_over_http_waits_for_descriptors),
        cmocka_unit_test(an_informer_over_tls_waits_for_descriptors),
        cmocka_unit_test(a_simulator_without_descriptors_does_not_spin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
