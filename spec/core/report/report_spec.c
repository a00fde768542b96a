/*
 * report_spec.c - when a process is healthy and ready, and what its metrics and
 * its state say of informers, controllers and the loop; while another thread
 * reads, all of these come and go.
 */
#include "gate.h"
#include "informer_world.h"

#include "kubelua/memory.h"
#include "kubelua/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { STUCK_MS = 300 };

typedef struct scene {
    informer_world *world;
    kl_metrics *metrics;
    kl_report *report;
} scene;

static int set_up(void **state)
{
    static scene self;
    void *world;

    if (informer_world_setup(&world) != 0) {
        return -1;
    }
    self.world = world;
    self.metrics = kl_metrics_new(NULL);
    self.report = kl_report_new(
        &(kl_report_options){.metrics = self.metrics, .stuck_ms = STUCK_MS},
        NULL);
    *state = &self;
    return self.report != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    scene *self = *state;
    void *world = self->world;

    kl_report_unref(self->report);
    kl_metrics_unref(self->metrics);
    return informer_world_teardown(&world);
}

#define REPORT_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void open_informer(scene *self, const char *script)
{
    informer_world_open(self->world, script);
    assert_int_equal(
        kl_report_add_informer(self->report, self->world->informer, NULL),
        KL_OK);
}

typedef char *verdict(kl_report *report, bool *is_well, kl_error *err);

static void assert_verdict(scene *self, verdict *make, const char *expected)
{
    bool is_well;
    char *text = make(self->report, &is_well, NULL);

    if (strstr(text, expected) == NULL) {
        assert_string_equal(text, expected);
    }
    assert_int_equal(is_well, strcmp(text, "ok\n") == 0);
    kl_free(text);
}

/* Asks until the text has `expected`; fails after 30 s. */
static void await_verdict(scene *self, verdict *make, const char *expected)
{
    struct timespec pause = {.tv_nsec = 5000000};
    time_t ends = time(NULL) + 30;
    bool is_there = false;

    while (!is_there && time(NULL) < ends) {
        bool is_well;
        char *text = make(self->report, &is_well, NULL);

        is_there = strstr(text, expected) != NULL;
        kl_free(text);
        nanosleep(&pause, NULL);
    }
    assert_verdict(self, make, expected);
}

static void assert_metric(scene *self, const char *line, bool is_there)
{
    char *text = kl_report_metrics_text(self->report, NULL, NULL);

    assert_non_null(text);
    if ((strstr(text, line) != NULL) != is_there) {
        assert_string_equal(text, line);
    }
    kl_free(text);
}

static void assert_state(scene *self, const char *part)
{
    char *text = kl_report_status(self->report, NULL, NULL);

    assert_non_null(text);
    if (strstr(text, part) == NULL) {
        assert_string_equal(text, part);
    }
    kl_free(text);
}

static void
a_process_with_nothing_to_wait_for_is_healthy_and_ready(void **state)
{
    assert_verdict(*state, kl_report_health, "ok\n");
    assert_verdict(*state, kl_report_readiness, "ok\n");
    assert_metric(*state, "process_open_fds ", true);
    assert_metric(*state, "kubelua_loop_blocked_seconds", false);
}

static void it_is_not_ready_before_the_first_list(void **state)
{
    scene *self = *state;

    open_informer(self, "!forbidden");
    await_verdict(self, kl_report_readiness, "pods has no first list yet: ");
    await_verdict(self, kl_report_readiness, "the last error: ");
    assert_verdict(self, kl_report_health, "ok\n");
    assert_metric(self, "kubelua_informer_synced{name=\"pods\"} 0\n", true);
    scripted_source_feed(self->world->source, "; web/a@1 =10");
    informer_world_pass_backoff(self->world);
    informer_world_await_synced(self->world);
    assert_verdict(self, kl_report_readiness, "ok\n");
    assert_metric(self, "kubelua_informer_synced{name=\"pods\"} 1\n", true);
    assert_metric(self, "kubelua_informer_objects{name=\"pods\"} 1\n", true);
    assert_metric(self, "informer_store_resource_version{name=\"pods\"", true);
    assert_state(self, "\"name\":\"pods\",\"state\":");
}

static void it_stays_ready_and_healthy_while_the_server_is_away(void **state)
{
    scene *self = *state;

    open_informer(self, "web/a@1 =10; !unavailable");
    informer_world_await_synced(self->world);
    assert_verdict(self, kl_report_readiness, "ok\n");
    informer_world_pass_backoff(self->world);
    assert_verdict(self, kl_report_readiness, "ok\n");
    assert_verdict(self, kl_report_health, "ok\n");
    assert_metric(self, "kubelua_informer_failures_total{name=\"pods\"} 0\n",
                  false);
}

