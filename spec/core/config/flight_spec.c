/*
 * flight_spec.c - if many threads ask for credentials at the same time, the
 * plugin runs once, and each thread can be cancelled by itself.
 */
#include "base/clock.h"
#include "base/thread.h"
#include "config/credentials.h"
#include "config/load.h"
#include "kubelua/memory.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* spec/core/cancel holds every call to 50 ms of its own time; this is by the
 * clock of a machine that has other work. */
enum { THREADS = 8, ROUNDS = 200, CANCEL_MS = 1000 };

typedef struct asker {
    kl_config *config;
    kl__cancel *cancel;
    kl__thread thread;
    kl_code code;
    kl_error err;
    bool rejects; /* reports what it got as rejected, and asks again */
} asker;

static void *ask(void *arg)
{
    asker *self = arg;
    kl__credentials credentials;

    self->code = kl__config_credentials(self->config, &credentials,
                                        self->cancel, &self->err);
    if (self->code == KL_OK && self->rejects) {
        kl__config_rejected(self->config, credentials.generation, NULL);
        kl__credentials_clear(&credentials);
        self->code = kl__config_credentials(self->config, &credentials,
                                            self->cancel, &self->err);
    }
    kl__credentials_clear(&credentials);
    return NULL;
}

static void start(asker *self)
{
    assert_int_equal(kl__thread_start(&self->thread, "asker", ask, self, NULL),
                     KL_OK);
}

/* Waits until a plugin that begins with `echo > begun` runs, at most 60 s. */
static void await_file(const char *name)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;
    struct stat status;

    while (stat(temp_path(name), &status) != 0) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        usleep(1000);
    }
}

/* A plugin that writes the file "begun", waits for the file "gate", and then
 * does what `answer` says. */
static kl_config *gated(const char *answer)
{
    char body[900];

    snprintf(body, sizeof(body),
             "echo > '%s'\nwhile [ ! -e '%s' ]; do sleep 0.01; done\n%s",
             temp_path("begun"), temp_path("gate"), answer);
    return plugin_config(body, "");
}

static void concurrent_calls_run_the_plugin_once(void **state)
{
    kl_config *config = gated("echo '" PLUGIN_ANSWER("\"token\":\"t\"") "'");
    asker askers[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (asker){.config = config};
        start(&askers[i]);
    }
    await_file("begun");
    temp_write("gate", "");
    for (int i = 0; i < THREADS; i++) {
        kl__thread_join(&askers[i].thread);
        assert_int_equal(askers[i].code, KL_OK);
    }
    assert_int_equal(temp_count_lines("runs"), 1);
    kl_config_unref(config);
}

static void waiting_calls_get_the_plugins_failure(void **state)
{
    kl_config *config = gated("echo no such account >&2; exit 1");
    asker first = {.config = config};
    asker waiters[THREADS];

    (void)state;
    start(&first);
    await_file("begun");
    for (int i = 0; i < THREADS; i++) {
        waiters[i] = (asker){.config = config};
        start(&waiters[i]);
    }
    temp_write("gate", "");
    kl__thread_join(&first.thread);
    assert_int_equal(first.code, KL_ECONFIG);
    for (int i = 0; i < THREADS; i++) {
        kl__thread_join(&waiters[i].thread);
        assert_int_equal(waiters[i].code, KL_ECONFIG);
        assert_non_null(strstr(waiters[i].err.message, "no such account"));
    }
    /* one that came too late to wait runs it for itself and the others */
    assert_in_range(temp_count_lines("runs"), 1, THREADS + 1);
    kl_config_unref(config);
}

static void cancelling_kills_the_plugin_at_once(void **state)
{
    kl_config *config = gated("");
    kl__clock *clock = kl__clock_real();
    kl__cancel cancel;
    asker self = {.config = config, .cancel = &cancel};
    int64_t begun, took;

    (void)state;
    kl__cancel_init(&cancel);
    start(&self);
    await_file("begun");
    begun = kl__clock_now(clock);
    kl__cancel_fire(&cancel);
    kl__thread_join(&self.thread);
    took = kl__clock_now(clock) - begun;
    assert_int_equal(self.code, KL_ECANCELED);
    assert_in_range(took, 0, CANCEL_MS);
    kl__cancel_deinit(&cancel);
    kl_config_unref(config);
}

static void a_waiting_call_can_be_cancelled_by_itself(void **state)
{
    kl_config *config = gated("echo '" PLUGIN_ANSWER("\"token\":\"t\"") "'");
    kl__cancel cancel;
    asker runner = {.config = config};
    asker waiter = {.config = config, .cancel = &cancel};

    (void)state;
    kl__cancel_init(&cancel);
    start(&runner);
    await_file("begun");
    start(&waiter);
    kl__cancel_fire(&cancel);
    kl__thread_join(&waiter.thread);
    assert_int_equal(waiter.code, KL_ECANCELED);
    temp_write("gate", "");
    kl__thread_join(&runner.thread);
    assert_int_equal(runner.code, KL_OK);
    assert_int_equal(temp_count_lines("runs"), 1);
    kl__cancel_deinit(&cancel);
    kl_config_unref(config);
}

static void
a_waiting_call_runs_the_plugin_if_the_runner_is_cancelled(void **state)
{
    kl_config *config = gated("echo '" PLUGIN_ANSWER("\"token\":\"t\"") "'");
    kl__cancel cancel;
    asker runner = {.config = config, .cancel = &cancel};
    asker waiter = {.config = config};

    (void)state;
    kl__cancel_init(&cancel);
    start(&runner);
    await_file("begun");
    start(&waiter);
    assert_int_equal(unlink(temp_path("begun")), 0);
    kl__cancel_fire(&cancel);
    kl__thread_join(&runner.thread);
    assert_int_equal(runner.code, KL_ECANCELED);
    await_file("begun");
    temp_write("gate", "");
    kl__thread_join(&waiter.thread);
    assert_int_equal(waiter.code, KL_OK);
    assert_int_equal(temp_count_lines("runs"), 2);
    kl__cancel_deinit(&cancel);
    kl_config_unref(config);
}

