/*
 * metric_calls_spec.c - every public call on metrics, and those on reports that
 * need no cluster, with each of their allocations failing.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "kubelua/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct world {
    kl_metrics *metrics; /* of one run, as the others */
    kl_metric *counter;  /* with the label x */
    kl_series *series;   /* of the counter */
    kl_report *report;
    kl_queue *queue;
    kl_reported *controller; /* in the report, which frees it */
} world;

static const char *const label[] = {"x"};
static const char *const value[] = {"a\"b"};

static kl_code end_world(world *self, kl_code code)
{
    kl_report_unref(self->report);
    kl_queue_free(self->queue);
    kl_series_unref(self->series);
    kl_metrics_unref(self->metrics);
    *self = (world){0};
    return code;
}

static kl_code make_metrics(void *world_, kl_error *err)
{
    (void)world_;
    kl_metrics_unref(kl_metrics_new(err));
    return err->code;
}

static kl_code begin_metrics(void *world_, kl_error *err)
{
    world *self = world_;

    self->metrics = kl_metrics_new(err);
    return self->metrics != NULL ? KL_OK : err->code;
}

static kl_metric *add_counter(world *self, kl_error *err)
{
    return kl_metrics_add(self->metrics,
                          &(kl_metric_options){.name = "a_total",
                                               .help = "Help.",
                                               .labels = label,
                                               .label_count = 1},
                          err);
}

static kl_code add_metrics(void *world_, kl_error *err)
{
    world *self = world_;
    bool is_made = add_counter(self, err) != NULL &&
                   kl_metrics_add(self->metrics,
                                  &(kl_metric_options){
                                      .type = KL_METRIC_HISTOGRAM,
                                      .name = "b",
                                      .help = "Help.",
                                  },
                                  err) != NULL;

    return end_world(self, is_made ? KL_OK : err->code);
}

static kl_code begin_series(void *world_, kl_error *err)
{
    world *self = world_;

    if (begin_metrics(self, err) != KL_OK) {
        return err->code;
    }
    self->counter = add_counter(self, err);
    self->series = kl_metric_series(self->counter, value, 1, err);
    kl_series_add(self->series, 1);
    return KL_OK;
}

static kl_code find_series(void *world_, kl_error *err)
{
    world *self = world_;
    const char *other = "other";
    kl_series *series = kl_metric_series(self->counter, &other, 1, err);

    kl_series_unref(series);
    return end_world(self, series != NULL ? KL_OK : err->code);
}

static kl_code count_all(void *world_, kl_error *err)
{
    world *self = world_;
    kl_metrics *metrics = kl_metrics_ref(self->metrics);

    (void)err;
    assert_int_equal(kl_metric_label_count(self->counter), 1);
    assert_int_equal(kl_metric_type_of(self->counter), KL_METRIC_COUNTER);
    assert_string_equal(kl_metric_name(self->counter), "a_total");
    kl_series_add(self->series, 1);
    assert_true(kl_series_value(self->series, NULL) == 2);
    kl_series_set(self->series, 7);
    kl_series_set_until(self->series, 7, 0);
    assert_true(kl_series_value(self->series, NULL) == 0);
    kl_metrics_unref(metrics);
    return end_world(self, KL_OK);
}

static kl_code begin_histogram(void *world_, kl_error *err)
{
    world *self = world_;

    if (begin_metrics(self, err) != KL_OK) {
        return err->code;
    }
    self->series = kl_metric_series(
        kl_metrics_add(self->metrics,
                       &(kl_metric_options){.type = KL_METRIC_HISTOGRAM,
                                            .name = "b",
                                            .help = "Help."},
                       err),
        NULL, 0, err);
    return KL_OK;
}

static kl_code observe(void *world_, kl_error *err)
{
    world *self = world_;

    (void)err;
    kl_series_observe(self->series, 1);
    return end_world(self, KL_OK);
}

/* Without memory for the labels, the series stays. */
static kl_code remove_series(void *world_, kl_error *err)
{
    world *self = world_;
    bool was_there = kl_metric_remove(self->counter, value, 1);

    return end_world(
        self, was_there ? KL_OK : kl_error_set(err, KL_ENOMEM, "not removed"));
}

static kl_code end_text(world *self, char *text, const kl_error *err)
{
    kl_code code = text != NULL ? KL_OK : err->code;

    kl_free(text);
    return end_world(self, code);
}

static kl_code make_text(void *world_, kl_error *err)
{
    world *self = world_;

    return end_text(self, kl_metrics_text(self->metrics, NULL, err), err);
}

static kl_code make_report(void *world_, kl_error *err)
{
    world *self = world_;

    self->report =
        kl_report_new(&(kl_report_options){.metrics = self->metrics}, err);
    return end_world(self, self->report != NULL ? KL_OK : err->code);
}

static kl_code begin_report(void *world_, kl_error *err)
{
    world *self = world_;

    if (begin_series(self, err) != KL_OK) {
        return err->code;
    }
    self->report =
        kl_report_new(&(kl_report_options){.metrics = self->metrics}, err);
    self->queue = kl_queue_new(NULL, err);
    return KL_OK;
}

