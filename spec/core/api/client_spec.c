/*
 * client_spec.c - a client's requests go to the server that its config names,
 * as the user that it names, and carry what they should; its calls bring whole
 * answers back, and closing it ends everything at once.
 */
#include "api/client.h"

#include "answered.h"
#include "client_rig.h"
#include "failing_alloc.h"
#include "fake_transport.h"

#include "base/clock.h"
#include "kubelua/client.h"
#include "kubelua/log.h"
#include "kubelua/version.h"

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
    kl_error err;
} world;

static int set_up(void **state)
{
    static world shared;

    shared = (world){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    assert_nothing_lives();
    return 0;
}

static void a_call_brings_the_whole_answer(void **state)
{
    world *self = *state;
    kl_call call = {.method = "GET", .target = "/version"};
    kl_reply reply;

    fake_transport_answer(self->fake,
                          &(fake_answer){.target = "/version$",
                                         .body = "{\"major\":\"1\"}",
                                         .type = "text/x",
                                         .chunk = 3});
    assert_int_equal(kl_client_call(self->client, &call, &reply, &self->err),
                     KL_OK);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.content_type, "text/x");
    assert_string_equal(reply.body, "{\"major\":\"1\"}");
    assert_int_equal(reply.body_length, 13);
    kl_reply_clear(&reply);
    assert_null(reply.body);
    assert_true(fake_transport_request(self->fake, 0).is_closed);
}

static void any_status_is_an_answer(void **state)
{
    world *self = *state;
    kl_call call = {.method = "DELETE", .target = "/nowhere"};
    kl_reply reply;

    assert_int_equal(kl_client_call(self->client, &call, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 404);
    assert_string_equal(reply.body, "");
    assert_int_equal(reply.body_length, 0);
    kl_reply_clear(&reply);
}

static void a_request_has_a_user_agent_and_accept_header(void **state)
{
    world *self = *state;
    kl_call call = {.method = "POST",
                    .target = "/api/v1/pods?dryRun=All",
                    .body = "kind: Pod",
                    .body_length = 9,
                    .content_type = "application/yaml"};
    fake_request seen;
    kl_reply reply;

    assert_int_equal(kl_client_call(self->client, &call, &reply, NULL), KL_OK);
    kl_reply_clear(&reply);
    seen = fake_transport_request(self->fake, 0);
    assert_string_equal(seen.method, "POST");
    assert_string_equal(seen.base_url, "");
    assert_string_equal(seen.target, "/api/v1/pods?dryRun=All");
    assert_string_equal(seen.body, "kind: Pod");
    assert_non_null(strstr(seen.headers, "Accept: application/json\n"));
    assert_non_null(strstr(seen.headers, "Content-Type: application/yaml\n"));
    assert_non_null(
        strstr(seen.headers, "User-Agent: kubelua/" KL_VERSION " (linux/"));
}

static void an_invalid_call_is_refused(void **state)
{
    static const kl_call bad[] = {
        {.method = NULL, .target = "/"},
        {.method = "", .target = "/"},
        {.method = "GET /x", .target = "/"},
        {.method = "get", .target = "/"},
        {.method = "GET", .target = NULL},
        {.method = "GET", .target = "version"},
        {.method = "GET", .target = "/a b"},
        {.method = "GET", .target = "/a\r\nHost: b"},
        {.method = "GET", .target = "/", .accept = "a\nb"},
        {.method = "GET", .target = "/", .content_type = "a\rb"},
    };
    world *self = *state;
    kl_reply reply;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(
            kl_client_call(self->client, &bad[i], &reply, &self->err),
            KL_EINVAL);
    }
    assert_int_equal(fake_transport_count(self->fake), 0);
}

static void a_truncated_answer_is_an_error(void **state)
{
    world *self = *state;
    kl_call call = {.method = "GET", .target = "/", .no_retry = true};
    kl_reply reply;

    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "half", .end = FAKE_BREAK});
    assert_int_equal(kl_client_call(self->client, &call, &reply, &self->err),
                     KL_EUNAVAILABLE);
    assert_null(reply.body);
}

static void a_call_ends_when_its_time_is_over(void **state)
{
    world *self = *state;
    kl_call call = {.method = "GET", .target = "/", .timeout_ms = 20};
    kl_reply reply;

    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "x", .end = FAKE_HOLD});
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            kl_client_call(self->client, &call, &reply, &self->err),
            KL_ETIMEOUT);
    }
}

