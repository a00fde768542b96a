/*
 * sim_rules_spec.c - rules of faults through the in-process transport: which
 * requests they apply to, and what is answered instead.
 */
#include "spec_case.h"
#include "fault_rig.h"

static void expect_misuse(sim_rig *f, const char *rule, const char *message)
{
    kl_error err;

    rule = sim_json(rule);
    assert_int_equal(kl_sim_fault(f->sim, rule, strlen(rule), NULL, &err),
                     KL_EINVAL);
    assert_string_equal(err.message, message);
}

RIG_CASE(a_rule_is_for_a_verb_a_resource_and_a_count)
{
    rig_play(f, "FAULT {action: fail, status: 500, verb: list, resource: "
                "configmaps, namespace: default, count: 2}\n"
                "SEND /api/v1/configmaps -> 200\n"
                "SEND pods -> 200\n"
                "SEND configmaps/a -> 404\n"
                "SEND configmaps -> 500\n"
                "SEND configmaps -> 500\n"
                "SEND configmaps -> 200\n");
}

RIG_CASE(a_resource_may_say_its_group_and_subresource)
{
    rig_play(
        f,
        "FAULT {action: fail, status: 500, count: 0, resource: "
        "deployments.apps}\n"
        "FAULT {action: fail, status: 502, count: 0, resource: pods/status}\n"
        "SEND /apis/apps/v1/deployments -> 500\n"
        "SEND /apis/apps/v1/replicasets -> 200\n"
        "SEND pods/a -> 404\n"
        "SEND pods/a/status -> 502\n");
}

RIG_CASE(a_rule_may_skip_requests_and_choose_the_client)
{
    rig_play(f, "FAULT {action: fail, status: 503, skip: 1, client: kubectl, "
                "path: /api/v1/namespaces/}\n"
                "SEND configmaps kubectl/1.36 -> 200\n"
                "SEND configmaps curl -> 200\n"
                "SEND /api/v1/pods kubectl/1.36 -> 200\n"
                "SEND configmaps kubectl/1.36 -> 503\n"
                "SEND configmaps kubectl/1.36 -> 200\n");
}

RIG_CASE(several_failures_are_used_in_order)
{
    rig_play(f, "FAULT {action: fail, status: 500}\n"
                "FAULT {action: fail, status: 503}\n"
                "SEND configmaps -> 500\n"
                "SEND configmaps -> 503\n"
                "SEND configmaps -> 200\n");
}

RIG_CASE(a_page_of_a_list_can_fail_as_often_as_it_is_asked_for)
{
    rig_play(f, "ADD a b c\n"
                "FAULT {action: fail, status: 504, page: 2, count: 2}\n"
                "SEND configmaps?limit=1 -> 200\n"
                "GET configmaps?limit=1 -> 200 $next=metadata.continue\n"
                "SEND configmaps?limit=1&continue=$next -> 504\n"
                "SEND configmaps?limit=1&continue=$next -> 504\n"
                "SEND configmaps?limit=1&continue=$next -> 200\n");
}

RIG_CASE(a_token_can_expire_with_and_without_a_way_on)
{
    rig_play(f, "ADD a b\n"
                "GET configmaps?limit=1 -> 200 $next=metadata.continue\n"
                "FAULT {action: expire}\n"
                "FAULT {action: expire, how: no_token, skip: 1}\n"
                "SEND configmaps?limit=1 -> 200\n"
                "GET configmaps?limit=1&continue=$next @ over -> 410 "
                "reason=Expired | metadata.continue!=\n"
                "GET configmaps?limit=1&continue=$next @ over -> 410 "
                "reason=Expired | metadata.continue=\n"
                "SEND configmaps?limit=1&continue=$next -> 200\n");
}

RIG_CASE(a_watch_can_expire_as_a_status_or_an_event)
{
    rig_play(f, "FAULT {action: expire, verb: watch, how: status}\n"
                "SEND configmaps?watch=true&resourceVersion=3 -> 410\n"
                "FAULT {action: expire, verb: watch}\n"
                "WATCH configmaps?resourceVersion=3\n"
                "ERROR | code=410\n"
                "END\n"
                "WATCH configmaps?resourceVersion=3\n"
                "SILENCE\n"
                "FAULT {action: expire, verb: watch}\n" /* while it is open */
                "ERROR, END\n");
}

RIG_CASE(a_fault_that_needs_a_socket_is_an_error_in_process)
{
    kl__stream *stream;
    kl__response response;
    kl_error err;

    fault_order(f, "{action: wire, how: gzip}");
    stream = fault_send(f, FAULT_OBJECTS, NULL);
    assert_int_equal(
        kl__stream_response(stream, &response, fault_in(1000), NULL, &err),
        KL_ECONFIG);
    assert_non_null(strstr(err.message, "needs a socket"));
    kl__stream_close(stream);
}

RIG_CASE(rules_are_listed_with_their_hits)
{
    char *told;

    fault_order(f, "{action: fail, status: 500, count: 0}");
    fault_order(f, "{action: cut, verb: watch}");
    fault_outcome(f, FAULT_OBJECTS, NULL);
    told = kl_sim_faults(f->sim, NULL);
    assert_string_equal(
        told, "[{\"id\":1,\"hits\":1,\"action\":\"fail\",\"status\":500,"
              "\"count\":0},{\"id\":2,\"hits\":0,\"action\":\"cut\",\"verb\":"
              "\"watch\"}]");
    kl_free(told);
    assert_true(kl_sim_heal(f->sim, 0));
    told = kl_sim_faults(f->sim, NULL);
    assert_string_equal(told, "[]");
    kl_free(told);
}

RIG_CASE(an_invalid_rule_is_explained)
{
    kl_error err;

    assert_int_equal(kl_sim_fault(f->sim, "{", 1, NULL, &err), KL_EPARSE);
    expect_misuse(
        f, "{action: explode}",
        "fault: \"action\" is one of fail, expire, cut, freeze, delay, event, "
        "bookmarks, wire, refuse, certificate, tls, not explode");
    expect_misuse(
        f, "{action: tls, how: stall}",
        "simulator: it does not listen with TLS, so it has no handshakes");
    expect_misuse(
        f, "7",
        "fault: \"action\" is one of fail, expire, cut, freeze, delay, event, "
        "bookmarks, wire, refuse, certificate, tls, not something else");
    expect_misuse(f, "{action: cut, how: gzip}",
                  "fault: \"how\" is one of close, reset, end, not gzip");
    expect_misuse(f, "{action: cut, verb: lisst}",
                  "fault: \"verb\" is one of get, list, watch, create, update, "
                  "patch, delete, deletecollection, not lisst");
    expect_misuse(f, "{action: cut, after_bytes: -1}",
                  "fault: \"after_bytes\" is an integer from 0");
    expect_misuse(
        f, "{action: refuse, verb: list}",
        "fault: \"refuse\" has no field \"verb\"; there are: action, seconds");
    expect_misuse(f, "{action: fail}",
                  "fault: \"fail\" needs a \"status\" of 200 to 599");
    expect_misuse(
        f, "{action: delay}",
        "fault: \"delay\" needs \"before\", \"byte\", \"event\" or \"bytes\"");
    expect_misuse(f, "{action: event, at: 0}", "fault: \"at\" counts from 1");
}
