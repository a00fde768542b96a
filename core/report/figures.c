/*
 * figures.c - the lines of a report's metrics that are read from informers,
 * queues, leases, the loop and the process when the text is made. The names are
 * those of client-go, controller-runtime and client_golang where these have
 * them: docs/METRICS.md.
 */
#include "report/report.h"

#include "base/metric.h"
#include "kubelua/version.h"
#include "report/process_figures.h"

#include <stdlib.h>
#include <string.h>

/* ---- informers ---- */

typedef double informer_value(const kl__informer_figures *one);

static double queued_of(const kl__informer_figures *one)
{
    return (double)one->status.queued;
}

/* The last 15 digits, which a double holds, as in client-go; 0: no number. */
static double version_of(const kl__informer_figures *one)
{
    size_t length = strlen(one->store_version);

    if (strspn(one->store_version, "0123456789") != length) {
        return 0;
    }
    return strtod(one->store_version + (length > 15 ? length - 15 : 0), NULL);
}

static double age_of(const kl__informer_figures *one)
{
    return one->status.last_message_age_ms < 0
               ? -1
               : (double)one->status.last_message_age_ms / 1000;
}

static double overdue_of(const kl__informer_figures *one)
{
    return (double)one->status.overdue_ms / 1000;
}

static double synced_of(const kl__informer_figures *one)
{
    return one->status.has_synced ? 1 : 0;
}

static double objects_of(const kl__informer_figures *one)
{
    return (double)one->status.objects;
}

static double unreadable_of(const kl__informer_figures *one)
{
    return (double)one->status.unreadable;
}

static double bytes_of(const kl__informer_figures *one)
{
    return (double)one->status.bytes;
}

static double lists_of(const kl__informer_figures *one)
{
    return (double)one->status.lists;
}

static double events_of(const kl__informer_figures *one)
{
    return (double)one->status.events;
}

static double failures_of(const kl__informer_figures *one)
{
    return (double)one->status.failures;
}

typedef struct informer_family {
    const char *name;
    const char *help;
    kl_metric_type type;
    informer_value *read;
    bool has_kind; /* has the labels group, version and resource, too */
} informer_family;

static const informer_family informer_families[] = {
    {"informer_queued_items", "Number of items currently queued in the FIFO.",
     KL_METRIC_GAUGE, queued_of, true},
    {"informer_store_resource_version",
     "The 15 least significant digits of the resource version of the store.",
     KL_METRIC_GAUGE, version_of, true},
    {"kubelua_informer_synced", "1 once the cache holds the first list.",
     KL_METRIC_GAUGE, synced_of, false},
    {"kubelua_informer_last_message_seconds",
     "Seconds since the server last sent anything; -1: never.", KL_METRIC_GAUGE,
     age_of, false},
    {"kubelua_informer_stuck_seconds",
     "For how long the thread that reads has not gone on as it should.",
     KL_METRIC_GAUGE, overdue_of, false},
    {"kubelua_informer_objects", "Objects in the cache.", KL_METRIC_GAUGE,
     objects_of, false},
    {"kubelua_informer_unreadable_objects",
     "Objects of the server that cannot be read now.", KL_METRIC_GAUGE,
     unreadable_of, false},
    {"kubelua_informer_received_bytes_total",
     "Bytes of lists and watches that were read, unzipped.", KL_METRIC_COUNTER,
     bytes_of, false},
    {"kubelua_informer_lists_total", "Lists that came in whole.",
     KL_METRIC_COUNTER, lists_of, false},
    {"kubelua_informer_events_total", "Events of watches, bookmarks included.",
     KL_METRIC_COUNTER, events_of, false},
    {"kubelua_informer_failures_total", "Lists and watches that failed.",
     KL_METRIC_COUNTER, failures_of, false},
};

/* Writes the labels of an informer into `out`, which it empties first. */
static const char *make_labels(kl__buf *out, const kl__informer_figures *one,
                               bool has_kind, const char *reason)
{
    static const char *const with_kind[] = {"name", "group", "version",
                                            "resource"};
    static const char *const with_reason[] = {"name", "reason"};
    const char *values[] = {one->name, one->group, one->version, one->resource};

    kl__buf_reset(out);
    if (reason != NULL) {
        values[1] = reason;
        kl__metric_put_labels(out, with_reason, values, 2);
    } else {
        kl__metric_put_labels(out, with_kind, values, has_kind ? 4 : 1);
    }
    return out->failed ? "" : out->bytes;
}

static void put_latencies(const kl__seen *seen, kl__buf *labels, kl__buf *out)
{
    static const char name[] = "informer_processing_latency_seconds";

    kl__metric_put_head(out, name,
                        "Time taken to process events after popping from the "
                        "queue.",
                        KL_METRIC_HISTOGRAM);
    for (size_t i = 0; i < seen->count; i++) {
        const kl__informer_figures *one = &seen->informers[i];
        atomic_uint_least64_t buckets[KL__LATENCY_BUCKETS + 1];
        kl__histogram histogram = {.bounds = kl__latency_bounds,
                                   .count = KL__LATENCY_BUCKETS,
                                   .buckets = buckets};

        for (size_t j = 0; j <= KL__LATENCY_BUCKETS; j++) {
            atomic_init(&buckets[j], one->buckets[j]);
        }
        kl__real_set(&histogram.sum, one->taken_seconds);
        kl__metric_put_histogram(
            out, name, make_labels(labels, one, true, NULL), &histogram);
    }
}

