/*
 * request_sender_spec.c - the thread that waits for credentials: a client has
 * it only while something is waited for, and no other client waits with it.
 */
#include "client_rig.h"
#include "http_client.h"

#include "base/clock.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
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

#define TOKEN_ANSWER PLUGIN_ANSWER("\"token\":\"t\"")

typedef request_rig world;

static int set_up_folder(void **state)
{
    void *folder;

    assert_int_equal(temp_files_setup(&folder), 0);
    assert_int_equal(chdir(folder), 0);
    return request_rig_set_up(state);
}

static int tear_down_folder(void **state)
{
    request_rig_tear_down(state);
    assert_int_equal(chdir("/"), 0);
    return temp_files_teardown(NULL);
}

/* A client that shares its thread, with a config that it takes. */
static kl_client *client_with(world *self, kl_config *config)
{
    kl_client *client = kl_client_new(
        &(kl_client_options){.config = config,
                             .transport = fake_transport_of(self->fake),
                             .shares_thread = true},
        NULL);

    assert_non_null(client);
    kl_config_unref(config);
    return client;
}

static kl_client *client_with_user(world *self, const char *user)
{
    return client_with(
        self, config_load(&(kl_config_options){
                  .kubeconfig = kubeconfig_write(PLUGIN_CLUSTER, user)}));
}

static void use(world *self, kl_client *client)
{
    kl_client_unref(self->client);
    self->client = client;
}

static int count_senders(void)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *each;
    int count = 0;

    assert_non_null(threads);
    while ((each = readdir(threads)) != NULL) {
        char path[300], name[32] = "";
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", each->d_name);
        file = fopen(path, "re");
        if (file != NULL) {
            if (fgets(name, sizeof(name), file) != NULL) {
                count += strcmp(name, "kl-sender\n") == 0 ? 1 : 0;
            }
            fclose(file);
        }
    }
    closedir(threads);
    return count;
}

static void await_senders(int count)
{
    int64_t until_ms = kl__clock_now(kl__clock_real()) + 60000;

    while (count_senders() != count) {
        assert_true(kl__clock_now(kl__clock_real()) < until_ms);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
}

static void write_line(const char *name, const char *line)
{
    FILE *pipe = fopen(temp_path(name), "w"); /* blocks until it is read */

    assert_non_null(pipe);
    assert_true(fputs(line, pipe) >= 0);
    fclose(pipe);
}

static void sends_token(world *self, size_t request, const char *token)
{
    fake_request sent = fake_transport_request(self->fake, request);
    char line[64];

    snprintf(line, sizeof(line), "Authorization: Bearer %s\n", token);
    assert_non_null(strstr(sent.headers, line));
}

static void files_are_read_without_a_thread(void **state)
{
    world *self = *state;
    kl_request *request;

    temp_write("token", "one");
    use(self, client_with_user(self, "{tokenFile: token}"));
    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    request = request_send_it(self, "GET", "/");
    assert_true(fake_transport_await(self->fake, 1));
    assert_int_equal(count_senders(), 0);
    fake_transport_release(self->fake, 0);
    assert_int_equal(request_status_of(self, request), 200);
    sends_token(self, 0, "one");
    temp_write("token", "another");
    assert_int_equal(request_status_of(self, request_send_it(self, "GET", "/")),
                     404);
    sends_token(self, 1, "another");
}

static void the_thread_ends_when_the_plugin_has_answered(void **state)
{
    world *self = *state;
    kl_request *request;

    assert_int_equal(mkfifo(temp_path("pipe"), 0600), 0);
    use(self,
        client_with(self, plugin_config(
                              "read go < pipe; echo '" TOKEN_ANSWER "'", "")));
    request = request_send_it(self, "GET", "/");
    await_senders(1);
    write_line("pipe", "go\n");
    assert_int_equal(request_status_of(self, request), 404);
    await_senders(0);
    /* the credential is still good, so no thread is needed */
    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    request = request_send_it(self, "GET", "/");
    assert_true(fake_transport_await(self->fake, 2));
    assert_int_equal(count_senders(), 0);
    fake_transport_release(self->fake, 1);
    assert_int_equal(request_status_of(self, request), 200);
    sends_token(self, 1, "t");
    assert_int_equal(temp_count_lines("runs"), 1);
}

static void requests_that_come_while_the_plugin_runs_go_with_it(void **state)
{
    enum { MANY = 20 };
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/"};
    kl_request *requests[MANY];
    int tags[MANY];

    assert_int_equal(mkfifo(temp_path("pipe"), 0600), 0);
    use(self,
        client_with(self, plugin_config(
                              "read go < pipe; echo '" TOKEN_ANSWER "'", "")));
    for (int i = 0; i < MANY; i++) {
        requests[i] = request_send_call(self, &call, &tags[i]);
        await_senders(1);
    }
    write_line("pipe", "go\n");
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(kl_request_wait(requests[i], 60000), KL_OK);
        kl_request_free(requests[i]);
    }
    assert_int_equal(fake_transport_count(self->fake), MANY);
    await_senders(0);
}

