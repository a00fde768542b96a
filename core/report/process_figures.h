/*
 * process_figures.h - what the kernel knows of this process, under the names
 * that client_golang's process collector has.
 */
#ifndef KL_REPORT_PROCESS_FIGURES_H
#define KL_REPORT_PROCESS_FIGURES_H

#include "kubelua/metric.h"

#include <stdbool.h>

typedef struct kl__process_figure {
    const char *name;
    const char *help;
    kl_metric_type type;
    bool (*read)(double *value); /* false: not known here. Any thread. */
} kl__process_figure;

enum { KL__PROCESS_FIGURES = 6 };
extern const kl__process_figure kl__process_figures[KL__PROCESS_FIGURES];

#endif
