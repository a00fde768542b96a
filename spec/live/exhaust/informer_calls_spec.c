/*
 * informer_calls_spec.c - every public call on informers, registrations and
 * event queues with each of its allocations failing. An informer that runs
 * beside them must not be disturbed.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "live_world.h"

#include "kubelua/memory.h"
#include "kubelua/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The informer that runs beside, and the objects of one run. */
typedef struct workshop {
    live_world live;
    kl_informer *spare; /* made for one run, which closes it */
    kl_registration *registration;
    kl_event_queue *queue;
    kl_object_list objects;
    kl_string_list strings;
    kl_metrics *metrics;
    kl_report *report;
    int dropped; /* how many contexts were dropped */
} workshop;

static kl_code open_informer(void *world, kl_error *err)
{
    workshop *self = world;

    kl_informer_close(kl_informer_open(
        self->live.client,
        &(kl_informer_options){.resource = "secrets", .labels = "a=b"}, err));
    return err->code;
}

static kl_code join_informer(void *world, kl_error *err)
{
    workshop *self = world;

    kl_informer_close(kl_informer_open(
        self->live.client,
        &(kl_informer_options){.resource = "cm", .name_space = "default"},
        err));
    return err->code;
}

static kl_code open_spare(void *world, kl_error *err)
{
    workshop *self = world;

    self->spare = kl_informer_open(
        self->live.client,
        &(kl_informer_options){.resource = "cm", .name_space = "default"}, err);
    return self->spare != NULL ? kl_informer_wait_synced(self->spare, -1, err)
                               : err->code;
}

/* Opens an informer with a cache of its own, as an index cannot be removed
 * again. */
static kl_code open_own(void *world, kl_error *err)
{
    workshop *self = world;

    self->spare = kl_informer_open(
        self->live.client,
        &(kl_informer_options){.resource = "cm", .labels = "!none"}, err);
    return self->spare != NULL ? kl_informer_wait_synced(self->spare, -1, err)
                               : err->code;
}

/* An informer that never syncs, as its kind is not served. */
static kl_code open_unknown(void *world, kl_error *err)
{
    workshop *self = world;

    self->spare = kl_informer_open(
        self->live.client, &(kl_informer_options){.resource = "unknowns"}, err);
    return err->code;
}

static kl_code check_options(void *world, kl_error *err)
{
    static const char *const dropped[] = {"spec.containers[*].env", NULL};

    (void)world;
    return kl_informer_options_check(
        &(kl_informer_options){.resource = "pods",
                               .name_space = "web",
                               .labels = "app in (shop,db)",
                               .fields = "spec.nodeName=n1",
                               .drop = dropped},
        err);
}

static void close_spare(workshop *self)
{
    kl_informer_close(self->spare);
    self->spare = NULL;
}

static kl_code close_informer(void *world, kl_error *err)
{
    workshop *self = world;

    (void)err;
    kl_informer_unref(kl_informer_ref(self->spare));
    kl_informer_close(self->spare);
    return KL_OK;
}

static kl_code open_ring(void *world, kl_error *err)
{
    workshop *self = world;

    self->spare = kl_informer_open(
        self->live.client,
        &(kl_informer_options){.resource = "cm", .ring = "shop"}, err);
    return self->spare != NULL ? KL_OK : err->code;
}

static kl_code change_shard(void *world, kl_error *err)
{
    workshop *self = world;
    kl_code code = kl_informer_set_shard(self->spare, "0/2", err);

    kl_informer_close(self->spare);
    return code;
}

static kl_code look_at_informer(void *world, kl_error *err)
{
    workshop *self = world;
    const kl_informer *informer = self->live.informer;
    kl_object *object = kl_informer_get(informer, "default/a");
    kl_informer_status status;
    char version[32];

    (void)kl_client_server(self->live.client);
    kl_informer_status_get(informer, &status);
    kl_informer_resource_version(informer, version, sizeof(version));
    kl_informer_told_version(informer, version, sizeof(version));
    kl_object_unref(object);
    return kl_informer_has_synced(informer) && object != NULL &&
                   kl_informer_holds_shard(informer) &&
                   kl_informer_state_name(status.state)[0] != '\0' &&
                   kl_informer_count(informer) > 1 && version[0] != '\0' &&
                   kl_client_check(self->live.client, err) == KL_OK &&
                   kl_informer_check(informer, err) == KL_OK
               ? kl_informer_wait_synced(self->live.informer, -1, err)
               : KL_EINVAL;
}

