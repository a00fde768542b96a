/*
 * health.c - healthy, ready, and the state as JSON; see kubelua/report.h.
 */
#include "report/report.h"

#include "base/mem.h"
#include "informer/status.h"
#include "json/quote.h"
#include "kubelua/version.h"

#include <string.h>

/* The text that was made, for a caller that owns it from now on. */
static char *take_text(kl__buf *out, size_t *length, kl_error *err)
{
    char *text = out->failed ? NULL : kl__buf_take(out, length);

    if (text == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a report");
    }
    kl__buf_deinit(out);
    return text;
}

/* ---- healthy ---- */

static void put_stuck(kl_report *report, const kl__seen *seen, kl__buf *out)
{
    char name[512];
    int64_t blocked_ms =
        kl__report_blocked_ms_locked(report, name, sizeof(name));

    if (blocked_ms > report->stuck_ms) {
        kl__buf_printf(out, "the loop has been blocked for %.1f s%s%s\n",
                       (double)blocked_ms / 1000, name[0] != '\0' ? " by " : "",
                       name);
    }
    for (size_t i = 0; i < seen->count; i++) {
        const kl__informer_figures *one = &seen->informers[i];

        if (one->status.overdue_ms > report->stuck_ms) {
            kl__buf_printf(out, "%s: its stream has been stuck for %.1f s\n",
                           one->name, (double)one->status.overdue_ms / 1000);
        }
    }
}

/* ---- ready ---- */

static void put_unready(kl_report *report, const kl__seen *seen, kl__buf *out)
{
    if (!atomic_load_explicit(&report->has_started, memory_order_relaxed)) {
        kl__buf_puts(out, "the script is still starting\n");
    }
    for (size_t i = 0; i < seen->count; i++) {
        const kl__informer_figures *one = &seen->informers[i];

        if (!one->status.has_synced) {
            kl__buf_printf(out, "%s has no first list yet: ", one->name);
            kl__status_reason(&one->status, out);
            kl__buf_putc(out, '\n');
        }
    }
    for (kl__list *node = report->controllers.next;
         node != &report->controllers; node = node->next) {
        const kl_reported *one = KL__CONTAINER(node, kl_reported, node);

        if (!atomic_load_explicit(&one->is_listed, memory_order_relaxed)) {
            kl__buf_printf(out, "controller %s waits for its first lists\n",
                           one->name);
        }
    }
}

/* Appends to a text, with the report's mutex. */
typedef void put_part(kl_report *report, const kl__seen *seen, kl__buf *out);

/* Appends what `put` has to say of the report and its informers, as they are
 * now. False: KL_EFORKED. Without memory `out` has failed. */
static bool put_report(kl_report *report, put_part *put, kl__buf *out,
                       kl_error *err)
{
    kl__seen seen;

    if (kl_report_check(report, err) != KL_OK) {
        return false;
    }
    kl__mutex_lock(&report->mutex);
    if (kl__report_look_locked(report, &seen)) {
        put(report, &seen, out);
    } else {
        out->failed = true;
    }
    kl__mutex_unlock(&report->mutex);
    kl__seen_clear(&seen);
    return true;
}

/* "ok", or the reasons why not. */
static char *make_verdict(kl_report *report, put_part *put, bool *is_well,
                          kl_error *err)
{
    kl__buf out = {0};

    *is_well = false;
    if (!put_report(report, put, &out, err)) {
        return NULL;
    }
    *is_well = out.length == 0 && !out.failed;
    if (*is_well) {
        kl__buf_puts(&out, "ok\n");
    }
    return take_text(&out, NULL, err);
}

char *kl_report_health(kl_report *report, bool *is_healthy, kl_error *err)
{
    return make_verdict(report, put_stuck, is_healthy, err);
}

char *kl_report_readiness(kl_report *report, bool *is_ready, kl_error *err)
{
    return make_verdict(report, put_unready, is_ready, err);
}

/* ---- JSON ---- */

/* Appends `"name":`, after a comma unless it is the first member. */
static void put_member(kl__buf *out, const char *name)
{
    bool is_first = out->length > 0 && out->bytes[out->length - 1] == '{';

    kl__buf_printf(out, "%s\"%s\":", is_first ? "" : ",", name);
}

static void put_string(kl__buf *out, const char *name, const char *text)
{
    size_t length = strlen(text);

    put_member(out, name);
    kl__quote(out, kl__utf8_is_valid(text, length) ? text : "?",
              kl__utf8_is_valid(text, length) ? length : 1);
}

static void put_bool(kl__buf *out, const char *name, bool value)
{
    put_member(out, name);
    kl__buf_puts(out, value ? "true" : "false");
}

static void put_count(kl__buf *out, const char *name, uint64_t count)
{
    put_member(out, name);
    kl__buf_printf(out, "%llu", (unsigned long long)count);
}

/* Seconds; below 0: null. */
static void put_seconds(kl__buf *out, const char *name, int64_t ms)
{
    put_member(out, name);
    if (ms < 0) {
        kl__buf_puts(out, "null");
    } else {
        kl__buf_printf(out, "%lld.%03d", (long long)(ms / 1000),
                       (int)(ms % 1000));
    }
}

static void put_error(kl__buf *out, const kl_error *error)
{
    put_member(out, "error");
    if (error->code == KL_OK) {
        kl__buf_puts(out, "null");
        return;
    }
    kl__buf_putc(out, '{');
    put_string(out, "code", kl_code_name(error->code));
    put_string(out, "message", error->message);
    kl__buf_putc(out, '}');
}