static void a_body_is_read_up_to_its_limit_and_not_beyond(void **state)
{
    world *self = *state;
    kl__request request = {.method = "GET", .target = "/"};
    kl__response response;
    kl__stream *stream;

    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "12345678", .times = 2});
    for (size_t limit = 8; limit >= 7; limit--) {
        kl__buf body = {0};

        assert_int_equal(opened(self->client, &request, NULL, &stream,
                                &response, &self->err),
                         KL_OK);
        assert_int_equal(
            kl__client_read_all(stream, limit, -1, NULL, &body, &self->err),
            limit == 8 ? KL_OK : KL_ETOO_LARGE);
        assert_int_equal(body.length, limit);
        assert_memory_equal(body.bytes, "12345678", limit);
        kl__buf_deinit(&body);
        kl__stream_close(stream);
    }
}

static void *call_for_ever(void *arg)
{
    world *self = arg;
    kl_call call = {.method = "GET", .target = "/", .timeout_ms = 60000};
    kl_reply reply;

    kl_client_call(self->client, &call, &reply, &self->err);
    return NULL;
}

static void closing_ends_a_call_that_waits_and_refuses_later_ones(void **state)
{
    world *self = *state;
    kl_call call = {.method = "GET", .target = "/"};
    kl__thread thread;
    kl_reply reply;
    int64_t began_ms;

    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    assert_int_equal(
        kl__thread_start(&thread, "caller", call_for_ever, self, NULL), KL_OK);
    assert_true(fake_transport_await_reader(self->fake, 0));
    began_ms = kl__clock_now(kl__clock_real());
    kl_client_close(self->client);
    kl__thread_join(&thread);
    assert_int_equal(self->err.code, KL_ECLOSED);
    assert_true(kl__clock_now(kl__clock_real()) - began_ms < 2000);
    assert_int_equal(kl_client_call(self->client, &call, &reply, &self->err),
                     KL_ECLOSED);
    assert_int_equal(fake_transport_count(self->fake), 1);
    kl_client_close(self->client);
}

static void a_fired_token_ends_an_open_that_waits(void **state)
{
    world *self = *state;
    kl__request request = {.method = "GET", .target = "/"};
    kl__response response;
    kl__stream *stream;
    kl__cancel cancel;

    kl__cancel_init(&cancel);
    kl__cancel_fire(&cancel);
    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    assert_int_equal(
        opened(self->client, &request, &cancel, &stream, &response, &self->err),
        KL_ECANCELED);
    assert_null(stream);
    kl__cancel_deinit(&cancel);
}

static int warned;

static void count_warnings(void *context, kl_log_level level,
                           const char *message)
{
    (void)context;
    if (level == KL_LOG_WARN && strstr(message, "v1beta1 is old") != NULL) {
        warned++;
    }
}

static void a_warning_is_logged_once_for_each_text(void **state)
{
    world *self = *state;
    kl_call call = {.method = "GET", .target = "/"};
    kl_reply reply;

    warned = 0;
    kl_set_log(count_warnings, NULL, KL_LOG_WARN);
    fake_transport_answer(
        self->fake, &(fake_answer){.warning = "a/v1beta1 is old", .times = 3});
    fake_transport_answer(
        self->fake, &(fake_answer){.warning = "b/v1beta1 is old", .times = 2});
    for (int i = 0; i < 6; i++) {
        assert_int_equal(kl_client_call(self->client, &call, &reply, NULL),
                         KL_OK);
        kl_reply_clear(&reply);
    }
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_int_equal(warned, 2);
}

static int made, dropped;

static void *make_slot(void)
{
    made++;
    return made == 1 ? NULL : &made;
}

static void drop_slot(void *content)
{
    assert_ptr_equal(content, &made);
    dropped++;
}

static void a_client_slot_is_made_once_and_dropped_with_its_client(void **state)
{
    world *self = *state;
    kl_client *client = client_on(self->fake);

    made = dropped = 0;
    assert_null(kl__client_slot(client, make_slot, drop_slot));
    assert_ptr_equal(kl__client_slot(client, make_slot, drop_slot), &made);
    assert_ptr_equal(kl__client_slot(client, make_slot, drop_slot), &made);
    assert_int_equal(made, 2);
    assert_ptr_equal(kl_client_ref(client), client);
    kl_client_unref(client);
    assert_int_equal(dropped, 0);
    kl_client_unref(client);
    assert_int_equal(dropped, 1);
}

static void without_a_config_the_namespace_is_default(void **state)
{
    world *self = *state;

    assert_string_equal(kl_client_namespace(self->client), "default");
    assert_null(kl_client_server(self->client));
}

static void a_client_without_config_and_transport_is_refused(void **state)
{
    world *self = *state;
    kl_client_options options = {.user_agent = "x"};

    assert_null(kl_client_new(NULL, &self->err));
    assert_int_equal(self->err.code, KL_EINVAL);
    assert_null(kl_client_new(&options, &self->err));
    assert_int_equal(self->err.code, KL_EINVAL);
    options.transport = fake_transport_of(self->fake);
    options.user_agent = "x\r\ny";
    assert_null(kl_client_new(&options, &self->err));
    assert_int_equal(self->err.code, KL_EINVAL);
    kl_client_unref(NULL);
}

