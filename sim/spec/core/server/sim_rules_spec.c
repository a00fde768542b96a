/*
 * sim_rules_spec.c - rules of faults through the in-process transport: which
 * requests they apply to, and what is answered instead.
 */
#include "fault_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_misuse(sim_rig *f, const char *rule, const char *message)
{
    kl_error err;

    assert_int_equal(kl_sim_fault(f->sim, rule, strlen(rule), NULL, &err),
                     KL_EINVAL);
    assert_string_equal(err.message, message);
}

static void a_rule_is_for_a_verb_a_resource_and_a_count(void **state)
{
    sim_rig *f = *state;

    fault_order(f, "{\"action\":\"fail\",\"status\":500,\"verb\":\"list\","
                   "\"resource\":\"configmaps\",\"namespace\":\"default\","
                   "\"count\":2}");
    assert_int_equal(fault_outcome(f, "/api/v1/configmaps", NULL), 200);
    assert_int_equal(fault_outcome(f, "/api/v1/namespaces/default/pods", NULL),
                     200);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS "/a", NULL), 404);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 500);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 500);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 200);
}

static void a_resource_may_say_its_group_and_subresource(void **state)
{
    sim_rig *f = *state;

    fault_order(f, "{\"action\":\"fail\",\"status\":500,\"count\":0,"
                   "\"resource\":\"deployments.apps\"}");
    fault_order(f, "{\"action\":\"fail\",\"status\":502,\"count\":0,"
                   "\"resource\":\"pods/status\"}");
    assert_int_equal(fault_outcome(f, "/apis/apps/v1/deployments", NULL), 500);
    assert_int_equal(fault_outcome(f, "/apis/apps/v1/replicasets", NULL), 200);
    assert_int_equal(
        fault_outcome(f, "/api/v1/namespaces/default/pods/a", NULL), 404);
    assert_int_equal(
        fault_outcome(f, "/api/v1/namespaces/default/pods/a/status", NULL),
        502);
}

static void a_rule_may_skip_requests_and_choose_the_client(void **state)
{
    sim_rig *f = *state;

    fault_order(f, "{\"action\":\"fail\",\"status\":503,\"skip\":1,"
                   "\"client\":\"kubectl\",\"path\":\"/api/v1/namespaces/\"}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, "kubectl/1.36"), 200);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, "curl"), 200);
    assert_int_equal(fault_outcome(f, "/api/v1/pods", "kubectl/1.36"), 200);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, "kubectl/1.36"), 503);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, "kubectl/1.36"), 200);
}

static void several_failures_are_used_in_order(void **state)
{
    sim_rig *f = *state;

    fault_order(f, "{\"action\":\"fail\",\"status\":500}");
    fault_order(f, "{\"action\":\"fail\",\"status\":503}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 500);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 503);
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 200);
}

static void a_page_of_a_list_can_fail_as_often_as_it_is_asked_for(void **state)
{
    char *target;
    sim_rig *f = *state;
    sim_reply page;
    kl__buf next = {0};

    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
    sim_add(f->sim, "c");
    fault_order(f,
                "{\"action\":\"fail\",\"status\":504,\"page\":2,\"count\":2}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS "?limit=1", NULL), 200);
    page = sim_ask(f->sim, "GET", FAULT_OBJECTS "?limit=1", NULL);
    kl__buf_printf(&next, FAULT_OBJECTS "?limit=1&continue=%s",
                   sim_text(page.doc, "metadata.continue"));
    sim_reply_clear(&page);
    target = next.bytes;
    assert_int_equal(fault_outcome(f, target, NULL), 504);
    assert_int_equal(fault_outcome(f, target, NULL), 504);
    assert_int_equal(fault_outcome(f, target, NULL), 200);
    kl__buf_deinit(&next);
}

static void expect_expired(sim_rig *f, const char *target, bool has_token)
{
    kl__buf body = {0};
    kl_doc *doc;

    assert_int_equal(fault_body(f, target, SIM_CLIENT_PATIENCE_MS, &body),
                     KL_OK);
    doc = kl_doc_parse(body.bytes, body.length, NULL);
    assert_string_equal(sim_text(doc, "reason"), "Expired");
    assert_int_equal(*sim_text(doc, "metadata.continue") != '\0', has_token);
    kl_doc_unref(doc);
    kl__buf_deinit(&body);
}

static void a_token_can_expire_with_and_without_a_way_on(void **state)
{
    sim_rig *f = *state;
    sim_reply page;
    kl__buf next = {0};

    sim_add(f->sim, "a");
    sim_add(f->sim, "b");
    page = sim_ask(f->sim, "GET", FAULT_OBJECTS "?limit=1", NULL);
    kl__buf_printf(&next, FAULT_OBJECTS "?limit=1&continue=%s",
                   sim_text(page.doc, "metadata.continue"));
    sim_reply_clear(&page);
    fault_order(f, "{\"action\":\"expire\"}");
    fault_order(f, "{\"action\":\"expire\",\"how\":\"no_token\",\"skip\":1}");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS "?limit=1", NULL), 200);
    expect_expired(f, next.bytes, true);
    expect_expired(f, next.bytes, false);
    assert_int_equal(fault_outcome(f, next.bytes, NULL), 200);
    kl__buf_deinit(&next);
}