static void put_informer(kl__buf *out, const kl__informer_figures *one)
{
    const kl_informer_status *status = &one->status;

    kl__buf_putc(out, '{');
    put_string(out, "name", one->name);
    put_string(out, "state", kl_informer_state_name(status->state));
    put_bool(out, "synced", status->has_synced);
    put_count(out, "objects", status->objects);
    put_count(out, "queued", status->queued);
    put_string(out, "resource_version", one->store_version);
    put_seconds(out, "last_message", status->last_message_age_ms);
    put_seconds(out, "stuck", status->overdue_ms);
    put_seconds(out, "retry_in", status->retry_in_ms);
    put_count(out, "lists", status->lists);
    put_count(out, "watches", status->watches);
    put_count(out, "events", status->events);
    put_count(out, "failures", status->failures);
    put_count(out, "unreadable", status->unreadable);
    put_error(out, &status->error);
    kl__buf_putc(out, '}');
}

static void put_queue(kl__buf *out, kl_queue *queue)
{
    kl_queue_status status;

    kl_queue_get_status(queue, &status);
    put_member(out, "queue");
    kl__buf_putc(out, '{');
    put_count(out, "waiting", status.waiting);
    put_count(out, "in_progress", status.in_progress);
    put_count(out, "delayed", status.delayed);
    put_count(out, "failing", status.failing);
    put_count(out, "adds", status.adds);
    put_count(out, "retries", status.retries);
    put_seconds(out, "oldest_wait", status.oldest_wait_ms);
    put_seconds(out, "longest_run", status.longest_run_ms);
    kl__buf_putc(out, '}');
}

static void put_controller(kl__buf *out, const kl_reported *one)
{
    kl__buf_putc(out, '{');
    put_string(out, "name", one->name);
    if (one->cluster != NULL) {
        put_string(out, "cluster", one->cluster);
    }
    put_bool(out, "listed",
             atomic_load_explicit(&one->is_listed, memory_order_relaxed));
    put_count(out, "workers", (uint64_t)one->workers);
    put_member(out, "leader");
    if (one->lease == NULL) {
        kl__buf_puts(out, "null");
    } else {
        kl__buf_putc(out, '{');
        put_string(out, "lease", one->lease);
        put_bool(out, "leading", kl__reported_leads(one));
        kl__buf_putc(out, '}');
    }
    put_queue(out, one->queue);
    kl__buf_putc(out, '}');
}

static void put_loop(kl_report *report, kl__buf *out)
{
    char name[512];
    int64_t blocked_ms =
        kl__report_blocked_ms_locked(report, name, sizeof(name));

    put_member(out, "loop");
    kl__buf_putc(out, '{');
    put_seconds(out, "blocked", blocked_ms);
    put_member(out, "by");
    if (name[0] != '\0' && kl__utf8_is_valid(name, strlen(name))) {
        kl__quote(out, name, strlen(name));
    } else {
        kl__buf_puts(out, "null");
    }
    kl__buf_putc(out, '}');
}

static bool has_reasons(kl_report *report, const kl__seen *seen, put_part *put)
{
    kl__buf reasons = {0};
    bool has_some;

    put(report, seen, &reasons);
    has_some = reasons.length > 0 || reasons.failed;
    kl__buf_deinit(&reasons);
    return has_some;
}

static void put_state_locked(kl_report *report, const kl__seen *seen,
                             kl__buf *out)
{
    kl__buf_putc(out, '{');
    put_string(out, "version", kl_version());
    put_seconds(out, "uptime",
                kl__clock_now(kl__clock_real()) - report->made_at_ms);
    put_bool(out, "healthy", !has_reasons(report, seen, put_stuck));
    put_bool(out, "ready", !has_reasons(report, seen, put_unready));
    put_loop(report, out);
    put_member(out, "informers");
    kl__buf_putc(out, '[');
    for (size_t i = 0; i < seen->count; i++) {
        kl__buf_puts(out, i > 0 ? "," : "");
        put_informer(out, &seen->informers[i]);
    }
    kl__buf_putc(out, ']');
    put_member(out, "controllers");
    kl__buf_putc(out, '[');
    for (kl__list *node = report->controllers.next;
         node != &report->controllers; node = node->next) {
        kl__buf_puts(out, node != report->controllers.next ? "," : "");
        put_controller(out, KL__CONTAINER(node, kl_reported, node));
    }
    kl__buf_puts(out, "]}\n");
}

char *kl_report_status(kl_report *report, size_t *length, kl_error *err)
{
    kl__buf out = {0};

    return put_report(report, put_state_locked, &out, err)
               ? take_text(&out, length, err)
               : NULL;
}

static void put_metrics_locked(kl_report *report, const kl__seen *seen,
                               kl__buf *out)
{
    kl__report_count_requests_locked(report);
    kl__report_put_figures_locked(report, seen, out);
}

char *kl_report_metrics_text(kl_report *report, size_t *length, kl_error *err)
{
    kl__buf out = {0};
    char *counted;
    size_t counted_length = 0;

    if (!put_report(report, put_metrics_locked, &out, err)) {
        return NULL;
    }
    counted = kl_metrics_text(report->metrics, &counted_length, NULL);
    if (counted == NULL) {
        out.failed = true;
    } else {
        kl__buf_append(&out, counted, counted_length);
    }
    kl__free(counted);
    return take_text(&out, length, err);
}