static kl_code make_and_call(void *context)
{
    fake_transport *fake = context;
    kl_client_options options = {.transport = fake_transport_of(fake)};
    kl_call call = {.method = "GET", .target = "/"};
    kl_error err;
    kl_reply reply;
    kl_client *client = kl_client_new(&options, &err);

    if (client == NULL) {
        return err.code;
    }
    err.code = kl_client_call(client, &call, &reply, &err);
    kl_reply_clear(&reply);
    kl_client_unref(client);
    return err.code;
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    world *self = *state;

    fake_transport_answer(self->fake, &(fake_answer){.body = "body",
                                                     .warning = "old",
                                                     .times = FAKE_FOREVER});
    assert_true(failing_alloc_each(make_and_call, self->fake) > 5);
}

typedef struct user_world {
    fake_transport *fake;
    kl_client *client;
    char path[64]; /* of the token file, or kubeconfig */
    kl_error err;
} user_world;

static void write_token(user_world *self, const char *token)
{
    FILE *file = fopen(self->path, "w");

    assert_non_null(file);
    assert_true(fputs(token, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void use_config(user_world *self, const kl_config_options *options)
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

static int set_up_user(void **state)
{
    static user_world shared;
    int descriptor;

    shared = (user_world){.fake = fake_transport_new()};
    strcpy(shared.path, "/tmp/kubelua-token-XXXXXX");
    descriptor = mkstemp(shared.path);
    assert_true(descriptor >= 0);
    close(descriptor);
    *state = &shared;
    return 0;
}

static int tear_down_user(void **state)
{
    user_world *self = *state;

    unlink(self->path);
    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    assert_nothing_lives();
    return 0;
}

static int ask(user_world *self)
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

static void ask_in_vain(user_world *self)
{
    kl_call call = {.method = "GET", .target = "/version", .no_retry = true};
    kl_reply reply;

    assert_int_not_equal(kl_client_call(self->client, &call, &reply, NULL),
                         KL_OK);
}

static void expect_header(user_world *self, size_t request, const char *header)
{
    fake_request seen = fake_transport_request(self->fake, request);

    if (strstr(seen.headers, header) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", seen.headers, header);
    }
}

static void a_request_goes_to_the_server_as_the_user(void **state)
{
    user_world *self = *state;
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
    user_world *self = *state;
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
    user_world *self = arg;

    assert_true(fake_transport_await_reader(self->fake, 0));
    write_token(self, "rotated");
    fake_transport_release(self->fake, 0);
    return NULL;
}

static void a_token_that_was_rotated_meanwhile_is_tried_again(void **state)
{
    user_world *self = *state;
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
    user_world *self = *state;
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
    user_world *self = *state;
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
    user_world *self = *state;
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
    user_world *self = arg;
    kl_call version = {.method = "GET", .target = "/version"};
    kl_reply reply;

    kl_client_call(self->client, &version, &reply, &self->err);
    return NULL;
}

static void closing_does_not_wait_for_a_plugin(void **state)
{
    user_world *self = *state;
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

#define USER_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_user, tear_down_user)

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SPEC(a_call_brings_the_whole_answer),
        SPEC(any_status_is_an_answer),
        SPEC(a_request_has_a_user_agent_and_accept_header),
        SPEC(an_invalid_call_is_refused),
        SPEC(a_truncated_answer_is_an_error),
        SPEC(a_call_ends_when_its_time_is_over),
        SPEC(a_body_is_read_up_to_its_limit_and_not_beyond),
        SPEC(closing_ends_a_call_that_waits_and_refuses_later_ones),
        SPEC(a_fired_token_ends_an_open_that_waits),
        SPEC(a_warning_is_logged_once_for_each_text),
        SPEC(a_client_slot_is_made_once_and_dropped_with_its_client),
        SPEC(without_a_config_the_namespace_is_default),
        SPEC(a_client_without_config_and_transport_is_refused),
        SPEC(running_out_of_memory_is_an_error_and_leaks_nothing),
        USER_SPEC(a_request_goes_to_the_server_as_the_user),
        USER_SPEC(a_token_that_cannot_change_is_tried_once),
        USER_SPEC(a_token_that_was_rotated_meanwhile_is_tried_again),
        USER_SPEC(a_token_that_is_rotated_after_a_401_is_noticed),
        USER_SPEC(the_debug_log_shows_requests_and_no_token),
        USER_SPEC(credentials_that_cannot_be_had_are_an_error),
        USER_SPEC(closing_does_not_wait_for_a_plugin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
