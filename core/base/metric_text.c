/*
 * metric_text.c - the text of metrics, in Prometheus' exposition format 0.0.4.
 * See metric.h.
 */
#include "base/metric.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands for bytes that are no UTF-8: U+FFFD. */
static const char REPLACEMENT[] = "\xef\xbf\xbd";

/* Appends text with `\` and line breaks escaped, and quotes too if they end
 * it. */
static void put_escaped(kl__buf *out, const char *text, bool in_quotes)
{
    size_t left = strlen(text);

    while (left > 0) {
        size_t length = kl__utf8_length(text, left);

        if (length == 0) {
            kl__buf_puts(out, REPLACEMENT);
            length = 1;
        } else if (*text == '\n') {
            kl__buf_puts(out, "\\n");
        } else if (*text == '\\' || (*text == '"' && in_quotes)) {
            kl__buf_putc(out, '\\');
            kl__buf_putc(out, *text);
        } else {
            kl__buf_append(out, text, length);
        }
        text += length;
        left -= length;
    }
}

void kl__metric_put_help(kl__buf *out, const char *help)
{
    put_escaped(out, help, false);
}

void kl__metric_put_labels(kl__buf *out, const char *const *names,
                           const char *const *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        kl__buf_printf(out, "%s%s=\"", i > 0 ? "," : "", names[i]);
        put_escaped(out, values[i], true);
        kl__buf_putc(out, '"');
    }
}

void kl__metric_put_head(kl__buf *out, const char *name, const char *help,
                         kl_metric_type type)
{
    static const char *const types[] = {[KL_METRIC_COUNTER] = "counter",
                                        [KL_METRIC_GAUGE] = "gauge",
                                        [KL_METRIC_HISTOGRAM] = "histogram"};

    kl__buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                   types[type]);
}

/* Appends the shortest of two texts that reads back as the same value. */
static void put_value(kl__buf *out, double value)
{
    char text[32], *comma;

    if (isnan(value)) {
        kl__buf_puts(out, "NaN");
    } else if (isinf(value)) {
        kl__buf_puts(out, value > 0 ? "+Inf" : "-Inf");
    } else {
        snprintf(text, sizeof(text), "%.15g", value);
        if (strtod(text, NULL) != value) {
            snprintf(text, sizeof(text), "%.17g", value);
        }
        comma = strchr(text, ','); /* in some locales of the host */
        if (comma != NULL) {
            *comma = '.';
        }
        kl__buf_puts(out, text);
    }
}

void kl__metric_put_line(kl__buf *out, const char *name, const char *suffix,
                         const char *labels, double value)
{
    bool has_labels = labels[0] != '\0';

    kl__buf_printf(out, "%s%s%s%s%s ", name, suffix, has_labels ? "{" : "",
                   labels, has_labels ? "}" : "");
    put_value(out, value);
    kl__buf_putc(out, '\n');
}

void kl__metric_put_histogram(kl__buf *out, const char *name,
                              const char *labels,
                              const kl__histogram *histogram)
{
    uint64_t count = 0;

    /* The count is the sum of the buckets as they were read, so that the lines
     * agree while other threads count. */
    for (size_t i = 0; i <= histogram->count; i++) {
        count +=
            atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
        kl__buf_printf(out, "%s_bucket{%s%sle=\"", name, labels,
                       labels[0] != '\0' ? "," : "");
        put_value(out, i < histogram->count ? histogram->bounds[i] : INFINITY);
        kl__buf_printf(out, "\"} %llu\n", (unsigned long long)count);
    }
    kl__metric_put_line(out, name, "_sum", labels,
                        kl__real_get(&histogram->sum));
    kl__metric_put_line(out, name, "_count", labels, (double)count);
}

static int compare_series(const void *a, const void *b)
{
    const kl_series *const *left = a, *const *right = b;

    return strcmp((*left)->labels, (*right)->labels);
}

static double read_gauge(const kl_series *series)
{
    int64_t until_ms =
        atomic_load_explicit(&series->until_ms, memory_order_relaxed);

    return until_ms == INT64_MAX || kl__boottime_ms() < until_ms
               ? kl__real_get(&series->value)
               : 0;
}

double kl_series_value(const kl_series *series, uint64_t *count)
{
    uint64_t all = 0;

    if (series->type == KL_METRIC_HISTOGRAM) {
        for (size_t i = 0; i <= series->histogram.count; i++) {
            all += atomic_load_explicit(&series->histogram.buckets[i],
                                        memory_order_relaxed);
        }
    }
    if (count != NULL) {
        *count = all;
    }
    return series->type == KL_METRIC_HISTOGRAM
               ? kl__real_get(&series->histogram.sum)
               : read_gauge(series);
}

void kl__metric_put_locked(kl__buf *out, const kl_metric *metric)
{
    size_t count = metric->series.count, cursor = 0, filled = 0;
    const kl_series **sorted = kl__calloc(count + 1, sizeof(kl_series *));
    const kl__map_slot *slot;

    if (sorted == NULL) {
        out->failed = true;
        return;
    }
    while ((slot = kl__map_next(&metric->series, &cursor)) != NULL) {
        sorted[filled++] = slot->value;
    }
    qsort(sorted, count, sizeof(kl_series *), compare_series);
    if (count > 0) {
        kl__metric_put_head(out, metric->name, metric->help, metric->type);
    }
    for (size_t i = 0; i < count; i++) {
        if (metric->type == KL_METRIC_HISTOGRAM) {
            kl__metric_put_histogram(out, metric->name, sorted[i]->labels,
                                     &sorted[i]->histogram);
        } else {
            kl__metric_put_line(out, metric->name, "", sorted[i]->labels,
                                kl_series_value(sorted[i], NULL));
        }
    }
    kl__free(sorted);
}