static kl_reported *show(world *self, kl_error *err)
{
    return kl_report_add_controller(self->report,
                                    &(kl_reported_options){.name = "foo",
                                                           .queue = self->queue,
                                                           .lease = "foo"},
                                    err);
}

static kl_code add_controller(void *world_, kl_error *err)
{
    world *self = world_;
    kl_reported *controller = show(self, err);

    kl_report_remove_controller(self->report, controller);
    return end_world(self, controller != NULL ? KL_OK : err->code);
}

static kl_code begin_controller(void *world_, kl_error *err)
{
    world *self = world_;
    kl_code code = begin_report(self, err);

    if (code == KL_OK) {
        self->controller = show(self, err);
    }
    return code;
}

static kl_code tell_controller(void *world_, kl_error *err)
{
    world *self = world_;

    (void)err;
    kl_reported_set_listed(self->controller, true);
    kl_reported_set_leads_until(self->controller, INT64_MAX);
    return end_world(self, KL_OK);
}

static kl_code tell_loop(void *world_, kl_error *err)
{
    world *self = world_;
    kl_report *report = kl_report_ref(self->report);

    assert_ptr_equal(kl_report_metrics(report), self->metrics);
    assert_int_equal(kl_report_check(report, err), KL_OK);
    kl_report_beat(report, true);
    kl_report_set_started(report, true);
    kl_report_set_watchdog(report, NULL);
    kl_report_unref(report);
    return end_world(self, KL_OK);
}

static kl_code judge_health(void *world_, kl_error *err)
{
    world *self = world_;
    bool is_well;

    return end_text(self, kl_report_health(self->report, &is_well, err), err);
}

static kl_code judge_readiness(void *world_, kl_error *err)
{
    world *self = world_;
    bool is_well;

    return end_text(self, kl_report_readiness(self->report, &is_well, err),
                    err);
}

static kl_code tell_state(void *world_, kl_error *err)
{
    world *self = world_;

    return end_text(self, kl_report_status(self->report, NULL, err), err);
}

static kl_code tell_metrics(void *world_, kl_error *err)
{
    world *self = world_;

    return end_text(self, kl_report_metrics_text(self->report, NULL, err), err);
}

static kl_code name_reasons(void *world_, kl_error *err)
{
    (void)world_;
    (void)err;
    assert_string_equal(kl_reconnect_name(KL_RECONNECT_SILENT), "silent");
    return KL_OK;
}

static const every_call calls[] = {
    REFUSES(kl_metrics_new, make_metrics),
    REFUSES_AFTER(kl_metrics_add, add_metrics, begin_metrics),
    REFUSES_AFTER(kl_metric_series, find_series, begin_series),
    REFUSES_AFTER(kl_metric_remove, remove_series, begin_series),
    REFUSES_AFTER(kl_metrics_text, make_text, begin_series),
    NEVER_ALLOCATES_AFTER(kl_metrics_ref, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_metrics_unref, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_metric_label_count, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_metric_type_of, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_metric_name, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_series_unref, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_series_add, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_series_set, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_series_set_until, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_series_value, count_all, begin_series),
    NEVER_ALLOCATES_AFTER(kl_series_observe, observe, begin_histogram),
    REFUSES_AFTER(kl_report_new, make_report, begin_metrics),
    REFUSES_AFTER(kl_report_add_controller, add_controller, begin_report),
    REFUSES_AFTER(kl_report_remove_controller, add_controller, begin_report),
    NEVER_ALLOCATES_AFTER(kl_report_ref, tell_loop, begin_report),
    NEVER_ALLOCATES_AFTER(kl_report_unref, tell_loop, begin_report),
    NEVER_ALLOCATES_AFTER(kl_report_check, tell_loop, begin_report),
    NEVER_ALLOCATES_AFTER(kl_report_metrics, tell_loop, begin_report),
    NEVER_ALLOCATES_AFTER(kl_report_beat, tell_loop, begin_report),
    NEVER_ALLOCATES_AFTER(kl_report_set_started, tell_loop, begin_report),
    NEVER_ALLOCATES_AFTER(kl_report_set_watchdog, tell_loop, begin_report),
    NEVER_ALLOCATES_AFTER(kl_reported_set_listed, tell_controller,
                          begin_controller),
    NEVER_ALLOCATES_AFTER(kl_reported_set_leads_until, tell_controller,
                          begin_controller),
    REFUSES_AFTER(kl_report_health, judge_health, begin_controller),
    REFUSES_AFTER(kl_report_readiness, judge_readiness, begin_controller),
    REFUSES_AFTER(kl_report_status, tell_state, begin_controller),
    REFUSES_AFTER(kl_report_metrics_text, tell_metrics, begin_controller),
    NEVER_ALLOCATES(kl_reconnect_name, name_reasons),
};

static void each_call_on_metrics_survives_each_failed_allocation(void **state)
{
    world self = {0};

    (void)state;
    failing_alloc_install();
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &self});
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_on_metrics_survives_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
