/*
 * shared_informer_spec.c - from a source to a handler: the cache, the events,
 * the status (of an exec credential plugin that is waited for, too) and the
 * waits; and the one place that knows if an informer has synced or ended, and
 * which error stands.
 */
#include "informer_world.h"
#include "kubeconfigs.h"
#include "temp_files.h"

#include "base/clock.h"
#include "base/mem.h"
#include "informer/health.h"
#include "kubelua/handler.h"
#include "kubelua/informer.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void the_cache_holds_the_first_list(void **state)
{
    informer_world *self = *state;
    kl_object_list list = {0};
    kl_object *object;
    char version[8];

    informer_world_open(self, "");
    assert_false(kl_informer_has_synced(self->informer));
    kl_informer_resource_version(self->informer, version, sizeof(version));
    assert_string_equal(version, "");
    scripted_source_feed(self->source, "web/b@2 web/a@1 db/c@3 =10");
    informer_world_await_synced(self);
    assert_true(kl_informer_has_synced(self->informer));
    assert_int_equal(kl_informer_count(self->informer), 3);
    kl_informer_resource_version(self->informer, version, sizeof(version));
    assert_string_equal(version, "10");
    object = kl_informer_get(self->informer, "db/c");
    assert_string_equal(kl_object_resource_version(object), "3");
    kl_object_unref(object);
    assert_null(kl_informer_get(self->informer, "db/d"));
    assert_int_equal(kl_informer_list(self->informer, "web", NULL, &list, NULL),
                     KL_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(kl_object_key(list.items[0]), "web/a");
    kl_object_list_clear(&list);
}

static void a_handler_sees_every_change_in_order(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "");
    informer_world_add_handler(self, NULL);
    scripted_source_feed(self->source,
                         "a@1 b@2 =10; +c@11 ~a@12 -b@13 +b#again@14");
    informer_world_expect(
        self, 7,
        "+a@1 initial; +b@2 initial; synced; +c@11; ~a@1>12; -b@13; +b@14");
}

static void a_late_handler_repeats_no_error_that_is_over(void **state)
{
    informer_world *self = *state;
    event_record late;
    kl_handler handler = event_record_handler(&late);
    char *text;

    event_record_init(&late);
    informer_world_open(self, "!unavailable; a@1 =10; ok");
    informer_world_add_handler(self, NULL);
    informer_world_pass_backoff(self);
    informer_world_expect(self, 3, "!unavailable; +a@1 initial; synced");
    assert_non_null(
        kl_informer_add_handler(self->informer, &handler, NULL, NULL));
    assert_true(event_record_await(&late, 2));
    scripted_source_feed(self->source, " +b@11");
    informer_world_expect(self, 4, "!unavailable; +a@1 initial; synced; +b@11");
    assert_true(event_record_await(&late, 3));
    text = event_record_text(&late);
    assert_string_equal(text, "+a@1 initial; synced; +b@11");
    kl__free(text);
    kl_registration_remove(self->registration);
    self->registration = NULL;
    kl_informer_close(self->informer);
    self->informer = NULL;
    event_record_deinit(&late);
}

static void a_late_handler_is_replayed_the_cache(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "a@1 b@2 =10; +c@11");
    informer_world_await_synced(self);
    assert_true(scripted_source_await_played(self->source));
    while (kl_informer_count(self->informer) < 3) {
        assert_true(kl__clock_await_waiters(self->clock, 1));
    }
    informer_world_add_handler(self, NULL);
    assert_true(event_record_await(&self->record, 4));
    assert_true(kl_registration_has_synced(self->registration));
    scripted_source_feed(self->source, " -a@12");
    assert_true(event_record_await(&self->record, 5));
    {
        char *text = event_record_text(&self->record);

        assert_non_null(strstr(text, "+c@11 initial"));
        assert_string_equal(text + strlen(text) - 13, "synced; -a@12");
        kl__free(text);
    }
}

