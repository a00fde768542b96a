/*
 * sim_events_spec.c - Events of both groups: one object with two forms.
 */
#include "sim_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

static void an_event_is_the_same_in_both_groups(void **state)
{
    char *uid, *version;

    sim_expect(*state, "POST", GROUP, NEW, 201);
    expect_text(*state, GROUP "/e", "apiVersion", "events.k8s.io/v1");
    expect_text(*state, GROUP "/e", "note", "n");
    expect_text(*state, CORE "/e", "apiVersion", "v1");
    expect_text(*state, CORE "/e", "message", "n");
    expect_text(*state, CORE "/e", "involvedObject.name", "p");
    expect_text(*state, CORE "/e", "reportingComponent", "c");
    uid = text_at(*state, CORE "/e", "metadata.uid");
    version = text_at(*state, CORE "/e", "metadata.resourceVersion");
    expect_text(*state, GROUP "/e", "metadata.uid", uid);
    expect_text(*state, GROUP "/e", "metadata.resourceVersion", version);
    free(uid);
    free(version);
    sim_expect(*state, "PATCH", CORE "/e", "{\"message\":\"m\"}", 200);
    expect_text(*state, GROUP, "items[1].note", "m");
    sim_expect(*state, "DELETE", GROUP "/e", NULL, 200);
    sim_expect(*state, "GET", CORE "/e", NULL, 404);
}

static void each_group_has_field_selectors_of_its_own(void **state)
{
    sim_expect(*state, "POST", GROUP, NEW, 201);
    expect_text(*state, GROUP "?fieldSelector=regarding.name=p",
                "items[1].metadata.name", "e");
    expect_text(*state, GROUP "?fieldSelector=reportingController=c",
                "items[1].metadata.name", "e");
    expect_text(*state, CORE "?fieldSelector=involvedObject.name=p",
                "items[1].metadata.name", "e");
    sim_expect_refusal(*state, "GET " GROUP "?fieldSelector=source=c", NULL,
                       400, "BadRequest: field label not supported: source");
}

static void fields_are_managed_in_the_group_of_the_write(void **state)
{
    sim_expect(*state, "POST", GROUP, NEW, 201);
    expect_text(*state, CORE "/e", "metadata.managedFields[1].apiVersion",
                "events.k8s.io/v1");
    sim_expect(*state, "PATCH", CORE "/e", "{\"message\":\"m\"}", 200);
    expect_text(*state, GROUP "/e", "metadata.managedFields[1].apiVersion",
                "v1");
}

/* A write begins its hour anew. */
static void an_event_ends_after_an_hour(void **state)
{
    const kl_sim_options options = {.clock_stands = true};
    kl_sim *sim = kl_sim_new(&options, NULL);

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_event_is_the_same_in_both_groups,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(
            each_group_has_field_selectors_of_its_own, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(
            fields_are_managed_in_the_group_of_the_write, sim_set_up,
            sim_tear_down),
        cmocka_unit_test(an_event_ends_after_an_hour),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
