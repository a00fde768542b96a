/*
 * client_credentials_spec.c - requests go to the server that the config names,
 * as the user that it names; a 401 is tried once more if that may help.
 */
#include "api/client.h"

#include "base/clock.h"
#include "fake_transport.h"
#include "kubelua/client.h"
#include "kubelua/log.h"
#include "client_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct world {
    fake_transport *fake;
    kl_client *client;
    char path[64]; /* of the token file, or kubeconfig */
    kl_error err;
} world;

static void write_token(world *self, const char *token)
{
    FILE *file = fopen(self->path, "w");

    assert_non_null(file);
    assert_true(fputs(token, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void use_config(world *self, const kl_config_options *options)
{
    kl_error err;
    kl_config *config = kl_config_load(options, &err);
    kl_client_options client = {.config = config,
                                .transport = fake_transport_of(self->fake),
                                .user_agent = "spec/1"};

    if (config == NULL) {
        fail_msg("%s", err.message);
    }
    self->client = kl_client_new(&client, &err);
    assert_non_null(self->client);
    kl_config_unref(config);
}

static int set_up(void **state)
{
    static world shared;
    int descriptor;

    shared = (world){.fake = fake_transport_new()};
    strcpy(shared.path, "/tmp/kubelua-token-XXXXXX");
    descriptor = mkstemp(shared.path);
    assert_true(descriptor >= 0);
    close(descriptor);
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    unlink(self->path);
    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    assert_nothing_lives();
    return 0;
}

static int ask(world *self)
{
    kl_call call = {.method = "GET", .target = "/version"};
    kl_reply reply;
    kl_error err;
    int status;

    if (kl_client_call(self->client, &call, &reply, &err) != KL_OK) {
        fail_msg("%s", err.message);
    }
    status = reply.status;
    kl_reply_clear(&reply);
    return status;
}

static void ask_in_vain(world *self)
{
    kl_call call = {.method = "GET", .target = "/version", .no_retry = true};
    kl_reply reply;

    assert_int_not_equal(kl_client_call(self->client, &call, &reply, NULL),
                         KL_OK);
}

static void expect_header(world *self, size_t request, const char *header)
{
    fake_request seen = fake_transport_request(self->fake, request);

    if (strstr(seen.headers, header) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", seen.headers, header);
    }
}

static void a_request_goes_to_the_server_as_the_user(void **state)
{
    world *self = *state;
    kl_config_options options = {.server = "https://example.com:6443/prefix",
                                 .token = "abc",
                                 .name_space = "shop"};

    use_config(self, &options);
    assert_string_equal(kl_client_namespace(self->client), "shop");
    assert_non_null(strstr(kl_client_server(self->client), "://"));
    fake_transport_answer(self->fake, &(fake_answer){.times = 1});
    assert_int_equal(ask(self), 200);
    assert_string_equal(fake_transport_request(self->fake, 0).base_url,
                        "https://example.com:6443/prefix");
    expect_header(self, 0, "Authorization: Bearer abc\n");
    expect_header(self, 0, "User-Agent: spec/1\n");
}

static void a_token_that_cannot_change_is_tried_once(void **state)
{
    world *self = *state;
    kl_config_options options = {.server = "https://example.com",
                                 .token = "abc"};

    use_config(self, &options);
    fake_transport_answer(self->fake, &(fake_answer){.status = 401});
    assert_int_equal(ask(self), 401);
    assert_int_equal(fake_transport_count(self->fake), 1);
}

/* Rotates the token while the request that carries the old one is on its way,
 * as a kubelet does. */
static void *rotate(void *arg)
{
    world *self = arg;

    assert_true(fake_transport_await_reader(self->fake, 0));
    write_token(self, "rotated");
    fake_transport_release(self->fake, 0);
    return NULL;
}

static void a_token_that_was_rotated_meanwhile_is_tried_again(void **state)
{
    world *self = *state;
    kl_config_options options = {.server = "https://example.com",
                                 .token_file = self->path};
    kl__thread thread;

    write_token(self, "old");
    use_config(self, &options);
    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 401, .holds_head = true});
    fake_transport_answer(self->fake, &(fake_answer){.times = 1});
    assert_int_equal(kl__thread_start(&thread, "rotate", rotate, self, NULL),
                     KL_OK);
    assert_int_equal(ask(self), 200);
    kl__thread_join(&thread);
    assert_int_equal(fake_transport_count(self->fake), 2);
    expect_header(self, 0, "Authorization: Bearer old\n");
    expect_header(self, 1, "Authorization: Bearer rotated\n");
    assert_true(fake_transport_request(self->fake, 0).is_closed);
}

static void a_token_that_is_rotated_after_a_401_is_noticed(void **state)
{
    world *self = *state;
    kl_config_options options = {.server = "https://example.com",
                                 .token_file = self->path};

    write_token(self, "old");
    use_config(self, &options);
    assert_false(kl__client_has_new_credentials(self->client));
    fake_transport_answer(self->fake, &(fake_answer){.status = 401});
    assert_int_equal(ask(self), 401);
    assert_false(kl__client_has_new_credentials(self->client));
    write_token(self, "rotated");
    assert_true(kl__client_has_new_credentials(self->client));
}

/* Lines of the log, one after the other. */
static char logged[2048];

static void keep_line(void *context, kl_log_level level, const char *line)
{
    size_t used = strlen(logged);

    (void)context;
    (void)level;
    snprintf(logged + used, sizeof(logged) - used, "%s\n", line);
}

static void the_debug_log_shows_requests_and_no_token(void **state)
{
    world *self = *state;
    kl_config_options options = {.server = "https://example.com",
                                 .token = "s3cret"};

    use_config(self, &options);
    fake_transport_answer(self->fake, &(fake_answer){.status = 403});
    fake_transport_answer(self->fake,
                          &(fake_answer){.failure = KL_EUNAVAILABLE});
    logged[0] = '\0';
    kl_set_log(keep_line, NULL, KL_LOG_DEBUG);
    assert_int_equal(ask(self), 403);
    ask_in_vain(self);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_non_null(strstr(logged, "GET /version: HTTP 403 in "));
    assert_non_null(strstr(logged, "GET /version: failed in "));
    assert_non_null(strstr(logged, "scripted"));
    assert_null(strstr(logged, "s3cret"));
}

static void credentials_that_cannot_be_had_are_an_error(void **state)
{
    world *self = *state;
    kl_config_options options = {.server = "https://example.com",
                                 .token_file = self->path};
    kl_call call = {.method = "GET", .target = "/version"};
    kl_reply reply;
    kl_error err;

    write_token(self, "two words");
    use_config(self, &options);
    assert_int_equal(kl_client_call(self->client, &call, &reply, &err),
                     KL_ECONFIG);
    assert_non_null(strstr(err.message, self->path));
    assert_int_equal(fake_transport_count(self->fake), 0);
}

/* A kubeconfig whose plugin says through a pipe that it runs, and then does not
 * come back. */
static void write_plugin_config(const char *path, const char *pipe_path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fprintf(file,
            "{\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\","
            "\"context\":{\"cluster\":\"c\",\"user\":\"u\"}}],"
            "\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":"
            "\"https://example.com\"}}],\"users\":[{\"name\":\"u\","
            "\"user\":{\"exec\":{\"apiVersion\":"
            "\"client.authentication.k8s.io/v1\",\"command\":\"sh\","
            "\"interactiveMode\":\"Never\",\"args\":[\"-c\","
            "\"echo runs > %s; exec sleep 60\"]}}}]}",
            pipe_path);
    assert_int_equal(fclose(file), 0);
}

static void *call(void *arg)
{
    world *self = arg;
    kl_call version = {.method = "GET", .target = "/version"};
    kl_reply reply;

    kl_client_call(self->client, &version, &reply, &self->err);
    return NULL;
}

static void closing_does_not_wait_for_a_plugin(void **state)
{
    world *self = *state;
    kl_config_options options = {.kubeconfig = self->path};
    char pipe_path[80];
    kl__thread thread;
    int64_t began_ms;
    FILE *runs;

    snprintf(pipe_path, sizeof(pipe_path), "%s.pipe", self->path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    write_plugin_config(self->path, pipe_path);
    use_config(self, &options);
    assert_int_equal(kl__thread_start(&thread, "caller", call, self, NULL),
                     KL_OK);
    runs = fopen(pipe_path, "r"); /* blocks until the plugin is there */
    assert_non_null(runs);
    began_ms = kl__clock_now(kl__clock_real());
    kl_client_close(self->client);
    kl__thread_join(&thread);
    assert_true(kl__clock_now(kl__clock_real()) - began_ms < 5000);
    assert_int_equal(self->err.code, KL_ECLOSED);
    assert_int_equal(fake_transport_count(self->fake), 0);
    fclose(runs);
    unlink(pipe_path);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SPEC(a_request_goes_to_the_server_as_the_user),
        SPEC(a_token_that_cannot_change_is_tried_once),
        SPEC(a_token_that_was_rotated_meanwhile_is_tried_again),
        SPEC(a_token_that_is_rotated_after_a_401_is_noticed),
        SPEC(the_debug_log_shows_requests_and_no_token),
        SPEC(credentials_that_cannot_be_had_are_an_error),
        SPEC(closing_does_not_wait_for_a_plugin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