static void a_reconnect_delivers_only_the_differences(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "");
    informer_world_add_handler(self, NULL);
    scripted_source_feed(self->source,
                         "same@1 newer@2 gone@3 other#old@4 =10; ok");
    assert_true(event_record_await(&self->record, 5));
    assert_true(scripted_source_await(self->source, 3));
    scripted_source_feed(self->source,
                         " !gone; same@1 newer@12 other#new@13 added@14 =20");
    informer_world_pass_backoff(self);
    informer_world_expect(
        self, 11,
        "+same@1 initial; +newer@2 initial; +gone@3 initial; "
        "+other@4 initial; synced; !gone; -gone@3 unknown; "
        "-other@4 unknown; ~newer@2>12; +other@13; +added@14");
}

static void bookmarks_move_the_version_of_the_cache(void **state)
{
    informer_world *self = *state;
    char version[8] = "";

    informer_world_open(self, "a@1 =10; ^25");
    informer_world_await_synced(self);
    while (strcmp(version, "25") != 0) {
        assert_true(kl__clock_await_waiters(self->clock, 1));
        kl_informer_resource_version(self->informer, version, sizeof(version));
    }
}

static void an_error_is_reported_once(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "");
    informer_world_add_handler(self, NULL);
    scripted_source_feed(self->source,
                         "!forbidden:403; !forbidden:403; a@1 =10");
    informer_world_pass_backoff(self);
    assert_true(scripted_source_await(self->source, 3));
    informer_world_pass_backoff(self);
    informer_world_expect(self, 3, "!forbidden; +a@1 initial; synced");
}

static void a_handler_added_during_an_error_gets_it(void **state)
{
    informer_world *self = *state;
    event_record late;
    kl_handler handler;
    kl_registration *registration;

    informer_world_open(self, "!forbidden:403");
    informer_world_add_handler(self, NULL);
    assert_true(event_record_await(&self->record, 1));
    event_record_init(&late);
    handler = event_record_handler(&late);
    registration =
        kl_informer_add_handler(self->informer, &handler, NULL, NULL);
    assert_true(event_record_await(&late, 1));
    informer_world_expect(self, 1, "!forbidden"); /* once */
    kl_registration_remove(registration);
    event_record_deinit(&late);
}

static void a_handler_added_after_recovery_gets_no_error(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "!forbidden:403; a@1 =10; +b@11");
    informer_world_pass_backoff(self);
    assert_true(scripted_source_await_played(self->source));
    while (kl_informer_count(self->informer) < 2) {
        assert_true(kl__clock_await_waiters(self->clock, 1));
    }
    informer_world_add_handler(self, NULL);
    assert_true(event_record_await(&self->record, 3));
    scripted_source_feed(self->source, " -b@12");
    assert_true(event_record_await(&self->record, 4));
    {
        char *text = event_record_text(&self->record);

        assert_null(strchr(text, '!'));
        kl__free(text);
    }
}

static void resync_replays_the_cache_on_its_period(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "a@1 =10; ok");
    informer_world_add_handler(self, &(kl_handler_options){.resync_ms = 2000});
    assert_true(event_record_await(&self->record, 2));
    for (int tick = 1; tick <= 3; tick++) {
        assert_true(kl__clock_await_waiters(self->clock, 2));
        kl__clock_advance(self->clock, 2000);
        assert_true(event_record_await(&self->record, 2 + tick));
    }
    informer_world_expect(self, 5,
                          "+a@1 initial; synced; ~a@1>1; ~a@1>1; ~a@1>1");
}

static void a_handler_that_comes_late_is_resynced_too(void **state)
{
    informer_world *self = *state;

    informer_world_open(self, "a@1 =10; ok");
    informer_world_await_synced(self);
    informer_world_add_handler(self, &(kl_handler_options){.resync_ms = 2000});
    assert_true(event_record_await(&self->record, 2));
    /* The reflector, and now the informer's thread too. */
    assert_true(kl__clock_await_waiters(self->clock, 2));
    kl__clock_advance(self->clock, 2000);
    informer_world_expect(self, 3, "+a@1 initial; synced; ~a@1>1");
}

