/*
 * hostile_discovery_spec.c - discovery that is broken, partial, huge or
 * forbidden: the informer waits, says why once, and begins when it can.
 */
#include "kube_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RESOURCE(plural, kind, verbs)                                 \
    "{\"resource\":\"" plural "\",\"responseKind\":{\"kind\":\"" kind \
    "\"},\"scope\":\"Cluster\",\"verbs\":[" verbs "]}"
#define NODES RESOURCE("nodes", "Node", "\"list\",\"watch\"")
#define VERSION(version, more, resources) \
    "{\"version\":\"" version "\"" more ",\"resources\":[" resources "]}"
#define GROUP(name, versions) \
    "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"
#define GROUPS(groups)                                    \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":" \
    "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[" groups "]}"
#define CORE(resources) GROUPS(GROUP("", VERSION("v1", "", resources)))

/* Opens it under a name that is not in the table of built-in ones. */
static void open_by_discovery(kube *k)
{
    if (strcmp(k->options.resource, "nodes") == 0) {
        k->options.resource = "nodes.v1";
    }
    kube_open(k);
}

/* Asserts that nodes are found in the end, and listed. */
static void ends_well(kube *k, const char *story)
{
    kube_always(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
    kube_always(k, "watch", QUIET_WATCH);
    open_by_discovery(k);
    kube_told(k, story);
    kube_cache(k, "a@1", "10");
    kube_requests(k, "list", 1);
}

/* ---- broken ---- */

static void broken_discovery_is_reported_and_asked_again(void **state)
{
    static const char *const bodies[] = {
        "<html>login</html>",
        "",
        "null",
        "[]",
        "{}",
        "{\"kind\":\"Status\",\"status\":\"Success\"}",
        "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[",
        "{\"kind\":\"NodeList\",\"items\":[]}",
        "{\"kind\":7}",
    };
    kube *k = *state;

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        print_message("    %.60s\n", bodies[i]);
        k->leaps = true;
        kube_on(k, "api", ANSWER(200, bodies[i]));
        kube_on(k, "api", ANSWER(200, bodies[i]));
        kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
        kube_on(k, "watch", QUIET_WATCH);
        open_by_discovery(k);
        kube_told(k, "!parse *a@1 synced");
        assert_true(kube_elapsed(k) >= 800 + 1600);
        kube_requests(k, "api", 3);
        k = kube_renew(state);
    }
}

static void discovery_that_is_cut_is_asked_again(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "apis",
            STEPS(HOSTILE_STREAM, HOSTILE_CHUNK("{\"kind\":\"APIGroupDisc"),
                  HOSTILE_RESET));
    ends_well(k, "!unavailable *a@1 synced");
}

/* The valid entries are still used. */
static void malformed_entries_of_discovery_are_skipped(void **state)
{
    kube *k = *state;

    kube_on(k, "api",
            ANSWER(200, CORE("null,7,\"nodes\",[],{},{\"resource\":null},"
                             "{\"resource\":\"nodes\"},{\"resource\":{}},"
                             "{\"resource\":\"x\",\"responseKind\":[],"
                             "\"verbs\":{},\"shortNames\":7}," NODES
                             ",{\"resource\":\"y\",\"shortNames\":[null]}")));
    kube_on(k, "apis",
            ANSWER(200, GROUPS("null,{},{\"metadata\":null,\"versions\":7},"
                               "{\"versions\":[null,{}]}")));
    ends_well(k, "*a@1 synced");
}

static void a_name_cannot_lead_to_another_path(void **state)
{
    kube *k = *state;

    k->leaps = true;
    k->options.resource = "secretly";
    kube_on(k, "api",
            ANSWER(200, CORE("{\"resource\":\"nodes?x=/../secrets\","
                             "\"singularResource\":\"secretly\","
                             "\"responseKind\":{\"kind\":\"Node\"},"
                             "\"scope\":\"Cluster\",\"verbs\":[\"list\","
                             "\"watch\"]}")));
    open_by_discovery(k);
    kube_told(k, "!unknown_kind");
    kube_requests(k, "list", 0);
    kube_requests(k, "other", 0);
}

static void always_failing_discovery_is_no_hot_loop(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_always(k, "api",
                ANSWER(500, STATUS(500, "InternalError", "etcd is unwell")));
    open_by_discovery(k);
    kube_told(k, "!internal");
    assert_true(hostile_await_requests(k->server, "api", 12));
    assert_true(kube_elapsed(k) >= 800 * 63 + 30000 * 4);
    kube_told_no_more(k, "!internal");
    kube_requests(k, "list", 0);
}

/* ---- refused ---- */

static void a_server_without_the_group_root_has_the_core_group(void **state)
{
    kube *k = *state;

    kube_on(k, "apis", ANSWER(404, "404 page not found"));
    ends_well(k, "*a@1 synced");
}

static void a_user_who_may_not_see_the_groups_sees_the_core_group(void **state)
{
    kube *k = *state;

    kube_on(k, "apis", ANSWER(403, STATUS(403, "Forbidden", "no")));
    ends_well(k, "*a@1 synced");
}

static void a_403_to_discovery_is_reported(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "api", ANSWER(403, STATUS(403, "Forbidden", "no")));
    kube_on(k, "apis", ANSWER(403, STATUS(403, "Forbidden", "no")));
    ends_well(k, "!forbidden *a@1 synced");
}

