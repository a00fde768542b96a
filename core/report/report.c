/*
 * report.c - what a report holds: informers, clients, controllers, the loop.
 * health.c and figures.c make its texts. See kubelua/report.h.
 */
#include "report/report.h"

#include "base/mem.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_STUCK_MS = 5000 };

/* A client in a report. */
typedef struct seen_client {
    kl__list node;
    kl_client *client; /* a reference */
    char *host;
    /* What was counted of it already. */
    kl_request_count told[KL_REQUEST_COUNTS_MAX];
    size_t told_count;
} seen_client;

kl_report *kl_report_new(const kl_report_options *options, kl_error *err)
{
    kl_report *report;

    if (options == NULL || options->metrics == NULL || options->stuck_ms < 0) {
        kl_error_set(err, KL_EINVAL,
                     "a report needs metrics, and no time "
                     "below 0");
        return NULL;
    }
    report = kl__calloc(1, sizeof(*report));
    if (report == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a report");
        return NULL;
    }
    atomic_init(&report->refs, 1);
    atomic_init(&report->awake_since_ms, -1);
    atomic_init(&report->has_started, true);
    report->made_in = kl__process_here();
    report->metrics = kl_metrics_ref(options->metrics);
    report->stuck_ms =
        options->stuck_ms != 0 ? options->stuck_ms : DEFAULT_STUCK_MS;
    report->made_at_ms = kl__clock_now(kl__clock_real());
    kl__mutex_init(&report->mutex, KL__RANK_REPORT);
    kl__list_init(&report->informers);
    kl__list_init(&report->clients);
    kl__list_init(&report->controllers);
    return report;
}

kl_report *kl_report_ref(kl_report *report)
{
    atomic_fetch_add_explicit(&report->refs, 1, memory_order_relaxed);
    return report;
}

static void free_informer(kl__seen_informer *seen)
{
    kl_informer_unref(seen->informer);
    kl__free(seen);
}

static void free_client(seen_client *seen)
{
    kl_client_unref(seen->client);
    kl__free(seen->host);
    kl__free(seen);
}

static void free_controller(kl_reported *controller)
{
    kl__free(controller->lease);
    kl__free(controller->cluster);
    kl__free(controller);
}

void kl_report_unref(kl_report *report)
{
    kl__list *node;

    if (report == NULL || atomic_fetch_sub_explicit(
                              &report->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    while ((node = kl__list_shift(&report->informers)) != NULL) {
        free_informer(KL__CONTAINER(node, kl__seen_informer, node));
    }
    while ((node = kl__list_shift(&report->clients)) != NULL) {
        free_client(KL__CONTAINER(node, seen_client, node));
    }
    while ((node = kl__list_shift(&report->controllers)) != NULL) {
        free_controller(KL__CONTAINER(node, kl_reported, node));
    }
    if (kl__check_process(report->made_in, NULL) == KL_OK) {
        kl__mutex_deinit(&report->mutex);
    }
    kl_metrics_unref(report->metrics);
    kl__free(report);
}

kl_code kl_report_check(const kl_report *report, kl_error *err)
{
    return kl__check_process(report->made_in, err);
}

kl_metrics *kl_report_metrics(const kl_report *report)
{
    return report->metrics;
}

/* ---- informers ---- */

kl_code kl_report_add_informer(kl_report *report, kl_informer *informer,
                               kl_error *err)
{
    kl__seen_informer *seen;

    if (kl_report_check(report, err) != KL_OK) {
        return KL_EFORKED;
    }
    seen = kl__malloc(sizeof(*seen));
    if (seen == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for an informer");
    }
    seen->informer = kl_informer_ref(informer);
    kl__mutex_lock(&report->mutex);
    kl__list_append(&report->informers, &seen->node);
    kl__mutex_unlock(&report->mutex);
    return KL_OK;
}

void kl_report_remove_informer(kl_report *report, kl_informer *informer)
{
    kl__seen_informer *found = NULL;

    if (kl_report_check(report, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&report->mutex);
    for (kl__list *node = report->informers.next;
         node != &report->informers && found == NULL; node = node->next) {
        kl__seen_informer *seen = KL__CONTAINER(node, kl__seen_informer, node);

        found = seen->informer == informer ? seen : NULL;
    }
    if (found != NULL) {
        kl__list_remove(&found->node);
    }
    kl__mutex_unlock(&report->mutex);
    if (found != NULL) {
        free_informer(found); /* without the mutex: it may end the informer */
    }
}

static bool is_seen(const kl__seen *seen, const void *shared)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->informers[i].shared == shared) {
            return true;
        }
    }
    return false;
}

/* Gives informers of one name, of several clients or with other options, names
 * of their own: "pods", "pods (2)". */
