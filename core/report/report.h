/*
 * report.h (internal) - what a report holds, and the snapshot that its texts
 * are made of. See kubelua/report.h.
 */
#ifndef KL_REPORT_REPORT_H
#define KL_REPORT_REPORT_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "informer/informer.h"
#include "kubelua/report.h"

#include <stdatomic.h>

struct kl_report {
    atomic_int refs;
    kl__forks made_in;
    kl_metrics *metrics; /* a reference */
    int64_t stuck_ms;
    int64_t made_at_ms; /* on the real clock */

    /* Relaxed: they order nothing. `awake_since_ms` is 0 while the loop waits,
     * -1 before the first beat. */
    atomic_int_fast64_t awake_since_ms;
    atomic_bool has_started;

    /* Rank REPORT, the lowest; guards the rest. Held while a text is made, so
     * that what is added cannot be freed meanwhile. */
    kl__mutex mutex;
    kl__list informers;
    kl__list clients;
    kl__list controllers;
    kl_watchdog *watchdog; /* borrowed; NULL: none */
};

/* An informer in a report. */
typedef struct kl__seen_informer {
    kl__list node;
    kl_informer *informer; /* a reference */
} kl__seen_informer;

struct kl_reported {
    kl__list node;
    kl_queue *queue; /* borrowed */
    int workers;
    char *lease;   /* NULL: none is needed */
    char *cluster; /* NULL: it has none */
    atomic_bool is_listed;
    atomic_int_fast64_t leads_until_ms;
    char name[];
};

/* What all informers of a report show, each shared informer once. */
typedef struct kl__seen {
    kl__informer_figures *informers;
    size_t count;
} kl__seen;

/* The two calls below are made with the mutex held. False: out of memory. */
bool kl__report_look_locked(kl_report *report, kl__seen *seen);
void kl__seen_clear(kl__seen *seen);
/* Brings the count of requests up to date. */
void kl__report_count_requests_locked(kl_report *report);

/* For how long the loop has not gone on; 0: it does. Writes what blocks it to
 * `name`. The mutex is held. */
int64_t kl__report_blocked_ms_locked(kl_report *report, char *name,
                                     size_t size);
/* True if this process may reconcile now, as for the lease. */
bool kl__reported_leads(const kl_reported *controller);

/* ---- figures.c ---- */

/* Appends the lines of the figures that no metric of the set has. The mutex is
 * held. */
void kl__report_put_figures_locked(kl_report *report, const kl__seen *seen,
                                   kl__buf *out);

#endif