static void credentials_that_are_refused_are_told_with_a_remedy(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "api", ANSWER(401, STATUS(401, "Unauthorized", "who?")));
    ends_well(k, "!unauthorized *a@1 synced");
    kube_reason(k, "credential");
}

/* ---- partial ---- */

static void a_stale_group_does_not_hide_the_others(void **state)
{
    kube *k = *state;

    kube_on(k, "apis",
            ANSWER(200, GROUPS(GROUP(
                            "metrics.k8s.io",
                            VERSION("v1", ",\"freshness\":\"Stale\"", "")))));
    ends_well(k, "*a@1 synced");
}

/* The kind may be one of a group whose server does not answer: that is said. */
static void an_unknown_kind_names_the_groups_that_are_silent(void **state)
{
    kube *k = *state;

    k->leaps = true;
    k->options.resource = "nodemetrics";
    kube_on(k, "apis",
            ANSWER(200, GROUPS(GROUP(
                            "metrics.k8s.io",
                            VERSION("v1", ",\"freshness\":\"Stale\"", "")))));
    open_by_discovery(k);
    kube_told(k, "!unknown_kind");
    kube_reason(k, "metrics.k8s.io");
}

static void an_old_server_with_a_group_that_is_down_is_used(void **state)
{
    kube *k = *state;

    kube_on(k, "api",
            ANSWER(200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"));
    kube_on(k, "apis",
            ANSWER(200, "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":"
                        "\"metrics.k8s.io\",\"versions\":[{\"version\":\"v1\"}]"
                        ",\"preferredVersion\":{\"version\":\"v1\"}}]}"));
    kube_on(k, "resources",
            ANSWER(200, "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\","
                        "\"resources\":[{\"name\":\"nodes\",\"kind\":\"Node\","
                        "\"namespaced\":false,\"verbs\":[\"list\",\"watch\"]},"
                        "{\"name\":\"nodes/status\",\"kind\":\"Node\","
                        "\"namespaced\":false,\"verbs\":[\"get\"]}]}"));
    kube_on(k, "resources",
            STEPS(HOSTILE_ANSWER_WITH(503, "Content-Type: text/plain\r\n",
                                      "service unavailable")));
    ends_well(k, "*a@1 synced");
    kube_requests(k, "resources", 2);
}

static void the_error_for_an_unwatchable_resource_says_so(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "api",
            ANSWER(200, CORE(RESOURCE("nodes", "Node", "\"get\",\"list\""))));
    open_by_discovery(k);
    kube_told(k, "!method_not_allowed");
    kube_reason(k, "cannot be watched");
    kube_requests(k, "list", 0);
}

/* ---- huge ---- */

static void discovery_of_20000_kinds_is_read(void **state)
{
    enum { KINDS = 20000 };

    kube *k = *state;
    kl__buf groups = {0};

    kl__buf_puts(&groups, "{\"kind\":\"APIGroupDiscoveryList\",\"items\":[");
    for (int i = 0; i < KINDS; i++) {
        kl__buf_printf(&groups,
                       "%s{\"metadata\":{\"name\":\"g%d.example.com\"},"
                       "\"versions\":[{\"version\":\"v1\",\"resources\":[{"
                       "\"resource\":\"kinds%d\",\"responseKind\":{\"kind\":"
                       "\"Kind%d\"},\"scope\":\"Namespaced\",\"verbs\":["
                       "\"list\",\"watch\"],\"shortNames\":[\"k%d\"]}]}]}",
                       i > 0 ? "," : "", i, i, i, i);
    }
    kl__buf_puts(&groups, "]}");
    kube_on(k, "apis", ANSWER(200, groups.bytes));
    kl__buf_deinit(&groups);
    ends_well(k, "*a@1 synced");
}

static void discovery_without_an_end_is_refused_at_a_bound(void **state)
{
    enum { MB = 1024 * 1024 };

    kube *k = *state;

    k->leaps = true;
    kube_on(k, "apis",
            STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Type: "
                               "application/json\r\nConnection: close\r\n\r\n"),
                  HOSTILE_FLOOD(
                      kube_repeated(k, "", "[[[[[[[[[[[[[[[[", MB / 16, ""),
                      65 * MB),
                  HOSTILE_FREEZE));
    ends_well(k, "!too_large *a@1 synced");
    kube_reason(k, "larger than 67108864 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KUBE_CASE(broken_discovery_is_reported_and_asked_again),
        KUBE_CASE(discovery_that_is_cut_is_asked_again),
        KUBE_CASE(malformed_entries_of_discovery_are_skipped),
        KUBE_CASE(a_name_cannot_lead_to_another_path),
        KUBE_CASE(always_failing_discovery_is_no_hot_loop),
        KUBE_CASE(a_server_without_the_group_root_has_the_core_group),
        KUBE_CASE(a_user_who_may_not_see_the_groups_sees_the_core_group),
        KUBE_CASE(a_403_to_discovery_is_reported),
        KUBE_CASE(credentials_that_are_refused_are_told_with_a_remedy),
        KUBE_CASE(a_stale_group_does_not_hide_the_others),
        KUBE_CASE(an_unknown_kind_names_the_groups_that_are_silent),
        KUBE_CASE(an_old_server_with_a_group_that_is_down_is_used),
        KUBE_CASE(the_error_for_an_unwatchable_resource_says_so),
        KUBE_CASE(discovery_of_20000_kinds_is_read),
        KUBE_CASE(discovery_without_an_end_is_refused_at_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
