/*
 * sim_vet_event.c - see sim_vet.h: validates Events. An Event of the core group
 * has few rules, an Event of events.k8s.io has more. Both are checked in the
 * stored form, which is that of the core group.
 */
#include "sim/core/vet/sim_vet.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST_WORD = 128, LONGEST_NOTE = 1024 };

/* Refuses a member. The message does not show its value, which may be long, or
 * have another form in the request. */
static void refuse_member(kl__vet *vet, const char *member, const char *why)
{
    kl__vet_fault(vet, KL__FIELD_INVALID, member, "", why);
}

static void check_length(kl__vet *vet, const kl__node *object,
                         const char *member, int most)
{
    char why[60];

    if (strlen(kl__vet_text(object, member)) > (size_t)most) {
        snprintf(why, sizeof(why), "can have at most %d characters", most);
        refuse_member(vet, member, why);
    }
}

/* Checks the members that say which component has reported the event; an event
 * with eventTime must have them. `controller`: the name that reportingComponent
 * has in the request's version. */
static void check_report(kl__vet *vet, const kl__node *object,
                         const char *controller)
{
    static const char *const words[] = {"reportingInstance", "action",
                                        "reason"};
    const char *name = kl__vet_text(object, "reportingComponent");

    if (*name == '\0') {
        kl__vet_fault(vet, KL__FIELD_REQUIRED, controller, NULL, "");
    }
    kl__vet_qualified(vet, controller, name);
    for (size_t i = 0; i < 3; i++) {
        kl__vet_required(vet, object, words[i]);
        check_length(vet, object, words[i], LONGEST_WORD);
    }
    check_length(vet, object, "message", LONGEST_NOTE);
}

/* An event without eventTime must be in the namespace of its object. If the
 * object has none, the event must be in "default"; with eventTime, it may also
 * be in "kube-system". */
static void check_event(kl__vet *vet, const kl__node *object,
                        const char *controller)
{
    const kl__node *about = kl__node_get(object, "involvedObject");
    const char *other = kl__vet_text(about, "namespace");
    const char *own =
        kl__vet_text(kl__node_get(object, "metadata"), "namespace");
    bool is_new = *kl__vet_text(object, "eventTime") != '\0';
    bool fits = *other != '\0'
                    ? is_new || strcmp(own, other) == 0
                    : strcmp(own, "default") == 0 ||
                          (is_new && strcmp(own, "kube-system") == 0);

    if (!fits) {
        kl__vet_fault(vet, KL__FIELD_INVALID, "involvedObject.namespace", other,
                      "does not match event.namespace");
    }
    if (is_new) {
        check_report(vet, object, controller);
    }
}

void kl__vet_event(kl__vet *vet, const kl__node *object)
{
    check_event(vet, object, "reportingComponent");
}

void kl__vet_group_event(kl__vet *vet, const kl__node *object)
{
    static const char *const unset[] = {"firstTimestamp", "lastTimestamp",
                                        "count", "source"};
    const kl__node *series = kl__node_get(object, "series");
    const char *type = kl__vet_text(object, "type");
    char why[200];

    check_event(vet, object, "reportingController");
    if (series != NULL && kl__node_integer(kl__node_get(series, "count")) < 2) {
        refuse_member(vet, "series.count", "should be at least 2");
    }
    if (series != NULL) {
        kl__vet_required(vet, object,
                         *kl__vet_text(series, "lastObservedTime") != '\0'
                             ? "eventTime"
                             : "series.lastObservedTime");
    } else {
        kl__vet_required(vet, object, "eventTime");
    }
    if (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0) {
        snprintf(why, sizeof(why), "has invalid value: %.100s", type);
        refuse_member(vet, "type", why);
    }
    for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++) {
        const kl__node *value = kl__node_get(object, unset[i]);
        bool is_empty = kl__node_is(value, KL_OBJECT)
                            ? kl__node_size(value) == 0
                            : kl__node_type(value) == KL_NULL ||
                                  (kl__node_is(value, KL_INTEGER) &&
                                   kl__node_integer(value) == 0);

        if (!is_empty) {
            refuse_member(vet, unset[i], "needs to be unset");
        }
    }
}
