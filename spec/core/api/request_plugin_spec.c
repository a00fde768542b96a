/*
 * request_plugin_spec.c - requests that wait for an exec credential plugin:
 * other requests do not wait for it, and the plugin ends with the last request
 * that needs it.
 */
#include "client_rig.h"
#include "http_client.h"

#include "base/clock.h"
#include "kubelua/memory.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Writes its process number, and does not come back. */
#define HANGS "echo $$ > pid; exec sleep 1000"
/* The first run answers, the others hang. */
#define HANGS_LATER                                          \
    "if [ $(wc -l < runs) = 1 ]; then echo '" PLUGIN_ANSWER( \
        "\"token\":\"t\"") "'; exit; fi; " HANGS
/* Waits to be told, by a line in the pipe. */
#define WAITS                                   \
    "read go < pipe; echo '" PLUGIN_ANSWER(     \
        "\"token\":\"t\",\"expirationTimestamp" \
        "\":\"2120-01-01T00:00:00Z\"") "'"

typedef request_rig world;

static int set_up_plugin(void **state)
{
    void *folder;

    assert_int_equal(temp_files_setup(&folder), 0);
    assert_int_equal(chdir(folder), 0);
    return request_rig_set_up(state);
}

static int tear_down_plugin(void **state)
{
    request_rig_tear_down(state);
    assert_int_equal(chdir("/"), 0);
    return temp_files_teardown(NULL);
}

/* Gives the rig a client whose user has a plugin. */
static void use_plugin(world *self, const char *body)
{
    kl_config *config = plugin_config(body, "");

    kl_client_unref(self->client);
    self->client = kl_client_new(
        &(kl_client_options){.config = config,
                             .transport = fake_transport_of(self->fake),
                             .shares_thread = clients_share_a_thread()},
        NULL);
    assert_non_null(self->client);
    kl_config_unref(config);
}

static void pause_briefly(void)
{
    nanosleep(&(struct timespec){0, 2000000}, NULL);
}

static int64_t soon_ms(void)
{
    return kl__clock_now(kl__clock_real()) + 60000;
}

/* The plugin's process, once it runs. */
static pid_t await_plugin(void)
{
    int64_t until_ms = soon_ms();
    long pid = 0;

    while (pid == 0) {
        FILE *file = fopen(temp_path("pid"), "r");
        char line[32] = "";

        assert_true(kl__clock_now(kl__clock_real()) < until_ms);
        if (file != NULL) {
            if (fgets(line, sizeof(line), file) != NULL &&
                strchr(line, '\n') != NULL) {
                pid = strtol(line, NULL, 10);
            }
            fclose(file);
        }
        pause_briefly();
    }
    return (pid_t)pid;
}

static void await_gone(pid_t pid)
{
    int64_t until_ms = soon_ms();

    while (kill(pid, 0) == 0 || errno != ESRCH) {
        assert_true(kl__clock_now(kl__clock_real()) < until_ms);
        pause_briefly();
    }
}

static void cancelling_the_last_request_ends_the_plugin(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/"};
    kl_request *post, *get;
    char tag;
    pid_t pid;

    use_plugin(self, HANGS);
    post = request_send_it(self, "POST", "/");
    pid = await_plugin();
    get = request_send_call(self, &call, &tag);
    kl_request_cancel(post);
    assert_int_equal(request_failure_of(self, post), KL_ECANCELED);
    assert_int_equal(kill(pid, 0), 0); /* the other one waits for it */
    kl_request_free(get);
    await_gone(pid);
    assert_int_equal(fake_transport_count(self->fake), 0);
}

static void closing_the_client_ends_the_plugin(void **state)
{
    world *self = *state;
    kl_request *request;
    pid_t pid;

    use_plugin(self, HANGS);
    request = request_send_it(self, "POST", "/");
    pid = await_plugin();
    kl_client_close(self->client);
    assert_int_equal(request_failure_of(self, request), KL_ECLOSED);
    await_gone(pid);
}

static void the_last_reference_to_a_client_ends_the_plugin(void **state)
{
    world *self = *state;
    kl_request *request;
    pid_t pid;

    use_plugin(self, HANGS);
    request = request_send_it(self, "POST", "/");
    pid = await_plugin();
    kl_client_unref(self->client);
    self->client = NULL;
    kl_request_free(request); /* joins the threads */
    await_gone(pid);
}