static void make_unique(kl__seen *seen)
{
    kl__informer_figures *last = &seen->informers[seen->count];
    char base[sizeof(last->name) - 16];
    unsigned number = 1;

    snprintf(base, sizeof(base), "%.*s", (int)sizeof(base) - 1, last->name);
    for (size_t i = 0; i < seen->count; i++) {
        if (strcmp(seen->informers[i].name, last->name) == 0) {
            snprintf(last->name, sizeof(last->name), "%s (%u)", base, ++number);
            i = (size_t)-1; /* look again, from the first on */
        }
    }
}

bool kl__report_look_locked(kl_report *report, kl__seen *seen)
{
    size_t count = 1;

    for (kl__list *node = report->informers.next; node != &report->informers;
         node = node->next) {
        count++;
    }
    *seen =
        (kl__seen){.informers = kl__calloc(count, sizeof(*seen->informers))};
    if (seen->informers == NULL) {
        return false;
    }
    for (kl__list *node = report->informers.next; node != &report->informers;
         node = node->next) {
        kl__seen_informer *one = KL__CONTAINER(node, kl__seen_informer, node);
        kl__informer_figures *to = &seen->informers[seen->count];

        if (kl__informer_figures_get(one->informer, to) &&
            to->status.state != KL_STATE_STOPPED &&
            !is_seen(seen, to->shared)) {
            make_unique(seen);
            seen->count++;
        }
    }
    return true;
}

void kl__seen_clear(kl__seen *seen)
{
    kl__free(seen->informers);
    *seen = (kl__seen){0};
}

/* ---- clients ---- */

/* "10.0.0.1:6443" of a URL, as client-go has it in its label. */
static char *host_of(const char *server)
{
    const char *host, *end;

    if (server == NULL) {
        return kl__strdup("simulator");
    }
    host = strstr(server, "://");
    host = host != NULL ? host + 3 : server;
    end = host + strcspn(host, "/?#");
    for (const char *at = host; at < end; at++) {
        host = *at == '@' ? at + 1 : host;
    }
    return kl__strndup(host, (size_t)(end - host));
}

kl_code kl_report_add_client(kl_report *report, kl_client *client,
                             kl_error *err)
{
    seen_client *seen;

    if (kl_report_check(report, err) != KL_OK) {
        return KL_EFORKED;
    }
    seen = kl__calloc(1, sizeof(*seen));
    if (seen != NULL) {
        seen->host = host_of(kl_client_server(client));
    }
    if (seen == NULL || seen->host == NULL) {
        kl__free(seen);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a client");
    }
    seen->client = kl_client_ref(client);
    kl__mutex_lock(&report->mutex);
    kl__list_append(&report->clients, &seen->node);
    kl__mutex_unlock(&report->mutex);
    return KL_OK;
}

static uint64_t *find_told(seen_client *seen, const kl_request_count *count)
{
    for (size_t i = 0; i < seen->told_count; i++) {
        if (seen->told[i].status == count->status &&
            seen->told[i].method == count->method) {
            return &seen->told[i].count;
        }
    }
    if (seen->told_count == KL_REQUEST_COUNTS_MAX) {
        return NULL;
    }
    seen->told[seen->told_count] = *count;
    seen->told[seen->told_count].count = 0;
    return &seen->told[seen->told_count++].count;
}

/* Adds what a client has sent since the last call. Without memory, it is left
 * for the next call. */
static void count_requests(seen_client *seen, kl_metric *metric)
{
    kl_request_count counts[KL_REQUEST_COUNTS_MAX];
    size_t count =
        kl_client_requests(seen->client, counts, KL_REQUEST_COUNTS_MAX);

    for (size_t i = 0; i < count; i++) {
        uint64_t *told = find_told(seen, &counts[i]);
        char code[16] = "<error>";
        const char *values[] = {code, counts[i].method, seen->host};
        kl_series *series;

        if (counts[i].status != 0) {
            snprintf(code, sizeof(code), "%d", counts[i].status);
        }
        series = told != NULL && counts[i].count > *told
                     ? kl_metric_series(metric, values, 3, NULL)
                     : NULL;
        if (series != NULL) {
            kl_series_add(series, (double)(counts[i].count - *told));
            *told = counts[i].count;
            kl_series_unref(series);
        }
    }
}

static kl_metric *requests_metric(kl_report *report)
{
    static const char *const labels[] = {"code", "method", "host"};

    return kl_metrics_add(
        report->metrics,
        &(kl_metric_options){
            .type = KL_METRIC_COUNTER,
            .name = "rest_client_requests_total",
            .help = "Number of HTTP requests, partitioned by status code, "
                    "method, and host.",
            .labels = labels,
            .label_count = 3},
        NULL);
}

