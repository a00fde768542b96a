/*
 * metric.c - counters, gauges and histograms; see kubelua/metric.h. One mutex
 * guards which metrics and series there are, in all sets. Values are atomics,
 * which it does not guard.
 */
#include "base/metric.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct kl_metrics {
    atomic_int refs;
    kl__map by_name;
};

/* The default buckets of Prometheus' client for Go. */
static const double DEFAULT_BUCKETS[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                         0.5,   1,    2.5,   5,    10};

/* Rank METRICS. It guards `by_name` of each set and `series` of each metric.
 * Held for as long as the lines of one metric take to write. Static, so that a
 * child of fork() finds it free. */
static kl__mutex mutex = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_METRICS};

__attribute__((constructor)) static void keep_metrics_over_fork(void)
{
    kl__mutex_outlive_fork(&mutex, 1);
}

/* ---- values ---- */

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double real_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

double kl__real_get(const kl__real *real)
{
    return real_of(atomic_load_explicit(real, memory_order_relaxed));
}

void kl__real_set(kl__real *real, double value)
{
    atomic_store_explicit(real, bits_of(value), memory_order_relaxed);
}

void kl__real_add(kl__real *real, double by)
{
    uint64_t before = atomic_load_explicit(real, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(
        real, &before, bits_of(real_of(before) + by), memory_order_relaxed,
        memory_order_relaxed)) {
    }
}