static kl_code make_report(void *world, kl_error *err)
{
    workshop *self = world;

    self->metrics = kl_metrics_new(err);
    self->report =
        kl_report_new(&(kl_report_options){.metrics = self->metrics}, err);
    return self->report != NULL ? KL_OK : err->code;
}

static kl_code end_report(workshop *self, kl_code code)
{
    kl_report_unref(self->report);
    kl_metrics_unref(self->metrics);
    return code;
}

static kl_code report_informer(void *world, kl_error *err)
{
    workshop *self = world;
    kl_code code =
        kl_report_add_informer(self->report, self->live.informer, err);
    bool is_well;

    if (code == KL_OK) {
        char *text = kl_report_readiness(self->report, &is_well, err);

        code = text != NULL ? KL_OK : err->code;
        kl_free(text);
        kl_report_remove_informer(self->report, self->live.informer);
    }
    return end_report(self, code);
}

/* What cannot be counted for lack of memory is counted later. */
static kl_code report_client(void *world, kl_error *err)
{
    workshop *self = world;
    kl_code code = kl_report_add_client(self->report, self->live.client, err);

    if (code == KL_OK) {
        char *text = kl_report_metrics_text(self->report, NULL, err);

        code = text != NULL ? KL_OK : err->code;
        kl_free(text);
        kl_report_remove_client(self->report, self->live.client);
    }
    return end_report(self, code);
}

static kl_code count_requests(void *world, kl_error *err)
{
    workshop *self = world;
    kl_request_count counts[KL_REQUEST_COUNTS_MAX];

    (void)err;
    assert_true(kl_client_requests(self->live.client, counts,
                                   KL_REQUEST_COUNTS_MAX) > 0);
    assert_string_equal(counts[0].method, "GET");
    return KL_OK;
}

static kl_code list_objects(void *world, kl_error *err)
{
    workshop *self = world;
    kl_object_list list = {0};
    kl_code code =
        kl_informer_list(self->live.informer, "default", NULL, &list, err);

    assert_true(code == KL_OK || (list.items == NULL && list.count == 0));
    kl_object_list_clear(&list);
    return code;
}

static kl_code ask_index(void *world, kl_error *err)
{
    workshop *self = world;
    kl_object_list list = {0};
    kl_code code =
        kl_informer_by_index(self->live.informer, "value", "2", &list, err);

    assert_true(code == KL_OK || (list.items == NULL && list.count == 0));
    kl_object_list_clear(&list);
    return code;
}

static kl_code list_values(void *world, kl_error *err)
{
    workshop *self = world;
    kl_string_list list = {0};
    kl_code code =
        kl_informer_index_values(self->live.informer, "value", &list, err);

    assert_true(code == KL_OK || (list.items == NULL && list.count == 0));
    kl_string_list_clear(&list);
    return code;
}

static kl_code list_unreadable(void *world, kl_error *err)
{
    workshop *self = world;
    kl_unreadable_list list;
    kl_code code = kl_informer_unreadable(self->live.informer, &list, err);

    assert_int_equal(list.count, 0);
    kl_unreadable_list_clear(&list);
    return code;
}

static kl_code fill_lists(void *world, kl_error *err)
{
    workshop *self = world;
    kl_code code =
        kl_informer_list(self->live.informer, NULL, NULL, &self->objects, err);

    return code == KL_OK
               ? kl_informer_index_values(self->live.informer, "value",
                                          &self->strings, err)
               : code;
}

static kl_code clear_lists(void *world, kl_error *err)
{
    workshop *self = world;

    (void)err;
    kl_object_list_clear(&self->objects);
    kl_string_list_clear(&self->strings);
    return KL_OK;
}

static void drop(void *context)
{
    ((workshop *)context)->dropped++;
}

/* Asserts that a call that failed has not dropped the context: its owner does
 * that. */
static kl_code dropped_once(workshop *self, kl_code code)
{
    assert_int_equal(self->dropped, code == KL_OK ? 1 : 0);
    self->dropped = 0;
    return code;
}