void kl__report_count_requests_locked(kl_report *report)
{
    kl_metric *metric = requests_metric(report);

    for (kl__list *node = report->clients.next;
         metric != NULL && node != &report->clients; node = node->next) {
        count_requests(KL__CONTAINER(node, seen_client, node), metric);
    }
}

void kl_report_remove_client(kl_report *report, kl_client *client)
{
    seen_client *found = NULL;

    if (kl_report_check(report, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&report->mutex);
    for (kl__list *node = report->clients.next;
         node != &report->clients && found == NULL; node = node->next) {
        seen_client *seen = KL__CONTAINER(node, seen_client, node);

        found = seen->client == client ? seen : NULL;
    }
    if (found != NULL) {
        kl__list_remove(&found->node);
    }
    kl__mutex_unlock(&report->mutex);
    if (found != NULL) {
        kl_metric *metric = requests_metric(report);

        if (metric != NULL) {
            count_requests(found, metric);
        }
        free_client(found);
    }
}

/* ---- controllers ---- */

kl_reported *kl_report_add_controller(kl_report *report,
                                      const kl_reported_options *options,
                                      kl_error *err)
{
    size_t size = strlen(options->name) + 1;
    kl_reported *controller;

    if (kl_report_check(report, err) != KL_OK) {
        return NULL;
    }
    controller = kl__calloc(1, sizeof(*controller) + size);
    if (controller != NULL) {
        controller->lease = kl__strdup(options->lease);
        controller->cluster = kl__strdup(options->cluster);
    }
    if (controller == NULL ||
        (options->lease != NULL && controller->lease == NULL) ||
        (options->cluster != NULL && controller->cluster == NULL)) {
        if (controller != NULL) {
            free_controller(controller);
        }
        kl_error_set(err, KL_ENOMEM, "out of memory for a controller");
        return NULL;
    }
    controller->queue = options->queue;
    controller->workers = options->workers;
    memcpy(controller->name, options->name, size);
    kl__mutex_lock(&report->mutex);
    kl__list_append(&report->controllers, &controller->node);
    kl__mutex_unlock(&report->mutex);
    return controller;
}

void kl_report_remove_controller(kl_report *report, kl_reported *controller)
{
    if (controller == NULL) {
        return;
    }
    if (kl_report_check(report, NULL) == KL_OK) {
        kl__mutex_lock(&report->mutex);
        kl__list_remove(&controller->node);
        kl__mutex_unlock(&report->mutex);
    } else { /* no other thread exists */
        kl__list_remove(&controller->node);
    }
    free_controller(controller);
}

void kl_reported_set_listed(kl_reported *controller, bool is_listed)
{
    atomic_store_explicit(&controller->is_listed, is_listed,
                          memory_order_relaxed);
}

void kl_reported_set_leads_until(kl_reported *controller, int64_t until_ms)
{
    atomic_store_explicit(&controller->leads_until_ms, until_ms,
                          memory_order_relaxed);
}

bool kl__reported_leads(const kl_reported *controller)
{
    return kl__boottime_ms() < atomic_load_explicit(&controller->leads_until_ms,
                                                    memory_order_relaxed);
}

/* ---- the loop ---- */

void kl_report_beat(kl_report *report, bool is_awake)
{
    atomic_store_explicit(&report->awake_since_ms,
                          is_awake ? kl__clock_now(kl__clock_real()) : 0,
                          memory_order_relaxed);
}

void kl_report_set_started(kl_report *report, bool has_started)
{
    atomic_store_explicit(&report->has_started, has_started,
                          memory_order_relaxed);
}

void kl_report_set_watchdog(kl_report *report, kl_watchdog *watchdog)
{
    if (kl_report_check(report, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&report->mutex);
    report->watchdog = watchdog;
    kl__mutex_unlock(&report->mutex);
}

int64_t kl__report_blocked_ms_locked(kl_report *report, char *name, size_t size)
{
    int64_t since_ms =
        atomic_load_explicit(&report->awake_since_ms, memory_order_relaxed);
    /* Until the script has started, the loop does not run yet: a long start is
     * not a blocked loop. */
    bool is_running =
        atomic_load_explicit(&report->has_started, memory_order_relaxed);
    int64_t blocked_ms = since_ms > 0 && is_running
                             ? kl__clock_now(kl__clock_real()) - since_ms
                             : 0;

    name[0] = '\0';
    if (blocked_ms > report->stuck_ms && report->watchdog != NULL) {
        kl_watchdog_current(report->watchdog, name, size);
    }
    return blocked_ms > 0 ? blocked_ms : 0;
}