static void an_informer_gives_its_handlers_a_resync_period(void **state)
{
    informer_world *self = *state;

    self->resync_ms = 3000;
    informer_world_open(self, "a@1 =10; ok");
    informer_world_await_synced(self);
    informer_world_add_handler(self, NULL);
    assert_true(event_record_await(&self->record, 2));
    assert_true(kl__clock_await_waiters(self->clock, 2));
    kl__clock_advance(self->clock, 3000);
    informer_world_expect(self, 3, "+a@1 initial; synced; ~a@1>1");
}

static void a_handler_can_refuse_the_resync_period(void **state)
{
    informer_world *self = *state;

    self->resync_ms = 3000;
    informer_world_open(self, "a@1 =10; ok");
    informer_world_await_synced(self);
    informer_world_add_handler(self, &(kl_handler_options){.resync_ms = -1});
    assert_true(event_record_await(&self->record, 2));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    kl__clock_advance(self->clock, 3000);
    scripted_source_feed(self->source, " +b@11");
    informer_world_expect(self, 3, "+a@1 initial; synced; +b@11");
}

static void wait_synced_says_why_not_yet(void **state)
{
    informer_world *self = *state;
    kl_error err;

    informer_world_open(self, "!forbidden:403");
    assert_true(scripted_source_await(self->source, 2));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    assert_int_equal(kl_informer_wait_synced(self->informer, 0, &err),
                     KL_ETIMEOUT);
    assert_int_equal(err.code, KL_ETIMEOUT);
    assert_non_null(strstr(err.message, "pods has not synced yet"));
    assert_non_null(strstr(err.message, "failed tries: 1"));
    assert_non_null(strstr(err.message, "scripted forbidden"));
}

static void wait_synced_says_what_the_informer_waits_for(void **state)
{
    informer_world *self = *state;
    kl_error err;

    informer_world_open(self, "a@1");
    assert_true(scripted_source_await(self->source, 2));
    assert_int_equal(kl_informer_wait_synced(self->informer, 0, &err),
                     KL_ETIMEOUT);
    assert_non_null(strstr(err.message, "the list is still coming in"));
}

static void the_status_tells_of_cache_and_queue(void **state)
{
    informer_world *self = *state;
    kl_informer_status status;

    informer_world_open(self, "a@1 b@2 =10; ok");
    informer_world_await_synced(self);
    assert_true(scripted_source_await(self->source, 3));
    assert_true(kl__clock_await_waiters(self->clock, 1));
    kl_informer_status_get(self->informer, &status);
    assert_int_equal(status.state, KL_STATE_WATCHING);
    assert_string_equal(kl_informer_state_name(status.state), "watching");
    assert_true(status.has_synced);
    assert_int_equal(status.objects, 2);
    assert_int_equal(status.queued, 0);
    assert_int_equal(status.lists, 1);
    assert_int_equal(status.error.code, KL_OK);
}

static void an_index_can_come_before_or_after_the_list(void **state)
{
    informer_world *self = *state;
    kl_object_list list = {0};
    kl_string_list values = {0};
    kl_error err;

    informer_world_open(self, "");
    assert_int_equal(kl_informer_add_path_index(self->informer, "early",
                                                "metadata.name", NULL),
                     KL_OK);
    scripted_source_feed(self->source, "web/a@1 db/a@2 web/b@3 =10");
    informer_world_await_synced(self);
    assert_int_equal(kl_informer_add_path_index(self->informer, "late",
                                                "metadata.namespace", NULL),
                     KL_OK);
    assert_int_equal(
        kl_informer_by_index(self->informer, "early", "a", &list, NULL), KL_OK);
    assert_int_equal(list.count, 2);
    kl_object_list_clear(&list);
    assert_int_equal(
        kl_informer_index_values(self->informer, "late", &values, NULL), KL_OK);
    assert_int_equal(values.count, 2);
    kl_string_list_clear(&values);
    assert_int_equal(
        kl_informer_by_index(self->informer, "none", "a", &list, &err),
        KL_ENOT_FOUND);
    assert_int_equal(kl_informer_add_path_index(self->informer, "late",
                                                "metadata.name", &err),
                     KL_ECONFLICT);
    assert_int_equal(
        kl_informer_add_path_index(self->informer, "bad", "a[", &err),
        KL_EINVAL);
}

