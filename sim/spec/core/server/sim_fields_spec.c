/*
 * sim_fields_spec.c - writes of built-in kinds: invalid fields are refused or
 * warned of, defaults are set, and a kind with two versions is one object in
 * both.
 */
#include "spec_case.h"

#define PODS "/api/v1/namespaces/default/pods"
#define POD(name, more)                                                 \
    "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{\"containers\":[{" \
    "\"name\":\"c\",\"image\":\"i\"}]" more "}}"

static void expect_text(kl_sim *sim, const char *target, const char *path,
                        const char *text)
{
    sim_reply reply = sim_ask(sim, "GET", target, NULL);

    assert_int_equal(reply.status, 200);
    assert_string_equal(sim_text(reply.doc, path), text);
    sim_reply_clear(&reply);
}

SIM_CASE(a_wrong_type_is_refused)
{
    sim_expect_refusal(
        sim, "POST " PODS, POD("p", ",\"priority\":\"1\""), 400,
        "BadRequest: Pod in version \"v1\" cannot be handled as a Pod: json: "
        "cannot unmarshal string into Go struct field PodSpec.spec.priority of "
        "type int32");
}

SIM_CASE(an_unknown_field_is_refused_dropped_or_warned_of)
{
    static const char unknown[] = POD("p", ",\"foo\":1");

    sim_expect_refusal(
        sim, "POST " PODS "?fieldValidation=Strict", unknown, 400,
        "BadRequest: Pod in version \"v1\" cannot be handled as a Pod: strict "
        "decoding error: unknown field \"spec.foo\"");
    sim_expect_refusal(
        sim, "POST " PODS "?fieldValidation=x", unknown, 422,
        "Invalid: CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: "
        "Unsupported value: \"x\": supported values: \"\", \"Ignore\", "
        "\"Strict\", \"Warn\"");
    sim_expect(sim, "POST", PODS "?fieldValidation=Ignore", unknown, 201);
    expect_text(sim, PODS "/p", "spec.foo", "");
    sim_expect(sim, "POST", PODS, POD("q", ",\"foo\":1"), 201);
}

SIM_CASE(a_new_object_gets_its_defaults)
{
    sim_expect(sim, "POST", PODS, POD("p", ""), 201);
    sim_play(sim, "GET pods/p -> 200 spec.restartPolicy=Always | "
                  "spec.containers[1].imagePullPolicy=Always | "
                  "spec.containers[1].resources={}\n");
}
