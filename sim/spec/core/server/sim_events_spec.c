/*
 * sim_events_spec.c - Events of both groups: one object with two forms.
 */
#include "spec_case.h"

#define NEW                                                                 \
    "POST events.k8s.io/v1/events {metadata: {name: e}, regarding: {kind: " \
    "Pod, name: p, namespace: default}, reason: R, note: 'n', type: "       \
    "Normal, action: a, eventTime: '2026-01-01T00:00:00.000000Z', "         \
    "reportingController: c, reportingInstance: i} -> 201\n"

SIM_CASE(an_event_is_the_same_in_both_groups)
{
    sim_play(sim, NEW
             "GET events.k8s.io/v1/events/e -> 200 "
             "apiVersion=events.k8s.io/v1 | note=n | $uid=metadata.uid | "
             "$version=metadata.resourceVersion\n"
             "GET events/e -> 200 apiVersion=v1 | message=n | "
             "involvedObject.name=p | reportingComponent=c | metadata.uid=$uid "
             "| metadata.resourceVersion=$version\n"
             "PATCH events/e {message: m} -> 200\n"
             "GET events.k8s.io/v1/events -> 200 items[1].note=m\n"
             "DELETE events.k8s.io/v1/events/e -> 200\n"
             "GET events/e -> 404\n");
}

SIM_CASE(each_group_has_field_selectors_of_its_own)
{
    sim_play(sim, NEW
             "GET events.k8s.io/v1/events?fieldSelector=regarding.name=p -> "
             "200 items[1].metadata.name=e\n"
             "GET events.k8s.io/v1/events?fieldSelector=reportingController=c "
             "-> 200 items[1].metadata.name=e\n"
             "GET events?fieldSelector=involvedObject.name=p -> 200 "
             "items[1].metadata.name=e\n"
             "GET events.k8s.io/v1/events?fieldSelector=source=c -> 400 "
             "BadRequest: field label not supported: source\n");
}

SIM_CASE(fields_are_managed_in_the_group_of_the_write)
{
    sim_play(sim, NEW "GET events/e -> 200 "
                      "metadata.managedFields[1].apiVersion=events.k8s.io/v1\n"
                      "PATCH events/e {message: m} -> 200\n"
                      "GET events.k8s.io/v1/events/e -> 200 "
                      "metadata.managedFields[1].apiVersion=v1\n");
}

/* A write begins its hour anew. */
PLAIN_CASE(an_event_ends_after_an_hour)
{
    const kl_sim_options options = {.clock_stands = true};
    kl_sim *sim = kl_sim_new(&options, NULL);

    sim_play(sim, NEW "POST events {metadata: {name: other}} -> 201\n"
                      "ADVANCE 3599\n"
                      "PATCH events/e {message: m} -> 200\n"
                      "GET events/other -> 200\n"
                      "ADVANCE 1\n"
                      "GET events/other -> 404\n"
                      "GET events/e -> 200\n"
                      "ADVANCE 3599\n"
                      "GET events.k8s.io/v1/events/e -> 404\n");
    kl_sim_unref(sim);
}
