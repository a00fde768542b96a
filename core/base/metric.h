/*
 * metric.h (internal) - the parts of a metric that its text is made of, and a
 * histogram that other structs can contain. See kubelua/metric.h.
 */
#ifndef KL_BASE_METRIC_H
#define KL_BASE_METRIC_H

#include "base/buf.h"
#include "base/map.h"
#include "kubelua/metric.h"

#include <stdatomic.h>

/* The bits of a double. Relaxed: a value orders nothing. */
typedef atomic_uint_least64_t kl__real;

void kl__real_add(kl__real *real, double by);
void kl__real_set(kl__real *real, double value);
double kl__real_get(const kl__real *real);

/* A histogram: how many values are in each bucket, not in those below it, too.
 */
typedef struct kl__histogram {
    const double *bounds; /* borrowed, rising */
    size_t count;         /* of bounds; there is one bucket more, for +Inf */
    atomic_uint_least64_t *buckets;
    kl__real sum;
} kl__histogram;

/* Any thread; takes no lock. */
void kl__histogram_observe(kl__histogram *histogram, double value);

struct kl_series {
    atomic_int refs; /* one of the metric while it is shown, one of each user */
    kl_metric_type type;
    kl__real value;
    /* Of a gauge: from this time of CLOCK_BOOTTIME on it is 0; INT64_MAX: it
     * stays. Relaxed, as the value: a reader may see one of them changed. */
    atomic_int_least64_t until_ms;
    kl__histogram histogram; /* its buckets are behind the labels */
    char *labels;            /* shop="a",zone="b"; in the same block */
};

struct kl_metric {
    kl_metric_type type;
    char *name;
    char *help; /* escaped */
    char **labels;
    size_t label_count;
    double *bounds; /* of a histogram */
    size_t bound_count;
    size_t limit;
    kl__map series; /* by label text; guarded by the mutex of metric.c */
};

/* ---- metric_text.c ---- */

/* Appends `name="value"` of each label, with commas. */
void kl__metric_put_labels(kl__buf *out, const char *const *names,
                           const char *const *values, size_t count);
/* Appends the lines HELP and TYPE. `help` is escaped. */
void kl__metric_put_head(kl__buf *out, const char *name, const char *help,
                         kl_metric_type type);
/* Appends a line: the name with `suffix`, the labels ("" for none), a value. */
void kl__metric_put_line(kl__buf *out, const char *name, const char *suffix,
                         const char *labels, double value);
/* Appends the lines of a histogram. */
void kl__metric_put_histogram(kl__buf *out, const char *name,
                              const char *labels,
                              const kl__histogram *histogram);
/* Appends the lines of all series, sorted by labels; the mutex is held. */
void kl__metric_put_locked(kl__buf *out, const kl_metric *metric);
/* Appends text, with what a help line cannot hold escaped. */
void kl__metric_put_help(kl__buf *out, const char *help);

#endif
