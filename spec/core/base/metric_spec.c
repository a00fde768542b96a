/*
 * metric_spec.c - what the text of metrics looks like, what Prometheus would
 * refuse, how many series there may be, and threads that count while another
 * one reads.
 */
#include "gate.h"

#include "base/clock.h"
#include "kubelua/memory.h"
#include "kubelua/metric.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int set_up(void **state)
{
    *state = kl_metrics_new(NULL);
    return *state != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    kl_metrics_unref(*state);
    return 0;
}

#define METRIC_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static kl_metric *add(kl_metrics *metrics, kl_metric_type type,
                      const char *name, const char *label)
{
    kl_metric *metric = kl_metrics_add(
        metrics,
        &(kl_metric_options){.type = type,
                             .name = name,
                             .help = "Help.",
                             .labels = &label,
                             .label_count = label != NULL ? 1 : 0},
        NULL);

    assert_non_null(metric);
    return metric;
}

static kl_series *series_of(kl_metric *metric, const char *value)
{
    kl_series *series =
        kl_metric_series(metric, &value, value != NULL ? 1 : 0, NULL);

    assert_non_null(series);
    return series;
}

static void assert_text(kl_metrics *metrics, const char *expected)
{
    size_t length;
    char *text = kl_metrics_text(metrics, &length, NULL);

    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
    kl_free(text);
}

static void a_text_has_help_type_and_each_series_sorted(void **state)
{
    kl_metrics *metrics = *state;
    kl_metric *orders =
        add(metrics, KL_METRIC_COUNTER, "shop_orders_total", "shop");
    kl_series *b = series_of(orders, "b"), *a = series_of(orders, "a");
    kl_series *open =
        series_of(add(metrics, KL_METRIC_GAUGE, "open", NULL), NULL);

    kl_series_add(a, 1);
    kl_series_add(a, 0.1);
    kl_series_add(b, 1e15);
    kl_series_set(open, -INFINITY);
    assert_text(metrics, "# HELP open Help.\n"
                         "# TYPE open gauge\n"
                         "open -Inf\n"
                         "# HELP shop_orders_total Help.\n"
                         "# TYPE shop_orders_total counter\n"
                         "shop_orders_total{shop=\"a\"} 1.1\n"
                         "shop_orders_total{shop=\"b\"} 1e+15\n");
    kl_series_unref(a);
    kl_series_unref(b);
    kl_series_unref(open);
}

static void what_would_break_a_line_is_escaped(void **state)
{
    kl_metrics *metrics = *state;
    const char *label = "name";
    kl_metric *metric = kl_metrics_add(
        metrics,
        &(kl_metric_options){.type = KL_METRIC_GAUGE,
                             .name = "a",
                             .help = "One\n\"line\" \\ here \xff",
                             .labels = &label,
                             .label_count = 1},
        NULL);

    kl_series_unref(series_of(metric, "\"x\"\n\\\xc3\xa4\xff"));
    assert_text(metrics, "# HELP a One\\n\"line\" \\\\ here \xef\xbf\xbd\n"
                         "# TYPE a gauge\n"
                         "a{name=\"\\\"x\\\"\\n\\\\\xc3\xa4\xef\xbf\xbd\"} "
                         "0\n");
}

static void a_histogram_counts_each_value_in_all_buckets_above_it(void **state)
{
    static const double bounds[] = {0.1, 1};
    kl_metrics *metrics = *state;
    kl_metric *metric =
        kl_metrics_add(metrics,
                       &(kl_metric_options){.type = KL_METRIC_HISTOGRAM,
                                            .name = "h",
                                            .help = "Help.",
                                            .buckets = bounds,
                                            .bucket_count = 2},
                       NULL);
    kl_series *series = series_of(metric, NULL);
    uint64_t count;

    kl_series_observe(series, 0.1); /* a bound is within its bucket */
    kl_series_observe(series, 0.5);
    kl_series_observe(series, 2);
    assert_text(metrics, "# HELP h Help.\n"
                         "# TYPE h histogram\n"
                         "h_bucket{le=\"0.1\"} 1\n"
                         "h_bucket{le=\"1\"} 2\n"
                         "h_bucket{le=\"+Inf\"} 3\n"
                         "h_sum 2.6\n"
                         "h_count 3\n");
    assert_true(kl_series_value(series, &count) == 2.6);
    assert_int_equal(count, 3);
    kl_series_observe(series, NAN); /* in no bucket but the last */
    assert_text(metrics, "# HELP h Help.\n"
                         "# TYPE h histogram\n"
                         "h_bucket{le=\"0.1\"} 1\n"
                         "h_bucket{le=\"1\"} 2\n"
                         "h_bucket{le=\"+Inf\"} 4\n"
                         "h_sum NaN\n"
                         "h_count 4\n");
    kl_series_unref(series);
}

