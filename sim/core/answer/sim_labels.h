/*
 * sim_labels.h - checks labels, the pairs of key and value by which clients
 * select objects. The messages are those of Kubernetes.
 */
#ifndef KL_SIM_LABELS_H
#define KL_SIM_LABELS_H

#include "sim/core/json/edit.h"
#include "sim/core/answer/sim_status.h"

#include <stddef.h>

enum { KL__SIM_MAX_FAULTS = 3 };

/* Messages about one text; they are static. */
typedef struct kl__sim_faults {
    const char *texts[KL__SIM_MAX_FAULTS];
    size_t count;
} kl__sim_faults;

/* The faults of a label's key. */
kl__sim_faults kl__sim_key_faults(const char *key);
/* The faults of a label's value. */
kl__sim_faults kl__sim_value_faults(const char *value);

/* Adds causes for invalid labels and annotations. */
void kl__sim_check_labels(const kl__node *metadata, kl__sim_status *status);

#endif