static kl_code index_twice(void *context, const kl_object *object,
                           const kl_value *root, kl_index_sink *sink)
{
    const char *name = kl_object_name(object);
    kl_code code = kl_index_emit(sink, name, strlen(name));

    (void)context;
    (void)root;
    return code == KL_OK ? kl_index_emit(sink, "all", 3) : code;
}

static kl_code add_index(void *world, kl_error *err)
{
    workshop *self = world;
    kl_object_list list = {0};
    kl_code code = kl_informer_add_index(self->spare, "twice", index_twice,
                                         self, drop, err);

    failing_plan_pause();
    if (code == KL_OK) {
        assert_int_equal(
            kl_informer_by_index(self->spare, "twice", "all", &list, NULL),
            KL_OK);
        assert_int_equal(list.count, kl_informer_count(self->spare));
        kl_object_list_clear(&list);
    }
    close_spare(self);
    return dropped_once(self, code);
}

static kl_code add_path_index(void *world, kl_error *err)
{
    workshop *self = world;
    kl_code code =
        kl_informer_add_path_index(self->spare, "path", "metadata.name", err);

    failing_plan_pause();
    close_spare(self);
    return code;
}

static void on_add(void *context, kl_object *object, bool initial)
{
    (void)context;
    (void)object;
    (void)initial;
}

static kl_code add_handler(void *world, kl_error *err)
{
    workshop *self = world;
    const kl_handler handler = {
        .add = on_add, .context = self, .drop_context = drop};

    kl_registration_remove(
        kl_informer_add_handler(self->live.informer, &handler, NULL, err));
    return dropped_once(self, err->code);
}

static kl_code subscribe(void *world, kl_error *err)
{
    workshop *self = world;

    kl_registration_remove(kl_informer_subscribe(
        self->live.informer, self->live.queue, NULL, NULL, err));
    return err->code;
}

/* A queue, and a subscriber that has not pulled an event yet. */
static kl_code join_spare(void *world, kl_error *err)
{
    workshop *self = world;

    self->queue = kl_event_queue_new(err);
    self->registration = kl_informer_subscribe(self->live.informer, self->queue,
                                               self, NULL, err);
    return err->code;
}

static kl_code pull_events(void *world, kl_error *err)
{
    workshop *self = world;
    kl_event event;
    size_t count = 0;
    bool had_backlog = kl_registration_backlog(self->registration) > 1;

    kl_registration_unmark(self->registration);
    assert_false(kl_registration_marked(self->registration, &count));
    count = 0;
    assert_int_equal(kl_registration_check(self->registration, err), KL_OK);
    assert_int_equal(kl_event_queue_check(self->queue, err), KL_OK);
    assert_true(kl_event_queue_is_fed(self->queue));
    assert_true(kl_event_queue_fd(self->queue) >= 0);
    kl_event_queue_attend(self->queue);
    kl_event_queue_wake(self->queue);
    kl_event_queue_leave(self->queue);
    assert_int_equal(kl_event_queue_wait(self->queue, -1), KL_OK);
    assert_ptr_equal(kl_event_queue_next(self->queue), self);
    kl_event_queue_again(self->queue, self->registration);
    assert_ptr_equal(kl_event_queue_next(self->queue), self);
    while (kl_registration_next(self->registration, &event)) {
        kl_registration_done(self->registration, &event);
        count++;
    }
    kl_event_queue_wake(self->queue);
    had_backlog = had_backlog && kl_registration_has_synced(self->registration);
    assert_int_equal(kl_registration_wait_synced(self->registration, -1, err),
                     KL_OK);
    kl_registration_remove(self->registration);
    kl_event_queue_free(self->queue);
    return had_backlog && count > 2 ? KL_OK : KL_EINVAL;
}

static kl_code make_queue(void *world, kl_error *err)
{
    (void)world;
    kl_event_queue_free(kl_event_queue_new(err));
    return err->code;
}

static kl_code wake_when_synced(void *world, kl_error *err)
{
    workshop *self = world;
    kl_code code = kl_informer_wake_synced(self->spare, self->live.queue, err);

    close_spare(self);
    return code;
}

static kl_code wake_at_once(void *world, kl_error *err)
{
    workshop *self = world;

    return kl_informer_wake_synced(self->live.informer, self->live.queue, err);
}