#define WORLD_TEST(name)                                        \
    cmocka_unit_test_setup_teardown(name, informer_world_setup, \
                                    informer_world_teardown)

typedef struct world {
    kl__clock *clock; /* a fake one, at 0 */
    kl__health health;
    kl__sync_waiters waiters;
    kl__thread thread;
    kl_code code; /* what the thread's wait said */
} world;

static int set_up(void **state)
{
    static world self;

    self = (world){.clock = kl__clock_fake(0)};
    assert_non_null(self.clock);
    kl__health_init(&self.health, self.clock);
    *state = &self;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl__health_deinit(&self->health);
    kl__clock_fake_free(self->clock);
    return kl_live_count(KL_LIVE_THREAD) == 0 &&
                   kl_live_count(KL_LIVE_QUEUE) == 0
               ? 0
               : -1;
}

static void *wait_for_sync(void *arg)
{
    world *self = arg;

    self->code = kl__health_wait_synced(&self->health, &self->waiters, 5000);
    kl__health_end_wait(&self->health, &self->waiters);
    return NULL;
}

static void start_waiting(world *self)
{
    assert_int_equal(
        kl__thread_start(&self->thread, "waiter", wait_for_sync, self, NULL),
        KL_OK);
    assert_true(kl__clock_await_waiters(self->clock, 1));
}

static void a_wait_ends_with_the_first_list(void **state)
{
    world *self = *state;

    start_waiting(self);
    kl__health_begin_sync(&self->health);
    kl__health_end_sync(&self->health, true);
    kl__thread_join(&self->thread);
    assert_int_equal(self->code, KL_OK);
    assert_true(kl__health_has_synced(&self->health));
    kl__health_end(&self->health);
    assert_int_equal(kl__health_wait_synced(&self->health, &self->waiters, 0),
                     KL_OK);
    kl__health_end_wait(&self->health, &self->waiters);
}

static void a_first_list_that_fails_to_apply_does_not_sync(void **state)
{
    world *self = *state;

    kl__health_begin_sync(&self->health);
    kl__health_end_sync(&self->health, false);
    assert_false(kl__health_has_synced(&self->health));
    assert_int_equal(kl__health_wait_synced(&self->health, &self->waiters, 0),
                     KL_ETIMEOUT);
    kl__health_end_wait(&self->health, &self->waiters);
}

static void a_wait_ends_with_the_informer(void **state)
{
    world *self = *state;

    start_waiting(self);
    kl__health_end(&self->health);
    kl__thread_join(&self->thread);
    assert_int_equal(self->code, KL_ECLOSED);
}

static void cancelling_waits_returns_after_the_last_waiter(void **state)
{
    world *self = *state;

    start_waiting(self);
    kl__health_cancel_waits(&self->health, &self->waiters);
    assert_int_equal(self->waiters.count, 0);
    kl__thread_join(&self->thread);
    assert_int_equal(self->code, KL_ECLOSED);
}

/* True if the queue was woken since the last call. */
static bool was_woken(kl_event_queue *queue)
{
    bool is_woken = kl_event_queue_wait(queue, 0) == KL_OK;

    assert_null(kl_event_queue_next(queue));
    return is_woken;
}