static void
handles_of_one_informer_show_once_and_closed_ones_never(void **state)
{
    scene *self = *state;

    open_informer(self, "web/a@1 =10");
    informer_world_await_synced(self->world);
    kl_report_add_informer(self->report, self->world->informer, NULL);
    assert_metric(self, "name=\"pods (2)\"", false);
    kl_report_remove_informer(self->report, self->world->informer);
    assert_metric(self, "kubelua_informer_objects{name=\"pods\"} 1\n", true);
    kl_report_remove_informer(self->report, self->world->informer);
    assert_metric(self, "kubelua_informer_objects", false);
}

typedef struct stuck {
    gate entered;
    gate may_go;
} stuck;

/* An index function that blocks at the object web/b. */
static kl_code block_at_b(void *context, const kl_object *object,
                          const kl_value *root, kl_index_sink *sink)
{
    stuck *self = context;

    (void)root;
    (void)sink;
    if (strcmp(kl_object_key(object), "web/b") == 0) {
        gate_pass(&self->entered);
        gate_await(&self->may_go, 1);
    }
    return KL_OK;
}

static void a_stream_whose_thread_hangs_is_not_healthy(void **state)
{
    scene *self = *state;
    stuck gates;

    gate_init(&gates.entered);
    gate_init(&gates.may_go);
    open_informer(self, "web/a@1 =10; ok");
    informer_world_await_synced(self->world);
    assert_int_equal(kl_informer_add_index(self->world->informer, "slow",
                                           block_at_b, &gates, NULL, NULL),
                     KL_OK);
    scripted_source_feed(self->world->source, " +web/b@11");
    assert_true(gate_await(&gates.entered, 1));
    await_verdict(self, kl_report_health,
                  "pods: its stream has been stuck for 0.");
    assert_verdict(self, kl_report_readiness, "ok\n");
    gate_pass(&gates.may_go);
    await_verdict(self, kl_report_health, "ok\n");
    gate_deinit(&gates.entered);
    gate_deinit(&gates.may_go);
}

static void a_loop_that_does_not_go_on_is_not_healthy(void **state)
{
    static const kl_activity activity = {"pods: handler of add", "web/a"};
    scene *self = *state;
    kl_watchdog *watchdog =
        kl_watchdog_start(&(kl_watchdog_options){.limit_ms = 60000}, NULL);

    kl_report_set_watchdog(self->report, watchdog);
    kl_report_beat(self->report, true);
    kl_watchdog_enter(watchdog, &activity);
    assert_verdict(self, kl_report_health, "ok\n");
    await_verdict(self, kl_report_health, "the loop has been blocked for ");
    assert_verdict(self, kl_report_health,
                   " s by pods: handler of add for web/a\n");
    assert_verdict(self, kl_report_readiness, "ok\n");
    assert_state(self, "\"healthy\":false,\"ready\":true");
    assert_state(self, "\"by\":\"pods: handler of add for web/a\"");
    kl_watchdog_leave(watchdog);
    kl_report_beat(self->report, false);
    assert_verdict(self, kl_report_health, "ok\n");
    assert_metric(self, "kubelua_loop_blocked_seconds 0\n", true);
    kl_report_set_watchdog(self->report, NULL);
    kl_watchdog_stop(watchdog);
}

static void it_is_not_ready_while_the_script_starts(void **state)
{
    scene *self = *state;

    kl_report_beat(self->report, true);
    await_verdict(self, kl_report_health, "the loop has been blocked for ");
    kl_report_set_started(self->report, false); /* a long start is no hang */
    assert_verdict(self, kl_report_health, "ok\n");
    assert_verdict(self, kl_report_readiness, "the script is still starting\n");
    kl_report_beat(self->report, false);
    kl_report_set_started(self->report, true);
    assert_verdict(self, kl_report_readiness, "ok\n");
}

static void a_standby_is_ready_once_its_controller_has_its_lists(void **state)
{
    scene *self = *state;
    kl_queue *queue = kl_queue_new(NULL, NULL);
    kl_reported *controller = kl_report_add_controller(
        self->report,
        &(kl_reported_options){
            .name = "foo", .queue = queue, .workers = 4, .lease = "foo"},
        NULL);
    kl_queue_item item;
    struct timespec now;

    assert_verdict(self, kl_report_readiness,
                   "controller foo waits for its first lists\n");
    kl_reported_set_listed(controller, true);
    assert_verdict(self, kl_report_readiness, "ok\n");
    assert_metric(self, "leader_election_master_status{name=\"foo\"} 0\n",
                  true);
    clock_gettime(CLOCK_BOOTTIME, &now);
    kl_reported_set_leads_until(controller,
                                ((int64_t)now.tv_sec + 3600) * 1000);
    assert_metric(self, "leader_election_master_status{name=\"foo\"} 1\n",
                  true);
    kl_reported_set_leads_until(controller, (int64_t)now.tv_sec * 1000 - 1);
    assert_metric(self, "leader_election_master_status{name=\"foo\"} 0\n",
                  true);
    kl_queue_add(queue, "a", KL_LANE_FRONT, NULL);
    kl_queue_add(queue, "b", KL_LANE_FRONT, NULL);
    assert_true(kl_queue_next(queue, &item));
    assert_metric(self, "workqueue_depth{controller=\"foo\",name=\"foo\"} 1\n",
                  true);
    assert_metric(self,
                  "controller_runtime_active_workers{controller=\"foo\"} 1\n",
                  true);
    assert_state(self, "\"leader\":{\"lease\":\"foo\",\"leading\":false}");
    kl_report_remove_controller(self->report, controller);
    assert_metric(self, "workqueue_depth", false);
    kl_queue_free(queue);
}