/* Each 401 starts the thread anew: it must have let go of the former one. */
static void each_refusal_looks_for_another_token(void **state)
{
    enum { TIMES = 20 };
    world *self = *state;

    temp_write("token", "0");
    use(self, client_with_user(self, "{tokenFile: token}"));
    for (int i = 1; i <= TIMES; i++) {
        kl_request *request;
        char token[16];

        fake_transport_answer(
            self->fake, &(fake_answer){.status = 401, .holds_head = true});
        request = request_send_it(self, "GET", "/");
        assert_true(fake_transport_await(self->fake, 2 * (size_t)i - 1));
        temp_printf("token", "%d", i);
        fake_transport_release(self->fake, 2 * (size_t)i - 2);
        assert_int_equal(request_status_of(self, request), 404);
        snprintf(token, sizeof(token), "%d", i);
        sends_token(self, 2 * (size_t)i - 1, token);
    }
    await_senders(0);
}

/* A pipe, with a writer: one that has none is at its end. */
static int make_pipe(const char *name)
{
    int pipe;

    assert_int_equal(mkfifo(temp_path(name), 0600), 0);
    pipe = open(temp_path(name), O_RDWR | O_CLOEXEC);
    assert_true(pipe >= 0);
    return pipe;
}

static void a_token_in_a_pipe_holds_up_no_other_client(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/"};
    kl_client *slow;
    kl_request *waits;
    char tag;
    int pipe = make_pipe("token");

    slow = client_with_user(self, "{tokenFile: token}");
    temp_write("other", "other");
    use(self, client_with_user(self, "{tokenFile: other}"));
    waits = kl_client_send(slow, &call, self->queue, &tag, NULL);
    assert_non_null(waits);
    await_senders(1);
    assert_int_equal(request_status_of(self, request_send_it(self, "GET", "/")),
                     404);
    sends_token(self, 0, "other");
    assert_int_equal(write(pipe, "slow", 4), 4);
    close(pipe);
    assert_int_equal(kl_request_wait(waits, 60000), KL_OK);
    sends_token(self, 1, "slow");
    kl_request_free(waits);
    kl_client_unref(slow);
    await_senders(0);
}

/* Frees the client whose sender waits for a pipe that this process holds open,
 * and writes nothing into. Without a cancel this would never end. */
static void ends_in_spite_of(world *self, int pipe, kl_request *request)
{
    int64_t began_ms;

    await_senders(1);
    kl_request_free(request);
    began_ms = kl__clock_now(kl__clock_real());
    kl_client_unref(self->client);
    self->client = NULL;
    assert_true(kl__clock_now(kl__clock_real()) - began_ms < 5000);
    close(pipe);
}

static void a_client_freed_while_a_pipe_is_silent_ends_at_once(void **state)
{
    world *self = *state;
    int pipe = make_pipe("token");

    use(self, client_with_user(self, "{tokenFile: token}"));
    ends_in_spite_of(self, pipe, request_send_it(self, "GET", "/"));
    assert_int_equal(fake_transport_count(self->fake), 0);
}

/* The same while the pipe is read for another token, after a 401. */
static void a_refused_token_in_a_silent_pipe_holds_up_no_end(void **state)
{
    world *self = *state;
    kl_request *request;
    int pipe;

    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 401, .holds_head = true});
    pipe = make_pipe("token");
    use(self, client_with_user(self, "{tokenFile: token}"));
    request = request_send_it(self, "GET", "/");
    await_senders(1);
    assert_int_equal(write(pipe, "one", 3), 3);
    close(pipe);
    assert_true(fake_transport_await(self->fake, 1));
    await_senders(0);
    pipe = open(temp_path("token"), O_RDWR | O_CLOEXEC);
    assert_true(pipe >= 0);
    fake_transport_release(self->fake, 0);
    ends_in_spite_of(self, pipe, request);
    assert_int_equal(fake_transport_count(self->fake), 1);
}

#define RIG_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_folder, tear_down_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_SPEC(files_are_read_without_a_thread),
        RIG_SPEC(the_thread_ends_when_the_plugin_has_answered),
        RIG_SPEC(requests_that_come_while_the_plugin_runs_go_with_it),
        RIG_SPEC(each_refusal_looks_for_another_token),
        RIG_SPEC(a_token_in_a_pipe_holds_up_no_other_client),
        RIG_SPEC(a_client_freed_while_a_pipe_is_silent_ends_at_once),
        RIG_SPEC(a_refused_token_in_a_silent_pipe_holds_up_no_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