static void a_timeout_names_the_plugin_and_does_not_end_it(void **state)
{
    world *self = *state;
    kl_call call = {.method = "POST", .target = "/", .timeout_ms = 20};
    int64_t until_ms = soon_ms();
    FILE *pipe;

    assert_int_equal(mkfifo(temp_path("pipe"), 0600), 0);
    use_plugin(self, WAITS);
    /* The first may be over before the plugin runs. */
    do {
        assert_true(kl__clock_now(kl__clock_real()) < until_ms);
        assert_int_equal(
            request_failure_of(self, request_send_call(self, &call, self)),
            KL_ETIMEOUT);
    } while (strstr(self->err.message, "/plugin") == NULL);
    call.timeout_ms = 0;
    pipe = fopen(temp_path("pipe"), "w"); /* blocks until it is read */
    assert_non_null(pipe);
    assert_true(fputs("go\n", pipe) >= 0);
    fclose(pipe);
    assert_int_equal(
        request_status_of(self, request_send_call(self, &call, self)), 404);
    assert_int_equal(temp_count_lines("runs"), 1);
    assert_int_equal(fake_transport_count(self->fake), 1);
}

/* No request needs the plugin any more, but the sender waits for it. */
static void a_client_freed_after_a_timeout_ends_the_plugin(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/", .timeout_ms = 1000};
    kl_request *request;
    int64_t began_ms;
    pid_t pid;

    use_plugin(self, HANGS);
    request = request_send_call(self, &call, self);
    pid = await_plugin();
    assert_int_equal(request_failure_of(self, request), KL_ETIMEOUT);
    assert_int_equal(kill(pid, 0), 0);
    began_ms = kl__clock_now(kl__clock_real());
    kl_client_unref(self->client);
    self->client = NULL;
    assert_true(kl__clock_now(kl__clock_real()) - began_ms < 5000);
    await_gone(pid);
}

static void requests_in_flight_do_not_wait_for_a_plugin(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/"};
    kl_request *waits, *flies;
    char tag;
    pid_t pid;

    use_plugin(self, HANGS_LATER);
    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    /* The second is refused, so that it asks the plugin again. */
    fake_transport_answer(self->fake, &(fake_answer){.status = 401});
    flies = request_send_it(self, "GET", "/");
    assert_true(fake_transport_await(self->fake, 1));
    waits = request_send_call(self, &call, &tag);
    pid = await_plugin();
    fake_transport_release(self->fake, 0);
    assert_int_equal(request_status_of(self, flies), 200);
    assert_int_equal(kill(pid, 0), 0);
    kl_request_free(waits);
    await_gone(pid);
}

static void a_plugin_delays_no_other_client(void **state)
{
    world *self = *state;
    kl_client *slow;
    kl_request *waits;
    char tag;
    pid_t pid;
    const kl_call call = {.method = "GET", .target = "/"};

    use_plugin(self, HANGS);
    slow = self->client;
    waits = kl_client_send(slow, &call, self->queue, &tag, NULL);
    assert_non_null(waits);
    pid = await_plugin();
    self->client = kl_client_new(
        &(kl_client_options){.transport = fake_transport_of(self->fake),
                             .shares_thread = clients_share_a_thread()},
        NULL);
    assert_int_equal(request_status_of(self, request_send_it(self, "GET", "/")),
                     404);
    assert_int_equal(kill(pid, 0), 0);
    kl_request_free(waits);
    kl_client_unref(slow);
    await_gone(pid);
}

#define RIG_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_plugin, tear_down_plugin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_SPEC(cancelling_the_last_request_ends_the_plugin),
        RIG_SPEC(closing_the_client_ends_the_plugin),
        RIG_SPEC(the_last_reference_to_a_client_ends_the_plugin),
        RIG_SPEC(a_timeout_names_the_plugin_and_does_not_end_it),
        RIG_SPEC(a_client_freed_after_a_timeout_ends_the_plugin),
        RIG_SPEC(requests_in_flight_do_not_wait_for_a_plugin),
        RIG_SPEC(a_plugin_delays_no_other_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