static void controllers_of_one_name_show_as_one(void **state)
{
    scene *self = *state;
    kl_queue *queues[] = {kl_queue_new(NULL, NULL), kl_queue_new(NULL, NULL)};
    kl_reported *both[2];

    for (int i = 0; i < 2; i++) {
        both[i] = kl_report_add_controller(
            self->report,
            &(kl_reported_options){
                .name = "foo", .queue = queues[i], .workers = 2},
            NULL);
        kl_queue_add(queues[i], "a", KL_LANE_FRONT, NULL);
    }
    assert_metric(self, "workqueue_depth{controller=\"foo\",name=\"foo\"} 2\n",
                  true);
    assert_metric(
        self,
        "controller_runtime_max_concurrent_reconciles{controller=\"foo\"} 4\n",
        true);
    assert_metric(self, "{controller=\"foo\",name=\"foo\"} 1\n", false);
    for (int i = 0; i < 2; i++) {
        kl_report_remove_controller(self->report, both[i]);
        kl_queue_free(queues[i]);
    }
}

enum { READS = 300 };

static void *read_texts(void *arg)
{
    scene *self = arg;
    bool is_well;

    for (int i = 0; i < READS; i++) {
        kl_free(kl_report_metrics_text(self->report, NULL, NULL));
        kl_free(kl_report_status(self->report, NULL, NULL));
        kl_free(kl_report_health(self->report, &is_well, NULL));
        kl_free(kl_report_readiness(self->report, &is_well, NULL));
    }
    return NULL;
}

static void what_is_read_may_come_and_go(void **state)
{
    static const kl_activity activity = {"a handler", NULL};
    scene *self = *state;
    kl__thread thread;

    open_informer(self, "web/a@1 =10");
    assert_int_equal(
        kl__thread_start(&thread, "reader", read_texts, self, NULL), KL_OK);
    for (int i = 0; i < READS; i++) {
        kl_queue *queue = kl_queue_new(NULL, NULL);
        kl_watchdog *watchdog =
            kl_watchdog_start(&(kl_watchdog_options){.limit_ms = 60000}, NULL);
        kl_reported *controller = kl_report_add_controller(
            self->report, &(kl_reported_options){.name = "foo", .queue = queue},
            NULL);

        kl_report_set_watchdog(self->report, watchdog);
        kl_report_beat(self->report, true);
        kl_watchdog_enter(watchdog, &activity);
        kl_queue_add(queue, "a", KL_LANE_FRONT, NULL);
        kl_reported_set_listed(controller, true);
        kl_watchdog_leave(watchdog);
        kl_report_beat(self->report, false);
        kl_report_set_watchdog(self->report, NULL);
        kl_watchdog_stop(watchdog);
        kl_report_remove_controller(self->report, controller);
        kl_queue_free(queue);
    }
    kl__thread_join(&thread);
}

static void a_child_of_fork_needs_a_report_of_its_own(void **state)
{
    scene *self = *state;
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        kl_error err;
        bool is_well;
        kl_report *own;

        if (kl_report_health(self->report, &is_well, &err) != NULL ||
            err.code != KL_EFORKED) {
            _exit(1);
        }
        own =
            kl_report_new(&(kl_report_options){.metrics = self->metrics}, NULL);
        _exit(kl_report_health(own, &is_well, NULL) != NULL && is_well ? 0 : 2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        REPORT_SPEC(a_process_with_nothing_to_wait_for_is_healthy_and_ready),
        REPORT_SPEC(it_is_not_ready_before_the_first_list),
        REPORT_SPEC(it_stays_ready_and_healthy_while_the_server_is_away),
        REPORT_SPEC(handles_of_one_informer_show_once_and_closed_ones_never),
        REPORT_SPEC(a_stream_whose_thread_hangs_is_not_healthy),
        REPORT_SPEC(a_loop_that_does_not_go_on_is_not_healthy),
        REPORT_SPEC(it_is_not_ready_while_the_script_starts),
        REPORT_SPEC(a_standby_is_ready_once_its_controller_has_its_lists),
        REPORT_SPEC(controllers_of_one_name_show_as_one),
        REPORT_SPEC(what_is_read_may_come_and_go),
        REPORT_SPEC(a_child_of_fork_needs_a_report_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
