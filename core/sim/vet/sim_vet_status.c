/*
 * sim_vet_status.c - what a write of a status may say: counts, and which of
 * them can be no more than others. See sim_vet.h.
 */
#include "sim/vet/sim_vet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COUNTS = 10 };

/* The members of a kind's status that count something, and which of them are
 * no more than `replicas`; NULL ends both. */
typedef struct counted {
    const char *plural;
    const char *group;
    const char *counts[MOST_COUNTS];
    const char *parts[MOST_COUNTS];
    const char *ready; /* what is said of fewer ready ones; NULL: nothing */
} counted;

#define THAN_READY "cannot be greater than readyReplicas"

static const counted kinds[] = {
    {"deployments",
     "apps",
     {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
      "availableReplicas", "unavailableReplicas", "terminatingReplicas",
      "collisionCount"},
     {"updatedReplicas", "readyReplicas", "availableReplicas"},
     THAN_READY},
    {"replicasets",
     "apps",
     {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
      "observedGeneration", "terminatingReplicas"},
     {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
     THAN_READY},
    {"replicationcontrollers",
     "",
     {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
      "observedGeneration"},
     {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
     THAN_READY},
    {"statefulsets",
     "apps",
     {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
      "availableReplicas", "observedGeneration", "collisionCount"},
     {"readyReplicas", "currentReplicas", "updatedReplicas",
      "availableReplicas"},
     "cannot be greater than status.readyReplicas"},
    {"daemonsets",
     "apps",
     {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
      "numberReady", "observedGeneration", "updatedNumberScheduled",
      "numberAvailable", "numberUnavailable", "collisionCount"},
     {NULL},
     NULL},
    {"poddisruptionbudgets",
     "policy",
     {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"},
     {NULL},
     NULL},
    {"horizontalpodautoscalers",
     "autoscaling",
     {"currentReplicas", "desiredReplicas"},
     {NULL},
     NULL},
};

/* More than others allow; nothing at all is 0. */
static void refuse_count(kl__vet *vet, const char *member, int64_t count,
                         const char *detail)
{
    size_t mark = kl__vet_into(vet, member);
    char shown[32];

    snprintf(shown, sizeof(shown), "%" PRId64, count);
    kl__vet_shown(vet, KL__FIELD_INVALID, shown, detail);
    kl__vet_back(vet, mark);
}

static void check_counts(kl__vet *vet, const counted *kind,
                         const kl__node *status)
{
    int64_t all = kl__node_integer(kl__node_get(status, "replicas"));
    int64_t ready = kl__node_integer(kl__node_get(status, "readyReplicas"));
    int64_t available =
        kl__node_integer(kl__node_get(status, "availableReplicas"));

    for (size_t i = 0; i < MOST_COUNTS && kind->counts[i] != NULL; i++) {
        kl__vet_not_negative(vet, status, kind->counts[i]);
    }
    for (size_t i = 0; i < MOST_COUNTS && kind->parts[i] != NULL; i++) {
        int64_t part = kl__node_integer(kl__node_get(status, kind->parts[i]));

        if (part > all) {
            refuse_count(vet, kind->parts[i], part,
                         "cannot be greater than status.replicas");
        }
    }
    if (kind->ready != NULL && available > ready) {
        refuse_count(vet, "availableReplicas", available, kind->ready);
    }
}

/* A namespace ends when it is deleted, and not before. */
static void check_phase(kl__vet *vet, const kl__node *root,
                        const kl__node *status)
{
    bool ends = kl__node_text(kl__node_get(root, "metadata"),
                              "deletionTimestamp") != NULL;
    const char *phase = kl__vet_text(status, "phase");

    if (strcmp(phase, ends ? "Terminating" : "Active") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "Phase", phase,
                      ends ? "may only be 'Terminating' if "
                             "`deletionTimestamp` is not empty"
                           : "may only be 'Active' if `deletionTimestamp` is "
                             "empty");
    }
}

void kl__vet_status(const char *group, const char *plural, const kl__node *root,
                    kl__field_errors *errors)
{
    const kl__node *status = kl__node_get(root, "status");
    kl__vet vet = {errors, {0}};
    size_t outer = kl__vet_into(&vet, "status");

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].plural, plural) == 0 &&
            strcmp(kinds[i].group, group) == 0) {
            check_counts(&vet, &kinds[i], status);
        }
    }
    if (*group == '\0' && strcmp(plural, "namespaces") == 0) {
        check_phase(&vet, root, status);
    }
    kl__vet_back(&vet, outer);
    errors->failed |= vet.path.failed;
    kl__buf_deinit(&vet.path);
}