static kl_code wake_when_changed(void *world, kl_error *err)
{
    workshop *self = world;
    kl_code code = kl_informer_wake_changed(self->spare, self->live.queue, err);

    close_spare(self);
    return code;
}

static const every_call calls[] = {
    REFUSES(kl_informer_options_check, check_options),
    REFUSES(kl_informer_open, open_informer),
    REFUSES(kl_informer_open, join_informer),
    NEVER_ALLOCATES_AFTER(kl_informer_close, close_informer, open_spare),
    NEVER_ALLOCATES_AFTER(kl_informer_close, close_informer, open_own),
    NEVER_ALLOCATES_AFTER(kl_informer_ref, close_informer, open_own),
    NEVER_ALLOCATES_AFTER(kl_informer_unref, close_informer, open_own),
    NEVER_ALLOCATES(kl_informer_has_synced, look_at_informer),
    NEVER_ALLOCATES(kl_informer_holds_shard, look_at_informer),
    NEVER_ALLOCATES_AFTER(kl_informer_set_shard, change_shard, open_ring),
    NEVER_ALLOCATES(kl_informer_wait_synced, look_at_informer),
    NEVER_ALLOCATES(kl_informer_get, look_at_informer),
    NEVER_ALLOCATES(kl_informer_count, look_at_informer),
    NEVER_ALLOCATES(kl_informer_resource_version, look_at_informer),
    NEVER_ALLOCATES(kl_informer_told_version, look_at_informer),
    NEVER_ALLOCATES(kl_informer_status_get, look_at_informer),
    NEVER_ALLOCATES(kl_informer_state_name, look_at_informer),
    NEVER_ALLOCATES(kl_informer_check, look_at_informer),
    NEVER_ALLOCATES(kl_client_check, look_at_informer),
    NEVER_ALLOCATES(kl_client_server, look_at_informer),
    REFUSES_AFTER(kl_report_add_informer, report_informer, make_report),
    REFUSES_AFTER(kl_report_remove_informer, report_informer, make_report),
    REFUSES_AFTER(kl_report_add_client, report_client, make_report),
    REFUSES_AFTER(kl_report_remove_client, report_client, make_report),
    NEVER_ALLOCATES(kl_client_requests, count_requests),
    REFUSES(kl_informer_list, list_objects),
    REFUSES(kl_informer_by_index, ask_index),
    REFUSES(kl_informer_index_values, list_values),
    REFUSES(kl_informer_unreadable, list_unreadable),
    NEVER_ALLOCATES_AFTER(kl_object_list_clear, clear_lists, fill_lists),
    NEVER_ALLOCATES_AFTER(kl_string_list_clear, clear_lists, fill_lists),
    REFUSES_AFTER(kl_informer_add_index, add_index, open_own),
    REFUSES_AFTER(kl_index_emit, add_index, open_own),
    REFUSES_AFTER(kl_informer_add_path_index, add_path_index, open_own),
    REFUSES(kl_informer_add_handler, add_handler),
    REFUSES(kl_informer_subscribe, subscribe),
    NEVER_ALLOCATES_AFTER(kl_registration_remove, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_registration_check, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_registration_has_synced, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_registration_wait_synced, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_registration_backlog, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_registration_marked, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_registration_unmark, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_registration_next, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_registration_done, pull_events, join_spare),
    REFUSES(kl_event_queue_new, make_queue),
    NEVER_ALLOCATES_AFTER(kl_event_queue_free, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_check, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_is_fed, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_fd, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_wait, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_wake, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_attend, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_leave, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_next, pull_events, join_spare),
    NEVER_ALLOCATES_AFTER(kl_event_queue_again, pull_events, join_spare),
    REFUSES_AFTER(kl_informer_wake_synced, wake_when_synced, open_unknown),
    NEVER_ALLOCATES(kl_informer_wake_synced, wake_at_once),
    REFUSES_AFTER(kl_informer_wake_changed, wake_when_changed, open_unknown),
};

static void each_call_on_informers_survives_each_failed_allocation(void **state)
{
    static workshop world;

    (void)state;
    failing_alloc_install();
    live_world_open(&world.live, LIVE_WORLD_INSIDE);
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &world,
                                       .assert_whole = live_world_assert_whole,
                                       .is_busy = true});
    live_world_close(&world.live);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            each_call_on_informers_survives_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
