/*
 * sim_fields_spec.c - writes of built-in kinds: invalid fields are refused or
 * warned of, defaults are set, and a kind with two versions is one object in
 * both.
 */
#include "spec_case.h"

#define POD(more) \
    "{metadata: {name: p}, spec: {containers: [{name: c, image: i}]" more "}}"

SIM_CASE(a_wrong_type_is_refused)
{
    sim_play(sim, "POST pods " POD(
                      ", priority: '1'") " -> 400 BadRequest: Pod in "
                                         "version \"v1\" cannot be handled as "
                                         "a Pod: json: cannot unmarshal "
                                         "string into Go struct field "
                                         "PodSpec.spec.priority of type "
                                         "int32\n");
}

SIM_CASE(an_unknown_field_is_refused_dropped_or_warned_of)
{
    sim_play(sim,
             "$pod = " POD(
                 ", foo: 1") "\n"
                             "POST pods?fieldValidation=Strict $pod -> 400 "
                             "BadRequest: Pod in "
                             "version \"v1\" cannot be handled as a Pod: "
                             "strict decoding error: "
                             "unknown field \"spec.foo\"\n"
                             "POST pods?fieldValidation=x $pod -> 422 Invalid: "
                             "CreateOptions.meta.k8s.io \"\" is invalid: "
                             "fieldValidation: "
                             "Unsupported value: \"x\": supported values: "
                             "\"\", \"Ignore\", "
                             "\"Strict\", \"Warn\"\n"
                             "POST pods?fieldValidation=Ignore $pod -> 201\n"
                             "GET pods/p -> 200 spec.foo=\n"
                             "DELETE pods/p -> 200\n"
                             "POST pods $pod -> 201\n");
}

SIM_CASE(a_new_object_gets_its_defaults)
{
    sim_play(sim, "POST pods " POD(
                      "") " -> 201\n"
                          "GET pods/p -> 200 spec.restartPolicy=Always | "
                          "spec.containers[1].imagePullPolicy=Always | "
                          "spec.containers[1].resources={}\n");
}