static void a_gauge_with_an_end_is_0_after_it(void **state)
{
    kl_series *series =
        series_of(add(*state, KL_METRIC_GAUGE, "leads", NULL), NULL);

    kl_series_set_until(series, 1, kl__boottime_ms() + 3600000);
    assert_text(*state, "# HELP leads Help.\n# TYPE leads gauge\nleads 1\n");
    kl_series_set_until(series, 1, kl__boottime_ms() - 1);
    assert_text(*state, "# HELP leads Help.\n# TYPE leads gauge\nleads 0\n");
    kl_series_unref(series);
}

static void a_metric_is_found_again_by_its_name(void **state)
{
    kl_metric *metric = add(*state, KL_METRIC_COUNTER, "a_total", "x");
    const char *label = "x";

    assert_ptr_equal(add(*state, KL_METRIC_COUNTER, "a_total", "x"), metric);
    assert_int_equal(kl_metric_label_count(metric), 1);
    assert_int_equal(kl_metric_type_of(metric), KL_METRIC_COUNTER);
    assert_string_equal(kl_metric_name(metric), "a_total");
    (void)label;
}

typedef struct refusal {
    kl_metric_options options;
    kl_code code;
    const char *says;
} refusal;

static const char *const bad[] = {"a-b", "__a", "le", "x", "x"};
static const double falling[] = {2, 1}, infinite[] = {1, INFINITY};
static const refusal refusals[] = {
    {{.name = "1a", .help = "h"}, KL_EINVAL, "'1a' cannot be the name"},
    {{.name = "a b", .help = "h"}, KL_EINVAL, "'a b' cannot be the name"},
    {{.help = "h"}, KL_EINVAL, "'' cannot be the name"},
    {{.name = "a"}, KL_EINVAL, "metric a: a text of help is missing"},
    {{.name = "a", .help = "h", .labels = bad, .label_count = 1},
     KL_EINVAL,
     "metric a: 'a-b' cannot be the name of a label"},
    {{.name = "a", .help = "h", .labels = bad + 1, .label_count = 1},
     KL_EINVAL,
     "metric a: '__a' cannot be the name of a label"},
    {{.type = KL_METRIC_HISTOGRAM,
      .name = "a",
      .help = "h",
      .labels = bad + 2,
      .label_count = 1},
     KL_EINVAL,
     "metric a: a histogram has the label 'le' already"},
    {{.name = "a", .help = "h", .labels = bad + 3, .label_count = 2},
     KL_EINVAL,
     "metric a: two labels are called 'x'"},
    {{.name = "a", .help = "h", .labels = bad, .label_count = 17},
     KL_EINVAL,
     "metric a: 17 labels are too many"},
    {{.name = "a", .help = "h", .buckets = falling, .bucket_count = 1},
     KL_EINVAL,
     "metric a: only a histogram has buckets"},
    {{.type = KL_METRIC_HISTOGRAM,
      .name = "a",
      .help = "h",
      .buckets = falling,
      .bucket_count = 2},
     KL_EINVAL,
     "metric a: buckets are numbers that rise"},
    {{.type = KL_METRIC_HISTOGRAM,
      .name = "a",
      .help = "h",
      .buckets = infinite,
      .bucket_count = 2},
     KL_EINVAL,
     "metric a: buckets are numbers that rise"},
    {{.type = KL_METRIC_HISTOGRAM,
      .name = "a",
      .help = "h",
      .buckets = falling,
      .bucket_count = 101},
     KL_EINVAL,
     "metric a: 101 buckets are too many"},
    {{.type = KL_METRIC_GAUGE, .name = "known", .help = "h"},
     KL_ECONFLICT,
     "metric known exists already, and is of another type"},
    {{.name = "known", .help = "h", .labels = bad + 3, .label_count = 1},
     KL_ECONFLICT,
     "metric known exists already, and has other labels"},
    {{.type = KL_METRIC_HISTOGRAM,
      .name = "timed",
      .help = "h",
      .buckets = falling,
      .bucket_count = 1},
     KL_ECONFLICT,
     "metric timed exists already, and has other buckets"},
};

static void what_prometheus_refuses_is_refused(void **state)
{
    kl_error err;

    add(*state, KL_METRIC_COUNTER, "known", NULL);
    add(*state, KL_METRIC_HISTOGRAM, "timed", NULL);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        assert_null(kl_metrics_add(*state, &refusals[i].options, &err));
        assert_int_equal(err.code, refusals[i].code);
        if (strstr(err.message, refusals[i].says) == NULL) {
            assert_string_equal(err.message, refusals[i].says);
        }
    }
}

