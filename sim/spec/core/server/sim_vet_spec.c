/*
 * sim_vet_spec.c - validation of built-in kinds, in the words of kube-apiserver
 * 1.36; an object that was loaded may stay invalid.
 */
#include "sim_rig.h"
#include "vet_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define IN_DEFAULT "/namespaces/default/"
#define PODS "/api/v1" IN_DEFAULT "pods"
#define NAMED "\"metadata\":{\"name\":\"a\"}"

static void an_invalid_object_is_refused_with_its_causes(void **state)
{
    for (size_t i = 0; i < vet_case_count; i++) {
        sim_reply reply =
            sim_ask(*state, "POST", vet_cases[i].path, vet_cases[i].body);

        assert_string_equal(sim_text(reply.doc, "message"), vet_cases[i].says);
        assert_int_equal(reply.status, 422);
        sim_reply_clear(&reply);
    }
}

static void a_refused_object_is_not_stored(void **state)
{
    sim_expect(*state, "POST", PODS, "{" NAMED "}", 422);
    sim_expect(*state, "GET", PODS "/a", NULL, 404);
}

/* Fixtures of tests say only what they are about. */
static void a_loaded_invalid_object_can_be_changed(void **state)
{
    static const char text[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\","
        "\"namespace\":\"default\"},\"spec\":{\"nodeName\":\"n\"}}";

    assert_int_equal(kl_sim_load(*state, text, sizeof(text) - 1, NULL), KL_OK);
    sim_expect(*state, "PATCH", PODS "/a",
               "{\"metadata\":{\"labels\":{\"b\":\"c\"}}}", 200);
    sim_expect(*state, "PATCH", PODS "/a/status",
               "{\"status\":{\"phase\":\"Running\"}}", 200);
    sim_expect(*state, "PATCH", PODS "/a",
               "{\"spec\":{\"activeDeadlineSeconds\":-1}}", 422);
}

static void the_result_of_a_dry_run_has_no_version(void **state)
{
    sim_reply reply =
        sim_ask(*state, "POST", "/api/v1" IN_DEFAULT "configmaps?dryRun=All",
                "{" NAMED "}");

    assert_int_equal(reply.status, 201);
    assert_null(kl_value_get(kl_value_get(kl_doc_root(reply.doc), "metadata"),
                             "resourceVersion"));
    sim_reply_clear(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_invalid_object_is_refused_with_its_causes, sim_set_up,
            sim_tear_down),
        cmocka_unit_test_setup_teardown(a_refused_object_is_not_stored,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(a_loaded_invalid_object_can_be_changed,
                                        sim_set_up, sim_tear_down),
        cmocka_unit_test_setup_teardown(the_result_of_a_dry_run_has_no_version,
                                        sim_set_up, sim_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