static void a_queue_is_woken_once_and_not_after_a_cancel(void **state)
{
    world *self = *state;
    kl_event_queue *queue = kl_event_queue_new(NULL);
    kl_event_queue *other = kl_event_queue_new(NULL);
    kl__sync_waiters others = {0};

    kl__health_wake_synced(&self->health, &self->waiters, queue);
    kl__health_wake_synced(&self->health, &others, other);
    assert_false(was_woken(queue));
    kl__health_cancel_waits(&self->health, &others);
    kl__health_begin_sync(&self->health);
    kl__health_end_sync(&self->health, true);
    kl__health_end(&self->health);
    assert_true(was_woken(queue));
    assert_false(was_woken(other));
    kl__health_wake_synced(&self->health, &self->waiters, queue);
    assert_true(was_woken(queue));
    kl_event_queue_free(queue);
    kl_event_queue_free(other);
}

static const kl_error no = {.code = KL_EFORBIDDEN, .message = "no"};
static const kl_error gone = {.code = KL_EGONE, .message = "expired"};

static uint64_t told(world *self)
{
    kl_error reason;

    return kl__health_told(&self->health, &reason);
}

static void an_error_keeps_its_number_until_recovery(void **state)
{
    world *self = *state;
    kl_error reason;

    assert_int_equal(kl__health_fail(&self->health, &no, false), 1);
    assert_int_equal(kl__health_fail(&self->health, &no, false), 0);
    assert_int_equal(kl__health_fail(&self->health, &gone, false), 2);
    assert_int_equal(told(self), 2);
    assert_true(kl__health_recover(&self->health, &reason));
    assert_string_equal(reason.message, "expired");
    assert_false(kl__health_recover(&self->health, NULL));
    assert_int_equal(told(self), 0);
    assert_int_equal(kl__health_fail(&self->health, &gone, false), 3);
}

static void a_quiet_failure_is_in_the_status_only(void **state)
{
    world *self = *state;
    kl_error error;

    assert_int_equal(kl__health_fail(&self->health, &no, true), 0);
    assert_int_equal(told(self), 0);
    kl__health_error(&self->health, &error);
    assert_string_equal(error.message, "no");
    kl__health_forget(&self->health);
    kl__health_error(&self->health, &error);
    assert_int_equal(error.code, KL_OK);
    assert_string_equal(error.message, "");
}

static void an_error_that_comes_back_has_its_old_number(void **state)
{
    world *self = *state;

    assert_int_equal(kl__health_fail(&self->health, &no, false), 1);
    kl__health_forget(&self->health);
    assert_int_equal(told(self), 0);
    assert_int_equal(kl__health_fail(&self->health, &gone, true), 0);
    assert_int_equal(kl__health_fail(&self->health, &no, false), 1);
    assert_int_equal(kl__health_fail(&self->health, &no, false), 0);
    assert_int_equal(told(self), 1);
}

static void an_error_that_was_not_queued_is_reported_next_time(void **state)
{
    world *self = *state;

    assert_int_equal(kl__health_fail(&self->health, &no, false), 1);
    kl__health_untell(&self->health);
    assert_int_equal(told(self), 0);
    assert_int_equal(kl__health_fail(&self->health, &no, false), 2);
}

#define HEALTH_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

enum { PATIENCE_MS = 60000 };

/* An informer whose client has a plugin with that body. */
static kl_informer *open_informer(const char *body, kl_client **client)
{
    kl_config *config = plugin_config(body, "");
    kl_informer *informer;

    *client = kl_client_new(&(kl_client_options){.config = config}, NULL);
    assert_non_null(*client);
    kl_config_unref(config);
    informer = kl_informer_open(
        *client, &(kl_informer_options){.resource = "pods"}, NULL);
    assert_non_null(informer);
    return informer;
}

/* Looks until the status is that an informer waits for a plugin, or not. */
static kl_informer_status await_status(kl_informer *informer, bool waits)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    kl_informer_status status;

    for (;;) {
        kl_informer_status_get(informer, &status);
        if ((status.plugin[0] != '\0') == waits &&
            (waits || status.failures > 0)) {
            return status;
        }
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
        usleep(1000);
    }
}