void kl__histogram_observe(kl__histogram *histogram, double value)
{
    size_t low = 0, high = histogram->count;

    while (low < high) { /* the first bound that is not below the value */
        size_t middle = low + (high - low) / 2;

        if (!(value <= histogram->bounds[middle])) { /* NaN: in the last */
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    atomic_fetch_add_explicit(&histogram->buckets[low], 1,
                              memory_order_relaxed);
    kl__real_add(&histogram->sum, value);
}

void kl_series_add(kl_series *series, double by)
{
    kl__real_add(&series->value, by);
}

void kl_series_set(kl_series *series, double value)
{
    kl_series_set_until(series, value, INT64_MAX);
}

void kl_series_set_until(kl_series *series, double value, int64_t until_ms)
{
    atomic_store_explicit(&series->until_ms, until_ms, memory_order_relaxed);
    kl__real_set(&series->value, value);
}

void kl_series_observe(kl_series *series, double value)
{
    if (series->type == KL_METRIC_HISTOGRAM) {
        kl__histogram_observe(&series->histogram, value);
    }
}

void kl_series_unref(kl_series *series)
{
    if (series != NULL && atomic_fetch_sub_explicit(
                              &series->refs, 1, memory_order_acq_rel) == 1) {
        kl__free(series);
    }
}

/* ---- what Prometheus accepts ---- */

static bool is_name(const char *text, const char *also)
{
    for (const char *at = text; *at != '\0'; at++) {
        bool is_letter = (*at >= 'a' && *at <= 'z') ||
                         (*at >= 'A' && *at <= 'Z') || *at == '_' ||
                         strchr(also, *at) != NULL;

        if (!is_letter && (at == text || *at < '0' || *at > '9')) {
            return false;
        }
    }
    return text[0] != '\0';
}

static kl_code check_label(const kl_metric_options *options, size_t index,
                           kl_error *err)
{
    const char *name = options->labels[index];

    if (!is_name(name, "") || strncmp(name, "__", 2) == 0) {
        return kl_error_set(err, KL_EINVAL,
                            "metric %s: '%s' cannot be the name of a label: "
                            "use letters, digits and _, not a digit first, and "
                            "not __",
                            options->name, name);
    }
    if (options->type == KL_METRIC_HISTOGRAM && strcmp(name, "le") == 0) {
        return kl_error_set(err, KL_EINVAL,
                            "metric %s: a histogram has the label 'le' "
                            "already; choose another name",
                            options->name);
    }
    for (size_t i = 0; i < index; i++) {
        if (strcmp(options->labels[i], name) == 0) {
            return kl_error_set(err, KL_EINVAL,
                                "metric %s: two labels are called '%s'",
                                options->name, name);
        }
    }
    return KL_OK;
}

static kl_code check_buckets(const kl_metric_options *options, kl_error *err)
{
    if (options->bucket_count > 0 && options->type != KL_METRIC_HISTOGRAM) {
        return kl_error_set(err, KL_EINVAL,
                            "metric %s: only a histogram has buckets",
                            options->name);
    }
    if (options->bucket_count > KL_METRIC_BUCKETS_MAX) {
        return kl_error_set(err, KL_EINVAL,
                            "metric %s: %zu buckets are too "
                            "many; at most %d",
                            options->name, options->bucket_count,
                            KL_METRIC_BUCKETS_MAX);
    }
    for (size_t i = 0; i < options->bucket_count; i++) {
        bool is_rising =
            i == 0 || options->buckets[i] > options->buckets[i - 1];

        if (!isfinite(options->buckets[i]) || !is_rising) {
            return kl_error_set(err, KL_EINVAL,
                                "metric %s: buckets are numbers that rise, "
                                "without +Inf, which is added",
                                options->name);
        }
    }
    return KL_OK;
}

static kl_code check_options(const kl_metric_options *options, kl_error *err)
{
    const char *name = options->name != NULL ? options->name : "";
    kl_code code = KL_OK;

    if (!is_name(name, ":")) {
        return kl_error_set(err, KL_EINVAL,
                            "'%s' cannot be the name of a metric: use letters, "
                            "digits, _ and :, not a digit first, such as "
                            "shop_orders_total",
                            name);
    }
    if (options->help == NULL || options->help[0] == '\0') {
        return kl_error_set(err, KL_EINVAL,
                            "metric %s: a text of help is missing: what does "
                            "it count?",
                            name);
    }
    if (options->label_count > KL_METRIC_LABELS_MAX) {
        return kl_error_set(err, KL_EINVAL,
                            "metric %s: %zu labels are too many; at most %d",
                            name, options->label_count, KL_METRIC_LABELS_MAX);
    }
    for (size_t i = 0; i < options->label_count && code == KL_OK; i++) {
        code = check_label(options, i, err);
    }
    return code == KL_OK ? check_buckets(options, err) : code;
}

/* ---- metrics ---- */

static void free_metric(kl_metric *metric)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    while ((slot = kl__map_next(&metric->series, &cursor)) != NULL) {
        kl_series_unref(slot->value);
    }
    kl__map_deinit(&metric->series);
    for (size_t i = 0; metric->labels != NULL && i < metric->label_count; i++) {
        kl__free(metric->labels[i]);
    }
    kl__free(metric->labels);
    kl__free(metric->bounds);
    kl__free(metric->help);
    kl__free(metric->name);
    kl__free(metric);
}

static char *escape_help(const char *help)
{
    kl__buf text = {0};

    kl__metric_put_help(&text, help);
    return kl__buf_take(&text, NULL);
}

static bool copy_labels(kl_metric *metric, const kl_metric_options *options)
{
    metric->labels = kl__calloc(options->label_count + 1, sizeof(char *));
    if (metric->labels == NULL) {
        return false;
    }
    metric->label_count = options->label_count;
    for (size_t i = 0; i < options->label_count; i++) {
        metric->labels[i] = kl__strdup(options->labels[i]);
        if (metric->labels[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool copy_bounds(kl_metric *metric, const kl_metric_options *options)
{
    const double *bounds = options->buckets;
    size_t count = options->bucket_count;

    if (options->type != KL_METRIC_HISTOGRAM) {
        return true;
    }
    if (bounds == NULL || count == 0) {
        bounds = DEFAULT_BUCKETS;
        count = sizeof(DEFAULT_BUCKETS) / sizeof(DEFAULT_BUCKETS[0]);
    }
    metric->bounds = kl__malloc(count * sizeof(double));
    if (metric->bounds == NULL) {
        return false;
    }
    memcpy(metric->bounds, bounds, count * sizeof(double));
    metric->bound_count = count;
    return true;
}

/* NULL: out of memory. */
static kl_metric *make_metric(const kl_metric_options *options)
{
    kl_metric *metric = kl__calloc(1, sizeof(*metric));

    if (metric == NULL) {
        return NULL;
    }
    metric->type = options->type;
    metric->limit = options->limit != 0 ? options->limit : KL_METRIC_SERIES_MAX;
    metric->name = kl__strdup(options->name);
    metric->help = escape_help(options->help);
    if (metric->name == NULL || metric->help == NULL ||
        !copy_labels(metric, options) || !copy_bounds(metric, options)) {
        free_metric(metric);
        return NULL;
    }
    return metric;
}

static bool has_same_labels(const kl_metric *a, const kl_metric *b)
{
    for (size_t i = 0; a->label_count == b->label_count && i < a->label_count;
         i++) {
        if (strcmp(a->labels[i], b->labels[i]) != 0) {
            return false;
        }
    }
    return a->label_count == b->label_count;
}

/* KL_OK: `made` says the same as the metric that has its name. */
static kl_code compare_metrics(const kl_metric *known, const kl_metric *made,
                               kl_error *err)
{
    const char *differs = NULL;

    if (known->type != made->type) {
        differs = "is of another type";
    } else if (!has_same_labels(known, made)) {
        differs = "has other labels";
    } else if (known->bound_count != made->bound_count ||
               (known->bound_count > 0 &&
                memcmp(known->bounds, made->bounds,
                       known->bound_count * sizeof(double)) != 0)) {
        differs = "has other buckets";
    }
    return differs == NULL ? KL_OK
                           : kl_error_set(err, KL_ECONFLICT,
                                          "metric %s exists already, and %s",
                                          known->name, differs);
}

kl_metric *kl_metrics_add(kl_metrics *metrics, const kl_metric_options *options,
                          kl_error *err)
{
    kl_metric *made, *known;
    kl_code code = KL_OK;

    if (check_options(options, err) != KL_OK) {
        return NULL;
    }
    made = make_metric(options);
    if (made == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a metric");
        return NULL;
    }
    kl__mutex_lock(&mutex);
    known = kl__map_get(&metrics->by_name, made->name);
    if (known == NULL &&
        !kl__map_put(&metrics->by_name, made->name, made, NULL)) {
        code = kl_error_set(err, KL_ENOMEM, "out of memory for a metric");
    }
    kl__mutex_unlock(&mutex);
    if (known == NULL && code == KL_OK) {
        return made;
    }
    if (known != NULL) { /* what is compared never changes */
        code = compare_metrics(known, made, err);
    }
    free_metric(made);
    return code == KL_OK ? known : NULL;
}

size_t kl_metric_label_count(const kl_metric *metric)
{
    return metric->label_count;
}

kl_metric_type kl_metric_type_of(const kl_metric *metric)
{
    return metric->type;
}

const char *kl_metric_name(const kl_metric *metric)
{
    return metric->name;
}

/* ---- series ---- */

/* Makes a series. One allocation holds the series, then the counts of its
 * buckets, then the text of its labels. NULL: out of memory. */
static kl_series *make_series(const kl_metric *metric, const char *labels)
{
    bool has_buckets = metric->type == KL_METRIC_HISTOGRAM;
    size_t buckets = has_buckets ? metric->bound_count + 1 : 0;
    size_t length = strlen(labels) + 1;
    size_t counts = buckets * sizeof(atomic_uint_least64_t);
    kl_series *series = kl__calloc(1, sizeof(*series) + counts + length);

    if (series == NULL) {
        return NULL;
    }
    atomic_init(&series->refs, 2); /* the metric's, and the caller's */
    atomic_init(&series->until_ms, INT64_MAX);
    series->type = metric->type;
    series->histogram = (kl__histogram){
        .bounds = metric->bounds,
        .count = metric->bound_count,
        .buckets = (atomic_uint_least64_t *)(void *)(series + 1)};
    series->labels = (char *)(series + 1) + counts;
    memcpy(series->labels, labels, length);
    return series;
}

/* The series with this label text, with a reference for the caller. */
static kl_series *find_series_locked(kl_metric *metric, const char *labels,
                                     kl_error *err)
{
    kl_series *series = kl__map_get(&metric->series, labels);

    if (series != NULL) {
        atomic_fetch_add_explicit(&series->refs, 1, memory_order_relaxed);
        return series;
    }
    if (metric->series.count >= metric->limit) {
        kl_error_set(err, KL_ETOO_LARGE,
                     "metric %s has %zu sets of label values already, and may "
                     "not have more: does a label hold what is different each "
                     "time, such as a name? This one is {%s}",
                     metric->name, metric->limit, labels);
        return NULL;
    }
    series = make_series(metric, labels);
    if (series == NULL ||
        !kl__map_put(&metric->series, series->labels, series, NULL)) {
        kl__free(series);
        kl_error_set(err, KL_ENOMEM, "out of memory for a metric");
        return NULL;
    }
    return series;
}

/* Appends the label text of these values. */
static void put_label_values(kl__buf *out, const kl_metric *metric,
                             const char *const *values)
{
    kl__buf_append(out, "", 0);
    kl__metric_put_labels(out, (const char *const *)metric->labels, values,
                          metric->label_count);
}

kl_series *kl_metric_series(kl_metric *metric, const char *const *values,
                            size_t count, kl_error *err)
{
    kl_series *series = NULL;
    kl__buf labels = {0};

    if (count != metric->label_count) {
        kl_error_set(err, KL_EINVAL,
                     "metric %s has %zu labels, and %zu values are given",
                     metric->name, metric->label_count, count);
        return NULL;
    }
    put_label_values(&labels, metric, values);
    if (labels.failed) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a metric");
    } else {
        kl__mutex_lock(&mutex);
        series = find_series_locked(
            metric, labels.bytes != NULL ? labels.bytes : "", err);
        kl__mutex_unlock(&mutex);
    }
    kl__buf_deinit(&labels);
    return series;
}

bool kl_metric_remove(kl_metric *metric, const char *const *values,
                      size_t count)
{
    kl_series *series = NULL;
    kl__buf labels = {0};

    if (count != metric->label_count) {
        return false;
    }
    put_label_values(&labels, metric, values);
    if (!labels.failed) {
        kl__mutex_lock(&mutex);
        series = kl__map_remove(&metric->series,
                                labels.bytes != NULL ? labels.bytes : "");
        kl__mutex_unlock(&mutex);
    }
    kl__buf_deinit(&labels);
    kl_series_unref(series);
    return series != NULL;
}

/* ---- sets ---- */

kl_metrics *kl_metrics_new(kl_error *err)
{
    kl_metrics *metrics = kl__calloc(1, sizeof(*metrics));

    if (metrics == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for metrics");
        return NULL;
    }
    atomic_init(&metrics->refs, 1);
    return metrics;
}

kl_metrics *kl_metrics_ref(kl_metrics *metrics)
{
    atomic_fetch_add_explicit(&metrics->refs, 1, memory_order_relaxed);
    return metrics;
}

void kl_metrics_unref(kl_metrics *metrics)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    if (metrics == NULL || atomic_fetch_sub_explicit(
                               &metrics->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    while ((slot = kl__map_next(&metrics->by_name, &cursor)) != NULL) {
        free_metric(slot->value);
    }
    kl__map_deinit(&metrics->by_name);
    kl__free(metrics);
}

static int compare_names(const void *a, const void *b)
{
    const kl_metric *const *left = a, *const *right = b;

    return strcmp((*left)->name, (*right)->name);
}

/* All metrics, sorted by name; they live as long as the set. NULL: out of
 * memory. */
static kl_metric **sort_metrics(kl_metrics *metrics, size_t *count)
{
    const kl__map_slot *slot;
    size_t cursor = 0, filled = 0;
    kl_metric **sorted;

    kl__mutex_lock(&mutex);
    sorted = kl__calloc(metrics->by_name.count + 1, sizeof(kl_metric *));
    while (sorted != NULL &&
           (slot = kl__map_next(&metrics->by_name, &cursor)) != NULL) {
        sorted[filled++] = slot->value;
    }
    kl__mutex_unlock(&mutex);
    if (sorted != NULL) {
        qsort(sorted, filled, sizeof(kl_metric *), compare_names);
    }
    *count = filled;
    return sorted;
}

char *kl_metrics_text(kl_metrics *metrics, size_t *length, kl_error *err)
{
    kl__buf text = {0};
    size_t count = 0;
    kl_metric **sorted = sort_metrics(metrics, &count);
    char *taken;

    for (size_t i = 0; sorted != NULL && i < count; i++) {
        kl__mutex_lock(&mutex);
        kl__metric_put_locked(&text, sorted[i]);
        kl__mutex_unlock(&mutex);
    }
    taken = sorted != NULL && !text.failed ? kl__buf_take(&text, length) : NULL;
    if (taken == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a text");
    }
    kl__buf_deinit(&text);
    kl__free(sorted);
    return taken;
}
