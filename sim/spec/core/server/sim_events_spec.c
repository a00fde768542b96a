/*
 * sim_events_spec.c - Events of both groups: one object with two forms.
 */
#include "spec_case.h"

#define CORE "/api/v1/namespaces/default/events"
#define GROUP "/apis/events.k8s.io/v1/namespaces/default/events"
#define NEW                                                           \
    "{\"metadata\":{\"name\":\"e\"},\"regarding\":{\"kind\":\"Pod\"," \
    "\"name\":\"p\",\"namespace\":\"default\"},\"reason\":\"R\","     \
    "\"note\":\"n\",\"type\":\"Normal\",\"action\":\"a\","            \
    "\"eventTime\":\"2026-01-01T00:00:00.000000Z\","                  \
    "\"reportingController\":\"c\",\"reportingInstance\":\"i\"}"

static void expect_text(kl_sim *sim, const char *target, const char *path,
                        const char *text)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_string_equal(sim_text(reply.doc, path), text);
    sim_reply_clear(&reply);
}

static char *text_at(kl_sim *sim, const char *target, const char *path)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);
    char *text = strdup(sim_text(reply.doc, path));

    sim_reply_clear(&reply);
    return text;
}

SIM_CASE(an_event_is_the_same_in_both_groups)
{
    char *uid, *version;

    sim_expect(sim, "POST", GROUP, NEW, 201);
    sim_play(sim, "GET events.k8s.io/v1/events/e -> 200 "
                  "apiVersion=events.k8s.io/v1 | note=n\n"
                  "GET events/e -> 200 apiVersion=v1 | message=n | "
                  "involvedObject.name=p | reportingComponent=c\n");
    uid = text_at(sim, CORE "/e", "metadata.uid");
    version = text_at(sim, CORE "/e", "metadata.resourceVersion");
    expect_text(sim, GROUP "/e", "metadata.uid", uid);
    expect_text(sim, GROUP "/e", "metadata.resourceVersion", version);
    free(uid);
    free(version);
    sim_play(sim, "PATCH events/e {message: m} -> 200\n"
                  "GET events.k8s.io/v1/events -> 200 items[1].note=m\n"
                  "DELETE events.k8s.io/v1/events/e -> 200\n"
                  "GET events/e -> 404\n");
}

SIM_CASE(each_group_has_field_selectors_of_its_own)
{
    sim_expect(sim, "POST", GROUP, NEW, 201);
    sim_play(sim,
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
    sim_expect(sim, "POST", GROUP, NEW, 201);
    sim_play(sim, "GET events/e -> 200 "
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

    sim_expect(sim, "POST", GROUP, NEW, 201);
    sim_expect(sim, "POST", CORE, "{\"metadata\":{\"name\":\"other\"}}", 201);
    assert_int_equal(kl_sim_advance(sim, 3599 * 1000, NULL), KL_OK);
    sim_expect(sim, "PATCH", CORE "/e", "{\"message\":\"m\"}", 200);
    sim_expect(sim, "GET", CORE "/other", NULL, 200);
    assert_int_equal(kl_sim_advance(sim, 1000, NULL), KL_OK);
    sim_expect(sim, "GET", CORE "/other", NULL, 404);
    sim_expect(sim, "GET", CORE "/e", NULL, 200);
    assert_int_equal(kl_sim_advance(sim, 3599 * 1000, NULL), KL_OK);
    sim_expect(sim, "GET", GROUP "/e", NULL, 404);
    kl_sim_unref(sim);
}
