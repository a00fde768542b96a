/*
 * sim_labels.h - what keys and values of labels have to be, in Kubernetes'
 * words, for objects that are written and for selectors.
 */
#ifndef KL_SIM_LABELS_H
#define KL_SIM_LABELS_H

#include "sim/json/edit.h"
#include "sim/answer/sim_status.h"

#include <stddef.h>

enum { KL__SIM_MAX_FAULTS = 3 };

/* What is wrong with something: texts that live for ever. */
typedef struct kl__sim_faults {
    const char *texts[KL__SIM_MAX_FAULTS];
    size_t count;
} kl__sim_faults;

/* What is wrong with the key of a label. */
kl__sim_faults kl__sim_key_faults(const char *key);
/* What is wrong with the value of a label. */
kl__sim_faults kl__sim_value_faults(const char *value);

/*
 * Says what is wrong with a label selector that does not parse, in
 * kube-apiserver's words and at most `size` bytes: kl_selector_parse has words
 * of its own, for people. Leaves the message alone if nothing is wrong.
 */
void kl__sim_selector_fault(const char *selector, char *message, size_t size);

/* Adds causes for what is wrong with labels and annotations. */
void kl__sim_check_labels(const kl__node *metadata, kl__sim_status *status);

#endif