static void put_reconnects(const kl__seen *seen, kl__buf *labels, kl__buf *out)
{
    static const char name[] = "kubelua_informer_reconnects_total";

    kl__metric_put_head(out, name,
                        "Watches that ended, and were opened again, by reason.",
                        KL_METRIC_COUNTER);
    for (size_t i = 0; i < seen->count; i++) {
        const kl__informer_figures *one = &seen->informers[i];

        for (int j = 0; j < KL_RECONNECT_REASONS; j++) {
            kl__metric_put_line(out, name, "",
                                make_labels(labels, one, false,
                                            kl_reconnect_name((kl_reconnect)j)),
                                (double)one->status.reconnects[j]);
        }
    }
}

static void put_informers(const kl__seen *seen, kl__buf *labels, kl__buf *out)
{
    size_t families = sizeof(informer_families) / sizeof(informer_families[0]);

    for (size_t i = 0; i < families && seen->count > 0; i++) {
        const informer_family *family = &informer_families[i];

        kl__metric_put_head(out, family->name, family->help, family->type);
        for (size_t j = 0; j < seen->count; j++) {
            const kl__informer_figures *one = &seen->informers[j];

            kl__metric_put_line(
                out, family->name, "",
                make_labels(labels, one, family->has_kind, NULL),
                family->read(one));
        }
    }
    if (seen->count > 0) {
        put_latencies(seen, labels, out);
        put_reconnects(seen, labels, out);
    }
}

/* ---- controllers ---- */

typedef struct controller_figures {
    kl_queue_status queue;
    int workers;
} controller_figures;

typedef double controller_value(const controller_figures *one);

static double depth_of(const controller_figures *one)
{
    return (double)one->queue.waiting;
}

static double adds_of(const controller_figures *one)
{
    return (double)one->queue.adds;
}

static double retries_of(const controller_figures *one)
{
    return (double)one->queue.retries;
}

static double unfinished_of(const controller_figures *one)
{
    return (double)one->queue.unfinished_ms / 1000;
}

static double longest_of(const controller_figures *one)
{
    return (double)one->queue.longest_run_ms / 1000;
}

static double active_of(const controller_figures *one)
{
    return (double)one->queue.in_progress;
}

static double workers_of(const controller_figures *one)
{
    return one->workers;
}

static double delayed_of(const controller_figures *one)
{
    return (double)one->queue.delayed;
}

static double failing_of(const controller_figures *one)
{
    return (double)one->queue.failing;
}

typedef struct controller_family {
    const char *name;
    const char *help;
    kl_metric_type type;
    controller_value *read;
    bool has_name; /* has the label name, too, as in controller-runtime */
} controller_family;

static const controller_family controller_families[] = {
    {"workqueue_depth", "Current depth of workqueue", KL_METRIC_GAUGE, depth_of,
     true},
    {"workqueue_adds_total", "Total number of adds handled by workqueue",
     KL_METRIC_COUNTER, adds_of, true},
    {"workqueue_retries_total", "Total number of retries handled by workqueue",
     KL_METRIC_COUNTER, retries_of, true},
    {"workqueue_unfinished_work_seconds",
     "How many seconds of work has been done that is in progress and hasn't "
     "been observed by work_duration.",
     KL_METRIC_GAUGE, unfinished_of, true},
    {"workqueue_longest_running_processor_seconds",
     "How many seconds has the longest running processor for workqueue been "
     "running.",
     KL_METRIC_GAUGE, longest_of, true},
    {"controller_runtime_active_workers",
     "Number of currently used workers per controller", KL_METRIC_GAUGE,
     active_of, false},
    {"controller_runtime_max_concurrent_reconciles",
     "Maximum number of concurrent reconciles per controller", KL_METRIC_GAUGE,
     workers_of, false},
    {"kubelua_controller_delayed_keys",
     "Keys with a timer, in backoff, or gathering events.", KL_METRIC_GAUGE,
     delayed_of, false},
    {"kubelua_controller_failing_keys", "Keys whose last run failed.",
     KL_METRIC_GAUGE, failing_of, false},
};

static kl_reported *controller_at(kl__list *node)
{
    return KL__CONTAINER(node, kl_reported, node);
}

static void add_controller(controller_figures *sum, const kl_reported *one)
{
    kl_queue_status status;

    kl_queue_get_status(one->queue, &status);
    sum->queue.waiting += status.waiting;
    sum->queue.adds += status.adds;
    sum->queue.retries += status.retries;
    sum->queue.unfinished_ms += status.unfinished_ms;
    sum->queue.in_progress += status.in_progress;
    sum->queue.delayed += status.delayed;
    sum->queue.failing += status.failing;
    if (status.longest_run_ms > sum->queue.longest_run_ms) {
        sum->queue.longest_run_ms = status.longest_run_ms;
    }
    sum->workers += one->workers;
}

