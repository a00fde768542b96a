/*
 * report.h - a report makes four texts about the process: its metrics, its
 * health, its readiness, and its state as JSON. A server that has a thread of
 * its own may ask the report for a text at any moment, also while the loop
 * hangs.
 *
 * What a user can rely on:
 *
 * - Threads. Any thread may call anything; no call waits for the loop.
 * - Cost. What is added here costs nothing until a text is made.
 * - Fork. In the child of a fork() calls fail with KL_EFORKED or do nothing;
 *   make a new report there, of the same metrics.
 */
#ifndef KUBELUA_REPORT_H
#define KUBELUA_REPORT_H

#include "kubelua/client.h"
#include "kubelua/error.h"
#include "kubelua/informer.h"
#include "kubelua/metric.h"
#include "kubelua/queue.h"
#include "kubelua/watchdog.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_report kl_report;

/* Zeroed fields are the defaults. */
typedef struct kl_report_options {
    kl_metrics *metrics; /* takes a reference; required */
    int64_t stuck_ms;    /* a loop or stream that does not go on for longer is
                            not healthy; 0: 5 s */
} kl_report_options;

/* An empty report, with one reference for the caller. NULL: KL_EINVAL,
 * KL_ENOMEM. */
KL_API kl_report *kl_report_new(const kl_report_options *options,
                                kl_error *err);
/* Adds a reference; returns `report`. */
KL_API kl_report *kl_report_ref(kl_report *report);
/* Drops a reference; the last one frees the report. NULL is fine. */
KL_API void kl_report_unref(kl_report *report);
/* KL_OK, or KL_EFORKED. */
KL_API kl_code kl_report_check(const kl_report *report, kl_error *err);
/* The metrics of the report; borrowed. */
KL_API kl_metrics *kl_report_metrics(const kl_report *report);

/* Adds an informer: the report takes a reference, and drops it when the
 * informer is removed. Handles of one shared informer show once, and one that
 * was closed does not. KL_ENOMEM, KL_EFORKED. */
KL_API kl_code kl_report_add_informer(kl_report *report, kl_informer *informer,
                                      kl_error *err);
KL_API void kl_report_remove_informer(kl_report *report, kl_informer *informer);

/* Adds a client, whose requests are counted; as above. A removed client's
 * requests stay in the count. */
KL_API kl_code kl_report_add_client(kl_report *report, kl_client *client,
                                    kl_error *err);
KL_API void kl_report_remove_client(kl_report *report, kl_client *client);

/* A controller in a report. */
typedef struct kl_reported kl_reported;

typedef struct kl_reported_options {
    const char *name;
    kl_queue *queue;   /* borrowed: remove the controller before it is freed */
    int workers;       /* how many keys may be in progress */
    const char *lease; /* "namespace/name"; NULL: none is needed */
    const char *cluster; /* its name in a fleet; NULL: it has none */
} kl_reported_options;

/* Adds a controller, which is not ready yet. NULL: KL_ENOMEM, KL_EFORKED. */
KL_API kl_reported *kl_report_add_controller(kl_report *report,
                                             const kl_reported_options *options,
                                             kl_error *err);
/* Removes and frees it; NULL is fine. */
KL_API void kl_report_remove_controller(kl_report *report,
                                        kl_reported *controller);
/* Says that its caches hold their first lists, or that it leads until a time of
 * CLOCK_BOOTTIME, in ms (0: it does not lead). */
KL_API void kl_reported_set_listed(kl_reported *controller, bool is_listed);
KL_API void kl_reported_set_leads_until(kl_reported *controller,
                                        int64_t until_ms);

/*
 * The loop says that it goes on (true), or that it waits for events, which may
 * take any time (false). From the first call on, a loop that has not said
 * anything for `stuck_ms` since the last true is not healthy. Costs a store.
 */
KL_API void kl_report_beat(kl_report *report, bool is_awake);
/* Says that the program's own start is over; before that it is not ready. From
 * the first call with false on. */
KL_API void kl_report_set_started(kl_report *report, bool has_started);
/* Names what blocks the loop, from now on; NULL: it does not any more. The
 * watchdog must not be stopped before that. */
KL_API void kl_report_set_watchdog(kl_report *report, kl_watchdog *watchdog);

/*
 * The texts. The caller owns them: kl_free. NULL: KL_ENOMEM, KL_EFORKED.
 * Health and readiness are "ok\n", or a line for each reason why not.
 */
KL_API char *kl_report_metrics_text(kl_report *report, size_t *length,
                                    kl_error *err);
KL_API char *kl_report_health(kl_report *report, bool *is_healthy,
                              kl_error *err);
KL_API char *kl_report_readiness(kl_report *report, bool *is_ready,
                                 kl_error *err);
/* The state as a JSON object; docs/METRICS.md has its members. */
KL_API char *kl_report_status(kl_report *report, size_t *length, kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
