/*
 * metric.h - counters, gauges and histograms, and their text for Prometheus
 * (exposition format 0.0.4). report.h adds the figures of informers,
 * controllers and clients to that text.
 *
 * What a user can rely on:
 *
 * - Counting costs some atomic operations, and takes no lock: keep the series.
 * - Any thread may call anything, at any moment. A text that is made while
 *   others count has each value as it was at some moment meanwhile.
 * - The child of a fork() has a copy of all values, and goes on with it.
 */
#ifndef KUBELUA_METRIC_H
#define KUBELUA_METRIC_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set of metrics. */
typedef struct kl_metrics kl_metrics;
/* A metric: a name, a type, label names, and a series for each set of label
 * values. */
typedef struct kl_metric kl_metric;
/* The value of a metric for one set of label values. */
typedef struct kl_series kl_series;

typedef enum kl_metric_type {
    KL_METRIC_COUNTER,
    KL_METRIC_GAUGE,
    KL_METRIC_HISTOGRAM
} kl_metric_type;

/* The most labels of a metric, and the most buckets of a histogram. */
#define KL_METRIC_LABELS_MAX 16
#define KL_METRIC_BUCKETS_MAX 100
/* A metric may have this many series, unless its options set another limit. */
#define KL_METRIC_SERIES_MAX 1000

/* Zeroed fields are the defaults. All is copied. */
typedef struct kl_metric_options {
    kl_metric_type type;
    const char *name; /* "shop_orders_total" */
    const char *help; /* a line for people */
    const char *const *labels;
    size_t label_count;
    const double *buckets; /* of a histogram: upper bounds, rising; the last
                              one, +Inf, is added. NULL: those of client_golang,
                              0.005 to 10 */
    size_t bucket_count;
    size_t limit; /* the most series; 0: KL_METRIC_SERIES_MAX */
} kl_metric_options;

/* An empty set, with one reference for the caller. NULL: KL_ENOMEM. */
KL_API kl_metrics *kl_metrics_new(kl_error *err);
/* Adds a reference; returns `metrics`. */
KL_API kl_metrics *kl_metrics_ref(kl_metrics *metrics);
/* Drops a reference; the last one frees the set. NULL is fine. */
KL_API void kl_metrics_unref(kl_metrics *metrics);

/*
 * Adds a metric, or finds the one that has the same name, type, label names and
 * buckets. Borrowed from the set. NULL: KL_EINVAL (a name, a label or a help
 * text that Prometheus refuses, wrong buckets), KL_ECONFLICT (the name belongs
 * to a metric with another type, other labels or buckets), KL_ENOMEM.
 */
KL_API kl_metric *kl_metrics_add(kl_metrics *metrics,
                                 const kl_metric_options *options,
                                 kl_error *err);

/* How many labels the metric has; its type; its name, borrowed. */
KL_API size_t kl_metric_label_count(const kl_metric *metric);
KL_API kl_metric_type kl_metric_type_of(const kl_metric *metric);
KL_API const char *kl_metric_name(const kl_metric *metric);

/*
 * The series with these label values, made at the first call, with a reference
 * for the caller: kl_series_unref. Text that is no UTF-8 is replaced. NULL:
 * KL_EINVAL (another number of values than labels), KL_ETOO_LARGE (the metric
 * has as many series as its limit allows), KL_ENOMEM.
 */
KL_API kl_series *kl_metric_series(kl_metric *metric, const char *const *values,
                                   size_t count, kl_error *err);

/* Takes the series with these label values out of the text. True: there was
 * one. Counting in a series that was taken out goes on, and shows nowhere. */
KL_API bool kl_metric_remove(kl_metric *metric, const char *const *values,
                             size_t count);

/* Drops a reference; NULL is fine. */
KL_API void kl_series_unref(kl_series *series);

/* Adds to a counter or gauge; to a counter only 0 or more. */
KL_API void kl_series_add(kl_series *series, double by);
/* Sets a gauge. */
KL_API void kl_series_set(kl_series *series, double value);
/* Sets a gauge that is 0 from a time of CLOCK_BOOTTIME on, in ms: for what ends
 * by itself, such as a Lease that is not renewed. */
KL_API void kl_series_set_until(kl_series *series, double value,
                                int64_t until_ms);
/* Counts a value in a histogram. */
KL_API void kl_series_observe(kl_series *series, double value);
/* The value of a counter or gauge, the sum of a histogram. `count` (may be
 * NULL) gets how many values a histogram has counted. */
KL_API double kl_series_value(const kl_series *series, uint64_t *count);

/* The text of all metrics, sorted by name; the caller owns it: kl_free. NULL:
 * KL_ENOMEM. */
KL_API char *kl_metrics_text(kl_metrics *metrics, size_t *length,
                             kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
