/*
 * sim_list_spec.c - LIST: selectors, pages of one version, versions, and the
 * words of refusals.
 */
#include "spec_case.h"

static int set_up(void **state)
{
    kl_error err = {0};
    kl_sim *sim = kl_sim_new(&(kl_sim_options){.no_controllers = true}, &err);

    *state = sim;
    return sim != NULL ? 0 : -1;
}

#define CASE(name) SPEC_CASE(name, kl_sim *sim, set_up, sim_tear_down)

CASE(a_list_of_a_builtin_kind_has_bare_items_after_its_metadata)
{
    sim_play(sim, "ADD a\n"
                  "GET /api/v1/configmaps -> 200 "
                  "^{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\","
                  "\"metadata\":{\"resourceVersion\":\"4\"},\"items\":[{"
                  "\"metadata\":{\"name\":\"a\" | items[1].kind=\n");
}

CASE(an_empty_list_has_an_empty_array)
{
    sim_play(sim, "GET configmaps -> 200 "
                  "^{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\","
                  "\"metadata\":{\"resourceVersion\":\"3\"},\"items\":[]}\n");
}

CASE(items_come_in_the_order_of_namespace_and_name)
{
    sim_play(sim,
             "POST /api/v1/namespaces {metadata: {name: default-b}} -> 201\n"
             "POST /api/v1/namespaces/default-b/configmaps {metadata: {name: "
             "z}} -> 201\n"
             "ADD c a b\n"
             "GET /api/v1/configmaps -> 200 names=z a b c\n"
             "GET configmaps -> 200 names=a b c\n"
             "GET /api/v1/namespaces/none/configmaps -> 200 names=\n");
}

CASE(labels_and_fields_select)
{
    sim_play(sim,
             "POST pods {metadata: {name: p1, labels: {app: shop, tier: web}}, "
             "spec: {nodeName: n1, containers: [{name: c, image: i}]}} -> 201\n"
             "POST pods {metadata: {name: p2, labels: {app: shop}}, spec: "
             "{nodeName: n1, containers: [{name: c, image: i}]}} -> 201\n"
             "POST pods {metadata: {name: p3, labels: {}}, spec: {nodeName: "
             "n2, containers: [{name: c, image: i}]}} -> 201\n"
             "$pods = GET /api/v1/pods\n"
             "$pods?labelSelector=app%3Dshop,tier!%3Ddb -> 200 names=p1 p2\n"
             "$pods?labelSelector=app+in+(shop,x),!tier -> 200 names=p2\n"
             "$pods?labelSelector=!app -> 200 names=p3\n"
             "$pods?fieldSelector=spec.nodeName%3Dn1 -> 200 names=p1 p2\n"
             "$pods?fieldSelector=spec.nodeName!%3Dn1 -> 200 names=p3\n"
             "$pods?fieldSelector=metadata.name%3Dp2,metadata.namespace%"
             "3Ddefault -> 200 names=p2\n"
             "$pods?fieldSelector=spec.nodeName%3Dn1&labelSelector=tier -> 200 "
             "names=p1\n"
             "$pods?fieldSelector=status.phase%3DPending,spec.hostNetwork%"
             "3Dfalse -> 200 names=p1 p2 p3\n"
             "$pods?fieldSelector=status.phase%3DRunning -> 200 names=\n");
}

CASE(pages_are_of_one_version_whatever_happens_meanwhile)
{
    sim_play(
        sim,
        "ADD a b c d\n"
        "GET configmaps?limit=1 -> 200 metadata.remainingItemCount=3 | "
        "$next=metadata.continue\n"
        "DELETE configmaps/b -> 200\n"
        "TOUCH c new\n"
        "TOUCH c newer\n"
        "ADD bb\n"
        "DELETE configmaps/d -> 200\n"
        "ADD d\n"
        "GET configmaps?limit=2&continue=$next -> 200 names=b c | "
        "items[2].data= | metadata.resourceVersion=7 | "
        "metadata.remainingItemCount=1 | $next=metadata.continue\n"
        "GET configmaps?limit=2&continue=$next -> 200 "
        "items[1].metadata.resourceVersion=7 | items[2]= | metadata.continue=\n"
        "GET configmaps -> 200 names=a bb c d\n");
}

CASE(a_page_with_a_selector_does_not_know_what_remains)
{
    sim_play(sim, "POST pods {metadata: {name: p1, labels: {app: x}}, spec: "
                  "{nodeName: n1, containers: [{name: c, image: i}]}} -> 201\n"
                  "POST pods {metadata: {name: p2, labels: {app: x}}, spec: "
                  "{nodeName: n1, containers: [{name: c, image: i}]}} -> 201\n"
                  "GET /api/v1/pods?limit=1&labelSelector=app -> 200 "
                  "metadata.continue!= | metadata.remainingItemCount=\n");
}

