/*
 * sim_vet_status.c - see sim_vet.h: validates writes of status. Counts must not
 * be negative, and a count of some pods must not exceed the count of all.
 */
#include "sim/core/vet/sim_vet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MOST_COUNTS = 10 };

/* The members of a kind's status that are counts (`counts`), and the counts
 * that must not exceed `replicas` (`parts`). NULL ends each list. */
typedef struct counted {
    const char *counts[MOST_COUNTS];
    const char *parts[MOST_COUNTS];
    /* the message if readyReplicas is less than availableReplicas; NULL: this
     * is not checked */
    const char *ready;
} counted;

/* Refuses a count. An absent count is shown as 0. */
static void refuse_count(kl__vet *vet, const char *member, int64_t count,
                         const char *detail)
{
    size_t mark = kl__vet_into(vet, member);
    char shown[32];

    snprintf(shown, sizeof(shown), "%" PRId64, count);
    kl__vet_shown(vet, KL__FIELD_INVALID, shown, detail);
    kl__vet_back(vet, mark);
}

static void check_counts(kl__vet *vet, const kl__node *object,
                         const counted *kind)
{
    const kl__node *status = kl__node_get(object, "status");
    int64_t all = kl__node_integer(kl__node_get(status, "replicas"));
    int64_t ready = kl__node_integer(kl__node_get(status, "readyReplicas"));
    int64_t available =
        kl__node_integer(kl__node_get(status, "availableReplicas"));
    size_t outer = kl__vet_into(vet, "status");

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
    kl__vet_back(vet, outer);
}

#define THAN_READY "cannot be greater than readyReplicas"

void kl__vet_deployment_status(kl__vet *vet, const kl__node *object)
{
    static const counted kind = {
        {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
         "availableReplicas", "unavailableReplicas", "terminatingReplicas",
         "collisionCount"},
        {"updatedReplicas", "readyReplicas", "availableReplicas"},
        THAN_READY};

    check_counts(vet, object, &kind);
}

void kl__vet_replica_set_status(kl__vet *vet, const kl__node *object)
{
    static const counted kind = {
        {"replicas", "fullyLabeledReplicas", "readyReplicas",
         "availableReplicas", "observedGeneration", "terminatingReplicas"},
        {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
        THAN_READY};

    check_counts(vet, object, &kind);
}

void kl__vet_controller_status(kl__vet *vet, const kl__node *object)
{
    static const counted kind = {
        {"replicas", "fullyLabeledReplicas", "readyReplicas",
         "availableReplicas", "observedGeneration"},
        {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
        THAN_READY};

    check_counts(vet, object, &kind);
}

void kl__vet_stateful_set_status(kl__vet *vet, const kl__node *object)
{
    static const counted kind = {
        {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
         "availableReplicas", "observedGeneration", "collisionCount"},
        {"readyReplicas", "currentReplicas", "updatedReplicas",
         "availableReplicas"},
        "cannot be greater than status.readyReplicas"};

    check_counts(vet, object, &kind);
}

void kl__vet_daemon_set_status(kl__vet *vet, const kl__node *object)
{
    static const counted kind = {
        {"currentNumberScheduled", "numberMisscheduled",
         "desiredNumberScheduled", "numberReady", "observedGeneration",
         "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
         "collisionCount"},
        {NULL},
        NULL};

    check_counts(vet, object, &kind);
}

void kl__vet_budget_status(kl__vet *vet, const kl__node *object)
{
    static const counted kind = {{"disruptionsAllowed", "currentHealthy",
                                  "desiredHealthy", "expectedPods"},
                                 {NULL},
                                 NULL};

    check_counts(vet, object, &kind);
}

void kl__vet_autoscaler_status(kl__vet *vet, const kl__node *object)
{
    static const counted kind = {
        {"currentReplicas", "desiredReplicas"}, {NULL}, NULL};

    check_counts(vet, object, &kind);
}

/* The phase must be Terminating if there is a deletionTimestamp, else
 * Active. */
void kl__vet_namespace_status(kl__vet *vet, const kl__node *object)
{
    bool ends = kl__node_text(kl__node_get(object, "metadata"),
                              "deletionTimestamp") != NULL;
    const char *phase = kl__vet_text(kl__node_get(object, "status"), "phase");
    size_t outer = kl__vet_into(vet, "status");

    if (strcmp(phase, ends ? "Terminating" : "Active") != 0) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "Phase", phase,
                      ends ? "may only be 'Terminating' if "
                             "`deletionTimestamp` is not empty"
                           : "may only be 'Active' if `deletionTimestamp` is "
                             "empty");
    }
    kl__vet_back(vet, outer);
}