static void an_already_cancelled_call_does_not_run_the_plugin(void **state)
{
    kl_config *config = plugin_answering("\"token\":\"t\"");
    kl__credentials credentials;
    kl__cancel cancel;

    (void)state;
    kl__cancel_init(&cancel);
    kl__cancel_fire(&cancel);
    assert_int_equal(
        kl__config_credentials(config, &credentials, &cancel, NULL),
        KL_ECANCELED);
    assert_int_equal(temp_count_lines("runs"), 0);
    kl__cancel_deinit(&cancel);
    kl_config_unref(config);
}

static void several_401s_run_the_plugin_once_more(void **state)
{
    kl_config *config = plugin_answering("\"token\":\"t\"");
    asker askers[THREADS];
    kl__credentials credentials;
    uint64_t generation;

    (void)state;
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, NULL),
                     KL_OK);
    generation = credentials.generation;
    kl__credentials_clear(&credentials);
    for (int i = 0; i < THREADS; i++) {
        assert_true(kl__config_rejected(config, generation, NULL));
    }
    for (int i = 0; i < THREADS; i++) {
        askers[i] = (asker){.config = config};
        start(&askers[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        kl__thread_join(&askers[i].thread);
        assert_int_equal(askers[i].code, KL_OK);
        assert_true(kl__config_rejected(config, generation, NULL));
    }
    assert_int_equal(temp_count_lines("runs"), 2);
    kl_config_unref(config);
}

/* A token is revoked: requests of informers and of scripts get their 401s one
 * after the other, some while the plugin runs already for the first. */
static void a_401_while_the_plugin_runs_does_not_run_it_once_more(void **state)
{
    kl_config *config = gated("echo '" PLUGIN_ANSWER("\"token\":\"t\"") "'");
    asker self = {.config = config};
    kl__credentials credentials;
    uint64_t generation;

    (void)state;
    temp_write("gate", "");
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, NULL),
                     KL_OK);
    generation = credentials.generation;
    kl__credentials_clear(&credentials);
    assert_int_equal(unlink(temp_path("gate")), 0);
    assert_int_equal(unlink(temp_path("begun")), 0);
    assert_true(kl__config_rejected(config, generation, NULL));
    start(&self);
    await_file("begun");
    assert_true(kl__config_rejected(config, generation, NULL));
    temp_write("gate", "");
    kl__thread_join(&self.thread);
    assert_int_equal(self.code, KL_OK);
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, NULL),
                     KL_OK);
    assert_int_equal(credentials.generation, generation + 1);
    kl__credentials_clear(&credentials);
    assert_int_equal(temp_count_lines("runs"), 2);
    /* the new credential is rejected as any other */
    assert_true(kl__config_rejected(config, generation + 1, NULL));
    assert_int_equal(kl__config_credentials(config, &credentials, NULL, NULL),
                     KL_OK);
    kl__credentials_clear(&credentials);
    assert_int_equal(temp_count_lines("runs"), 3);
    kl_config_unref(config);
}

static atomic_bool done;
static atomic_int wrong; /* cmocka's assertions are for the main thread */

static void *rotate(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        char from[300];

        snprintf(from, sizeof(from), "%s",
                 temp_write("new", i % 2 != 0 ? "a" : "b"));
        if (rename(from, temp_path("token")) != 0) {
            atomic_fetch_add(&wrong, 1);
        }
    }
    atomic_store(&done, true);
    return NULL;
}

static void *ask_until_done(void *arg)
{
    kl_config *config = arg;

    while (!atomic_load(&done)) {
        kl__credentials credentials;

        if (kl__config_credentials(config, &credentials, NULL, NULL) != KL_OK ||
            (strcmp(credentials.headers[0].value, "Bearer a") != 0 &&
             strcmp(credentials.headers[0].value, "Bearer b") != 0)) {
            atomic_fetch_add(&wrong, 1);
        }
        kl__config_rejected(config, credentials.generation, NULL);
        kl__credentials_clear(&credentials);
    }
    return NULL;
}

static void a_token_file_may_rotate_under_many_readers(void **state)
{
    kl_config_options options = {.kubeconfig = NULL};
    kl__thread threads[THREADS + 1];
    kl_config *config;

    (void)state;
    temp_write("token", "a");
    options.kubeconfig = kubeconfig_write(PLUGIN_CLUSTER, "{tokenFile: token}");
    config = config_load(&options);
    atomic_store(&done, false);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(kl__thread_start(&threads[i], "reader", ask_until_done,
                                          config, NULL),
                         KL_OK);
    }
    assert_int_equal(
        kl__thread_start(&threads[THREADS], "rotator", rotate, NULL, NULL),
        KL_OK);
    for (int i = 0; i <= THREADS; i++) {
        kl__thread_join(&threads[i]);
    }
    kl_config_unref(config);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(concurrent_calls_run_the_plugin_once),
        SPEC(waiting_calls_get_the_plugins_failure),
        SPEC(cancelling_kills_the_plugin_at_once),
        SPEC(a_waiting_call_can_be_cancelled_by_itself),
        SPEC(a_waiting_call_runs_the_plugin_if_the_runner_is_cancelled),
        SPEC(an_already_cancelled_call_does_not_run_the_plugin),
        SPEC(several_401s_run_the_plugin_once_more),
        SPEC(a_401_while_the_plugin_runs_does_not_run_it_once_more),
        SPEC(a_token_file_may_rotate_under_many_readers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