CASE(a_token_expires_with_its_version_and_offers_another)
{
    sim_play(sim, "ADD a b\n"
                  "GET configmaps?limit=1 -> 200 $next=metadata.continue\n"
                  "ADD c\n"
                  "COMPACT\n"
                  "GET configmaps?continue=$next -> 410 reason=Expired | "
                  "~\"message\":\"The provided continue parameter is too old | "
                  "$next=metadata.continue\n"
                  "GET configmaps?continue=$next -> 200 names=b c\n");
}

CASE(a_limit_is_ignored_at_version_0)
{
    sim_play(sim,
             "ADD a b\n"
             "GET configmaps?limit=1&resourceVersion=0 -> 200 names=a b\n");
}

CASE(a_list_of_an_exact_version_has_the_objects_of_then)
{
    sim_play(sim,
             "ADD a\n"
             "GET configmaps?limit=1 -> 200 $then=metadata.resourceVersion\n"
             "DELETE configmaps/a -> 200\n"
             "ADD b\n"
             "GET configmaps?resourceVersionMatch=Exact&resourceVersion=$then "
             "-> 200 names=a\n"
             "GET configmaps?limit=5&resourceVersion=$then -> 200 names=a\n"
             "GET configmaps?resourceVersion=$then -> 200 names=b\n"
             "COMPACT\n"
             "GET configmaps?resourceVersionMatch=Exact&resourceVersion=$then "
             "-> 410\n");
}

CASE(a_future_version_is_too_large)
{
    sim_play(sim,
             "GET configmaps?resourceVersion=99999 -> 504 reason=Timeout | "
             "message=Timeout: Too large resource version: 99999, current: 3 | "
             "details.causes[1].reason=ResourceVersionTooLarge | "
             "details.retryAfterSeconds=1\n");
}

#define INVALID                                                       \
    " -> 422 details.kind=ListOptions | details.group=meta.k8s.io | " \
    "message=ListOptions.meta.k8s.io \"\" is invalid: "
#define MATCH "resourceVersionMatch: Forbidden: resourceVersionMatch "

CASE(invalid_combinations_of_parameters_are_refused)
{
    sim_play(
        sim,
        "GET configmaps?resourceVersionMatch=Exact" INVALID MATCH
        "is forbidden unless resourceVersion is provided\n"
        "GET configmaps?resourceVersionMatch=Exact&resourceVersion=0" INVALID
            MATCH "\"exact\" is forbidden for resourceVersion \"0\"\n"
        "GET configmaps?resourceVersionMatch=Foo&resourceVersion=1" INVALID
        "resourceVersionMatch: Unsupported value: \"Foo\": supported values: "
        "\"Exact\", \"NotOlderThan\", \"\"\n"
        "GET configmaps?sendInitialEvents=true" INVALID
        "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for "
        "list\n"
        "GET configmaps?continue=abc&resourceVersionMatch=Exact" INVALID
        "[" MATCH "is forbidden unless resourceVersion is provided, " MATCH
        "is forbidden when continue is provided]\n"
        "GET configmaps?resourceVersion=x -> 400 message=invalid resource "
        "version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: "
        "parsing \"x\": invalid syntax\n"
        "GET configmaps?resourceVersion=-5 -> 400\n"
        "GET configmaps?resourceVersion=99999999999999999999 -> 400\n"
        "GET configmaps?limit=x -> 400 message=strconv.ParseInt: parsing "
        "\"x\": invalid syntax\n"
        "GET configmaps?limit=99999999999999999999 -> 400 "
        "message=strconv.ParseInt: parsing \"99999999999999999999\": value out "
        "of range\n"
        "GET configmaps?timeoutSeconds=x -> 400\n"
        "GET configmaps?labelSelector=a+in+( -> 400\n"
        "GET configmaps?fieldSelector=x -> 400 message=invalid selector: 'x'; "
        "can't understand 'x'\n"
        "GET configmaps?fieldSelector=spec.x%3D1 -> 400 message=\"spec.x\" is "
        "not a known field selector: only \"metadata.name\", "
        "\"metadata.namespace\"\n"
        "GET configmaps?continue=%21%21 -> 400 message=invalid continue token: "
        "continue key is not valid: illegal base64 data at input byte 0\n"
        "GET configmaps?continue=e30 -> 400 message=invalid continue token: "
        "continue key is not valid: server does not recognize this encoded "
        "version \n"
        "GET configmaps?continue=abc -> 400\n");
}

CASE(a_continue_token_with_another_version_is_400)
{
    sim_play(
        sim,
        "ADD a b\n"
        "GET configmaps?limit=1 -> 200 $next=metadata.continue\n"
        "GET configmaps?continue=$next&resourceVersion=5 -> 400\n"
        "GET configmaps?continue=$next&resourceVersion=0 -> 200 names=b\n");
}

CASE(an_accept_header_without_json_is_406)
{
    sim_play(sim,
             "GET configmaps @ accept text/plain -> 406\n"
             "GET configmaps @ accept "
             "application/json;as=Table;v=v1;g=meta.k8s.io,*/*;q=0.1 -> 200\n");
}
