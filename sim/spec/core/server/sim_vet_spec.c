/*
 * sim_vet_spec.c - validation of built-in kinds, in the words of kube-apiserver
 * 1.36; an object that was loaded may stay invalid.
 */
#include "spec_case.h"
#include "vet_cases.h"

SIM_CASE(an_invalid_object_is_refused_with_its_causes)
{
    for (size_t i = 0; i < vet_case_count; i++) {
        sim_reply reply = sim_ask(sim, "POST", vet_cases[i].path,
                                  sim_json(vet_cases[i].body));

        assert_string_equal(sim_text(reply.doc, "message"), vet_cases[i].says);
        assert_int_equal(reply.status, 422);
        sim_reply_clear(&reply);
    }
}

SIM_CASE(a_refused_object_is_not_stored)
{
    sim_play(sim, "POST pods {metadata: {name: a}} -> 422\n"
                  "GET pods/a -> 404\n");
}

/* Fixtures of tests say only what they are about. */
SIM_CASE(a_loaded_invalid_object_can_be_changed)
{
    const char *pod =
        sim_json("{apiVersion: v1, kind: Pod, metadata: {name: a, "
                 "namespace: default}, spec: {nodeName: 'n'}}");

    assert_int_equal(kl_sim_load(sim, pod, strlen(pod), NULL), KL_OK);
    sim_play(sim, "PATCH pods/a {metadata: {labels: {b: c}}} -> 200\n"
                  "PATCH pods/a/status {status: {phase: Running}} -> 200\n"
                  "PATCH pods/a {spec: {activeDeadlineSeconds: -1}} -> 422\n");
}

SIM_CASE(the_result_of_a_dry_run_has_no_version)
{
    sim_play(sim, "POST configmaps?dryRun=All {metadata: {name: a}} -> 201 "
                  "metadata.resourceVersion=\n");
}