/* The sum of all controllers of one name, of several clusters. False: an
 * earlier one has that name, and this one is in its sum. */
static bool sum_controllers(kl_report *report, kl__list *first,
                            controller_figures *sum)
{
    bool is_earlier = true;

    *sum = (controller_figures){0};
    for (kl__list *node = report->controllers.next;
         node != &report->controllers; node = node->next) {
        bool is_same =
            strcmp(controller_at(node)->name, controller_at(first)->name) == 0;

        is_earlier = is_earlier && node != first;
        if (is_same && is_earlier) {
            return false;
        }
        if (is_same) {
            add_controller(sum, controller_at(node));
        }
    }
    return true;
}

static void put_controller_family(kl_report *report,
                                  const controller_family *family,
                                  kl__buf *labels, kl__buf *out)
{
    static const char *const names[] = {"controller", "name"};

    kl__metric_put_head(out, family->name, family->help, family->type);
    for (kl__list *node = report->controllers.next;
         node != &report->controllers; node = node->next) {
        const char *name = controller_at(node)->name;
        const char *values[] = {name, name};
        controller_figures sum;

        if (sum_controllers(report, node, &sum)) {
            kl__buf_reset(labels);
            kl__metric_put_labels(labels, names, values,
                                  family->has_name ? 2 : 1);
            kl__metric_put_line(out, family->name, "",
                                labels->failed ? "" : labels->bytes,
                                family->read(&sum));
        }
    }
}

/* Of several controllers with one lease, one shows it. */
static bool has_earlier_lease(kl_report *report, const kl_reported *one)
{
    for (kl__list *node = report->controllers.next; controller_at(node) != one;
         node = node->next) {
        const char *lease = controller_at(node)->lease;

        if (lease != NULL && strcmp(lease, one->lease) == 0) {
            return true;
        }
    }
    return false;
}

static void put_leases(kl_report *report, kl__buf *labels, kl__buf *out)
{
    static const char name[] = "leader_election_master_status";
    static const char *const names[] = {"name"};
    bool has_head = false;

    for (kl__list *node = report->controllers.next;
         node != &report->controllers; node = node->next) {
        const kl_reported *one = controller_at(node);
        const char *values[] = {one->lease};

        if (one->lease == NULL || has_earlier_lease(report, one)) {
            continue;
        }
        if (!has_head) {
            kl__metric_put_head(
                out, name,
                "Gauge of if the reporting system is master of the relevant "
                "lease, 0 indicates backup, 1 indicates master. 'name' is the "
                "string used to identify the lease. Please make sure to group "
                "by name.",
                KL_METRIC_GAUGE);
            has_head = true;
        }
        kl__buf_reset(labels);
        kl__metric_put_labels(labels, names, values, 1);
        kl__metric_put_line(out, name, "", labels->failed ? "" : labels->bytes,
                            kl__reported_leads(one) ? 1 : 0);
    }
}

static void put_controllers(kl_report *report, kl__buf *labels, kl__buf *out)
{
    size_t families =
        sizeof(controller_families) / sizeof(controller_families[0]);

    if (kl__list_empty(&report->controllers)) {
        return;
    }
    for (size_t i = 0; i < families; i++) {
        put_controller_family(report, &controller_families[i], labels, out);
    }
    put_leases(report, labels, out);
}

/* ---- the loop and the process ---- */

static void put_one(kl__buf *out, const char *name, const char *help,
                    kl_metric_type type, double value)
{
    kl__metric_put_head(out, name, help, type);
    kl__metric_put_line(out, name, "", "", value);
}

static void put_process(kl_report *report, kl__buf *out)
{
    char name[16];

    kl__metric_put_head(out, "kubelua_build_info",
                        "1, with the version of KubeLua as a label.",
                        KL_METRIC_GAUGE);
    kl__metric_put_line(out, "kubelua_build_info", "",
                        "version=\"" KL_VERSION "\"", 1);
    if (atomic_load_explicit(&report->awake_since_ms, memory_order_relaxed) >=
        0) {
        put_one(
            out, "kubelua_loop_blocked_seconds",
            "For how long the loop has not gone on.", KL_METRIC_GAUGE,
            (double)kl__report_blocked_ms_locked(report, name, sizeof(name)) /
                1000);
    }
    for (size_t i = 0; i < KL__PROCESS_FIGURES; i++) {
        const kl__process_figure *figure = &kl__process_figures[i];
        double value;

        if (figure->read(&value)) {
            put_one(out, figure->name, figure->help, figure->type, value);
        }
    }
}

void kl__report_put_figures_locked(kl_report *report, const kl__seen *seen,
                                   kl__buf *out)
{
    kl__buf labels = {0};

    put_informers(seen, &labels, out);
    put_controllers(report, &labels, out);
    put_process(report, out);
    out->failed = out->failed || labels.failed;
    kl__buf_deinit(&labels);
}
