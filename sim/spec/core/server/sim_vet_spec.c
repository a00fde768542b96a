/*
 * sim_vet_spec.c - validation of built-in kinds, in the words of kube-apiserver
 * 1.36; an object that was loaded may stay invalid.
 */
#include "spec_case.h"
#include "vet_cases.h"

#define IN_DEFAULT "/namespaces/default/"
#define PODS "/api/v1" IN_DEFAULT "pods"
#define NAMED "\"metadata\":{\"name\":\"a\"}"

SIM_CASE(an_invalid_object_is_refused_with_its_causes)
{
    for (size_t i = 0; i < vet_case_count; i++) {
        sim_reply reply =
            sim_ask(sim, "POST", vet_cases[i].path, vet_cases[i].body);

        assert_string_equal(sim_text(reply.doc, "message"), vet_cases[i].says);
        assert_int_equal(reply.status, 422);
        sim_reply_clear(&reply);
    }
}

SIM_CASE(a_refused_object_is_not_stored)
{
    sim_expect(sim, "POST", PODS, "{" NAMED "}", 422);
    sim_expect(sim, "GET", PODS "/a", NULL, 404);
}

/* Fixtures of tests say only what they are about. */
SIM_CASE(a_loaded_invalid_object_can_be_changed)
{
    static const char text[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
        "\"namespace\":\"default\"},\"spec\":{\"nodeName\":\"n\"}}";

    assert_int_equal(kl_sim_load(sim, text, sizeof(text) - 1, NULL), KL_OK);
    sim_play(sim, "PATCH pods/a {metadata: {labels: {b: c}}} -> 200\n"
                  "PATCH pods/a/status {status: {phase: Running}} -> 200\n"
                  "PATCH pods/a {spec: {activeDeadlineSeconds: -1}} -> 422\n");
}

SIM_CASE(the_result_of_a_dry_run_has_no_version)
{
    sim_reply reply =
        sim_ask(sim, "POST", "/api/v1" IN_DEFAULT "configmaps?dryRun=All",
                "{" NAMED "}");

    assert_int_equal(reply.status, 201);
    assert_null(kl_value_get(kl_value_get(kl_doc_root(reply.doc), "metadata"),
                             "resourceVersion"));
    sim_reply_clear(&reply);
}