static void a_watch_can_expire_as_a_status_or_an_event(void **state)
{
    sim_rig *f = *state;
    sim_watch stream;

    fault_order(
        f, "{\"action\":\"expire\",\"verb\":\"watch\",\"how\":\"status\"}");
    assert_int_equal(fault_outcome(f, FAULT_WATCH, NULL), 410);
    fault_order(f, "{\"action\":\"expire\",\"verb\":\"watch\"}");
    sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
    assert_string_equal(sim_watch_next(&stream), "ERROR");
    assert_string_equal(sim_text(stream.event, "object.code"), "410");
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
    sim_watch_open(&stream, f->transport, "", FAULT_WATCH);
    sim_watch_expect_silence(&stream);
    fault_order(f,
                "{\"action\":\"expire\",\"verb\":\"watch\"}"); /* while open */
    assert_string_equal(sim_watch_next(&stream), "ERROR");
    assert_string_equal(sim_watch_next(&stream), "");
    sim_watch_close(&stream);
}

static void a_fault_that_needs_a_socket_is_an_error_in_process(void **state)
{
    sim_rig *f = *state;
    kl__stream *stream;
    kl__response response;
    kl_error err;

    fault_order(f, "{\"action\":\"wire\",\"how\":\"gzip\"}");
    stream = fault_send(f, FAULT_OBJECTS, NULL);
    assert_int_equal(
        kl__stream_response(stream, &response, fault_in(1000), NULL, &err),
        KL_ECONFIG);
    assert_non_null(strstr(err.message, "needs a socket"));
    kl__stream_close(stream);
}

static void rules_are_listed_with_their_hits(void **state)
{
    sim_rig *f = *state;
    char *told;

    fault_order(f, "{\"action\":\"fail\",\"status\":500,\"count\":0}");
    fault_order(f, "{\"action\":\"cut\",\"verb\":\"watch\"}");
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

static void an_invalid_rule_is_explained(void **state)
{
    sim_rig *f = *state;
    kl_error err;

    assert_int_equal(kl_sim_fault(f->sim, "{", 1, NULL, &err), KL_EPARSE);
    expect_misuse(
        f, "{\"action\":\"explode\"}",
        "fault: \"action\" is one of fail, expire, cut, freeze, "
        "delay, event, bookmarks, wire, refuse, certificate, tls, not explode");
    expect_misuse(f, "{\"action\":\"tls\",\"how\":\"stall\"}",
                  "simulator: it does not listen with TLS, so it has no "
                  "handshakes");
    expect_misuse(f, "7",
                  "fault: \"action\" is one of fail, expire, cut, freeze, "
                  "delay, event, bookmarks, wire, refuse, certificate, tls, "
                  "not something "
                  "else");
    expect_misuse(f, "{\"action\":\"cut\",\"how\":\"gzip\"}",
                  "fault: \"how\" is one of close, reset, end, not gzip");
    expect_misuse(f, "{\"action\":\"cut\",\"verb\":\"lisst\"}",
                  "fault: \"verb\" is one of get, list, watch, create, update, "
                  "patch, delete, deletecollection, not lisst");
    expect_misuse(f, "{\"action\":\"cut\",\"after_bytes\":-1}",
                  "fault: \"after_bytes\" is an integer from 0");
    expect_misuse(f, "{\"action\":\"refuse\",\"verb\":\"list\"}",
                  "fault: \"refuse\" has no field \"verb\"; there are: action, "
                  "seconds");
    expect_misuse(f, "{\"action\":\"fail\"}",
                  "fault: \"fail\" needs a \"status\" of 200 to 599");
    expect_misuse(f, "{\"action\":\"delay\"}",
                  "fault: \"delay\" needs \"before\", \"byte\", \"event\" or "
                  "\"bytes\"");
    expect_misuse(f, "{\"action\":\"event\",\"at\":0}",
                  "fault: \"at\" counts from 1");
}

#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, sim_rig_set_up, sim_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_rule_is_for_a_verb_a_resource_and_a_count),
        SPEC(a_resource_may_say_its_group_and_subresource),
        SPEC(a_rule_may_skip_requests_and_choose_the_client),
        SPEC(several_failures_are_used_in_order),
        SPEC(a_page_of_a_list_can_fail_as_often_as_it_is_asked_for),
        SPEC(a_token_can_expire_with_and_without_a_way_on),
        SPEC(a_watch_can_expire_as_a_status_or_an_event),
        SPEC(a_fault_that_needs_a_socket_is_an_error_in_process),
        SPEC(rules_are_listed_with_their_hits),
        SPEC(an_invalid_rule_is_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