static void the_status_names_a_hanging_exec_plugin(void **state)
{
    kl_client *client;
    kl_informer *informer = open_informer("exec sleep 1000", &client);
    kl_informer_status status = await_status(informer, true);
    char expected[512];
    kl_error err;

    (void)state;
    assert_non_null(strstr(status.plugin, "/plugin"));
    assert_in_range(status.plugin_ms, 0, PATIENCE_MS);
    assert_int_equal(kl_informer_wait_synced(informer, 1, &err), KL_ETIMEOUT);
    snprintf(expected, sizeof(expected),
             "pods has not synced within 0.0 s: it waits for the exec "
             "credential plugin %s, which has been running for ",
             status.plugin);
    if (strncmp(err.message, expected, strlen(expected)) != 0) {
        fail_msg("%s", err.message);
    }
    kl_informer_close(informer);
    kl_client_unref(client);
}

static void the_age_of_a_running_plugin_grows(void **state)
{
    kl_client *client;
    kl_informer *informer = open_informer("exec sleep 1000", &client);
    int64_t first = await_status(informer, true).plugin_ms;
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;

    (void)state;
    while (await_status(informer, true).plugin_ms <= first) {
        assert_true(kl__clock_now(kl__clock_real()) < deadline);
    }
    kl_informer_close(informer);
    kl_client_unref(client);
}

static void a_failed_plugin_is_not_in_the_status(void **state)
{
    kl_client *client;
    kl_informer *informer = open_informer("exit 1", &client);
    kl_informer_status status = await_status(informer, false);

    (void)state;
    assert_int_equal(status.plugin_ms, 0);
    assert_non_null(strstr(status.error.message, "exec plugin"));
    kl_informer_close(informer);
    kl_client_unref(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(the_cache_holds_the_first_list),
        WORLD_TEST(a_handler_sees_every_change_in_order),
        WORLD_TEST(a_late_handler_is_replayed_the_cache),
        WORLD_TEST(a_late_handler_repeats_no_error_that_is_over),
        WORLD_TEST(a_reconnect_delivers_only_the_differences),
        WORLD_TEST(bookmarks_move_the_version_of_the_cache),
        WORLD_TEST(an_error_is_reported_once),
        WORLD_TEST(a_handler_added_during_an_error_gets_it),
        WORLD_TEST(a_handler_added_after_recovery_gets_no_error),
        WORLD_TEST(resync_replays_the_cache_on_its_period),
        WORLD_TEST(a_handler_that_comes_late_is_resynced_too),
        WORLD_TEST(an_informer_gives_its_handlers_a_resync_period),
        WORLD_TEST(a_handler_can_refuse_the_resync_period),
        WORLD_TEST(wait_synced_says_why_not_yet),
        WORLD_TEST(wait_synced_says_what_the_informer_waits_for),
        WORLD_TEST(the_status_tells_of_cache_and_queue),
        WORLD_TEST(an_index_can_come_before_or_after_the_list),
        HEALTH_SPEC(a_wait_ends_with_the_first_list),
        HEALTH_SPEC(a_first_list_that_fails_to_apply_does_not_sync),
        HEALTH_SPEC(a_wait_ends_with_the_informer),
        HEALTH_SPEC(cancelling_waits_returns_after_the_last_waiter),
        HEALTH_SPEC(a_queue_is_woken_once_and_not_after_a_cancel),
        HEALTH_SPEC(an_error_keeps_its_number_until_recovery),
        HEALTH_SPEC(a_quiet_failure_is_in_the_status_only),
        HEALTH_SPEC(an_error_that_comes_back_has_its_old_number),
        HEALTH_SPEC(an_error_that_was_not_queued_is_reported_next_time),
        SPEC(the_status_names_a_hanging_exec_plugin),
        SPEC(the_age_of_a_running_plugin_grows),
        SPEC(a_failed_plugin_is_not_in_the_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