static void more_label_sets_than_the_limit_are_refused(void **state)
{
    const char *label = "user";
    kl_metric *metric =
        kl_metrics_add(*state,
                       &(kl_metric_options){.name = "logins_total",
                                            .help = "Help.",
                                            .labels = &label,
                                            .label_count = 1,
                                            .limit = 2},
                       NULL);
    const char *third = "c";
    kl_error err;

    kl_series_unref(series_of(metric, "a"));
    kl_series_unref(series_of(metric, "b"));
    assert_null(kl_metric_series(metric, &third, 1, &err));
    assert_int_equal(err.code, KL_ETOO_LARGE);
    assert_non_null(strstr(
        err.message, "metric logins_total has 2 sets of label values already"));
    kl_series_unref(series_of(metric, "a")); /* a known one goes on */
    label = "a";
    assert_true(kl_metric_remove(metric, &label, 1));
    assert_false(kl_metric_remove(metric, &label, 1));
    kl_series_unref(series_of(metric, "c"));
    assert_null(kl_metric_series(metric, &third, 0, &err));
    assert_int_equal(err.code, KL_EINVAL);
}

static void a_series_that_was_removed_can_still_be_counted_in(void **state)
{
    kl_metric *metric = add(*state, KL_METRIC_COUNTER, "a_total", "x");
    kl_series *series = series_of(metric, "v");
    const char *value = "v";

    kl_series_add(series, 1);
    assert_true(kl_metric_remove(metric, &value, 1));
    kl_series_add(series, 1);
    assert_text(*state, "");
    kl_series_unref(series_of(metric, "v")); /* begins at 0 */
    assert_text(*state, "# HELP a_total Help.\n# TYPE a_total counter\n"
                        "a_total{x=\"v\"} 0\n");
    kl_series_unref(series);
}

enum { THREADS = 4, ROUNDS = 5000 };

typedef struct crowd {
    kl_metrics *metrics;
    gate start;
} crowd;

static void *count_rounds(void *arg)
{
    crowd *self = arg;
    kl_metric *total = add(self->metrics, KL_METRIC_COUNTER, "total", "n");
    kl_series *seconds = series_of(
        add(self->metrics, KL_METRIC_HISTOGRAM, "seconds", NULL), NULL);

    gate_await(&self->start, 1);
    for (int i = 0; i < ROUNDS; i++) {
        char value[8];
        const char *values[] = {value};
        kl_series *series;

        snprintf(value, sizeof(value), "%d", i % 8);
        series = kl_metric_series(total, values, 1, NULL);
        kl_series_add(series, 1);
        kl_series_unref(series);
        if (i % 100 == 0) {
            kl_metric_remove(total, (const char *const[]){"7"}, 1);
        }
        kl_series_observe(seconds, 0.01);
    }
    kl_series_unref(seconds);
    return NULL;
}

static void threads_count_while_another_one_reads(void **state)
{
    crowd self = {.metrics = *state};
    kl__thread threads[THREADS];
    kl_series *series;
    uint64_t count;

    gate_init(&self.start);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(
            kl__thread_start(&threads[i], "counter", count_rounds, &self, NULL),
            KL_OK);
    }
    gate_pass(&self.start);
    for (int i = 0; i < 200; i++) {
        char *text = kl_metrics_text(self.metrics, NULL, NULL);

        assert_non_null(text);
        kl_free(text);
    }
    for (int i = 0; i < THREADS; i++) {
        kl__thread_join(&threads[i]);
    }
    series = series_of(add(self.metrics, KL_METRIC_COUNTER, "total", "n"), "3");
    assert_true(kl_series_value(series, NULL) == THREADS * ROUNDS / 8);
    kl_series_unref(series);
    series = series_of(add(self.metrics, KL_METRIC_HISTOGRAM, "seconds", NULL),
                       NULL);
    (void)kl_series_value(series, &count);
    assert_int_equal(count, THREADS * ROUNDS);
    kl_series_unref(series);
    gate_deinit(&self.start);
}

static void a_child_of_fork_goes_on_with_the_values(void **state)
{
    kl_series *series =
        series_of(add(*state, KL_METRIC_COUNTER, "a_total", NULL), NULL);
    int status;
    pid_t child;

    kl_series_add(series, 2);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *text;

        kl_series_add(series, 1);
        text = kl_metrics_text(*state, NULL, NULL);
        _exit(text != NULL && strstr(text, "a_total 3\n") != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    kl_series_unref(series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        METRIC_SPEC(a_text_has_help_type_and_each_series_sorted),
        METRIC_SPEC(what_would_break_a_line_is_escaped),
        METRIC_SPEC(a_histogram_counts_each_value_in_all_buckets_above_it),
        METRIC_SPEC(a_gauge_with_an_end_is_0_after_it),
        METRIC_SPEC(a_metric_is_found_again_by_its_name),
        METRIC_SPEC(what_prometheus_refuses_is_refused),
        METRIC_SPEC(more_label_sets_than_the_limit_are_refused),
        METRIC_SPEC(a_series_that_was_removed_can_still_be_counted_in),
        METRIC_SPEC(threads_count_while_another_one_reads),
        METRIC_SPEC(a_child_of_fork_goes_on_with_the_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
