/*
 * sim_list_spec.c - LIST: selectors, pages of one version, versions, and the
 * words of refusals.
 */
#include "spec_case.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static int set_up(void **state)
{
    kl_error err = {0};
    kl_sim *sim = kl_sim_new(&(kl_sim_options){.no_controllers = true}, &err);

    *state = sim;
    return sim != NULL ? 0 : -1;
}

/* The names of a list's items, separated by blanks. */
static const char *names(kl_sim *sim, const char *target)
{
    static char text[4096];
    sim_reply reply = sim_ask(sim, "GET", target, NULL);
    const kl_value *items;

    if (reply.status != 200) {
        fail_msg("%s: %s", target, reply.raw.body);
    }
    items = kl_value_get(kl_doc_root(reply.doc), "items");
    assert_int_equal(kl_value_type(items), KL_ARRAY);
    text[0] = '\0';
    for (size_t i = 0; i < kl_value_size(items); i++) {
        const kl_value *metadata =
            kl_value_get(kl_value_at(items, i), "metadata");

        strcat(text, i != 0 ? " " : "");
        strcat(text, kl_value_string(kl_value_get(metadata, "name"), NULL));
    }
    sim_reply_clear(&reply);
    return text;
}

/* The version of the cluster, as a list tells it. */
static long version(kl_sim *sim)
{
    sim_reply reply = sim_ask(sim, "GET", CONFIGMAPS "?limit=1", NULL);
    long number = atol(sim_text(reply.doc, "metadata.resourceVersion"));

    sim_reply_clear(&reply);
    return number;
}

/* Gets the first page of one item and copies its continue token. */
static void first_page(kl_sim *sim, char *token)
{
    sim_reply reply = sim_ask(sim, "GET", CONFIGMAPS "?limit=1", NULL);

    strcpy(token, sim_text(reply.doc, "metadata.continue"));
    assert_string_not_equal(token, "");
    sim_reply_clear(&reply);
}

static void pod(kl_sim *sim, const char *name, const char *node,
                const char *labels)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":%s},\"spec\":{"
             "\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\"}]}}",
             name, labels, node);
    sim_expect(sim, "POST", "/api/v1/namespaces/default/pods", body, 201);
}

#define CASE(name) SPEC_CASE(name, kl_sim *sim, set_up, sim_tear_down)

CASE(a_list_of_a_builtin_kind_has_bare_items_after_its_metadata)
{
    static const char begins[] =
        "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"resourceVersion\":\"4\"},\"items\":[{\"metadata\":{\"name\":\"a\"";
    sim_reply reply;

    sim_add(sim, "a");
    reply = sim_ask(sim, "GET", "/api/v1/configmaps", NULL);
    assert_memory_equal(reply.raw.body, begins, sizeof(begins) - 1);
    assert_string_equal(sim_text(reply.doc, "items[1].kind"), "");
    sim_reply_clear(&reply);
}

CASE(an_empty_list_has_an_empty_array)
{
    sim_reply reply = sim_ask(sim, "GET", CONFIGMAPS, NULL);

    assert_string_equal(reply.raw.body,
                        "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\","
                        "\"metadata\":{\"resourceVersion\":\"3\"},\"items\":["
                        "]}\n");
    sim_reply_clear(&reply);
}

CASE(items_come_in_the_order_of_namespace_and_name)
{
    sim_play(sim,
             "POST /api/v1/namespaces {metadata: {name: default-b}} -> 201\n"
             "POST /api/v1/namespaces/default-b/configmaps {metadata: {name: "
             "z}} -> 201\n"
             "ADD c\n"
             "ADD a\n"
             "ADD b\n");
    assert_string_equal(names(sim, "/api/v1/configmaps"), "z a b c");
    assert_string_equal(names(sim, CONFIGMAPS), "a b c");
    assert_string_equal(names(sim, "/api/v1/namespaces/none/configmaps"), "");
}

CASE(labels_and_fields_select)
{
    static const char pods[] = "/api/v1/pods?";
    char target[256];

    pod(sim, "p1", "n1", "{\"app\":\"shop\",\"tier\":\"web\"}");
    pod(sim, "p2", "n1", "{\"app\":\"shop\"}");
    pod(sim, "p3", "n2", "{}");
    static const struct {
        const char *query;
        const char *names;
    } cases[] = {
        {"labelSelector=app%3Dshop,tier!%3Ddb", "p1 p2"},
        {"labelSelector=app+in+(shop,x),!tier", "p2"},
        {"labelSelector=!app", "p3"},
        {"fieldSelector=spec.nodeName%3Dn1", "p1 p2"},
        {"fieldSelector=spec.nodeName!%3Dn1", "p3"},
        {"fieldSelector=metadata.name%3Dp2,metadata.namespace%3Ddefault", "p2"},
        {"fieldSelector=spec.nodeName%3Dn1&labelSelector=tier", "p1"},
        {"fieldSelector=status.phase%3DPending,spec.hostNetwork%3Dfalse",
         "p1 p2 p3"},
        {"fieldSelector=status.phase%3DRunning", ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(target, sizeof(target), "%s%s", pods, cases[i].query);
        assert_string_equal(names(sim, target), cases[i].names);
    }
}

CASE(pages_are_of_one_version_whatever_happens_meanwhile)
{
    char token[512], target[1024];
    sim_reply reply;

    sim_play(sim, "ADD a\n"
                  "ADD b\n"
                  "ADD c\n"
                  "ADD d\n");
    reply = sim_ask(sim, "GET", CONFIGMAPS "?limit=1", NULL);
    assert_string_equal(sim_text(reply.doc, "metadata.remainingItemCount"),
                        "3");
    strcpy(token, sim_text(reply.doc, "metadata.continue"));
    sim_reply_clear(&reply);
    sim_play(sim, "DELETE configmaps/b -> 200\n"
                  "TOUCH c new\n"
                  "TOUCH c newer\n"
                  "ADD bb\n"
                  "DELETE configmaps/d -> 200\n"
                  "ADD d\n");
    snprintf(target, sizeof(target), CONFIGMAPS "?limit=2&continue=%s", token);
    reply = sim_ask(sim, "GET", target, NULL);
    assert_string_equal(sim_text(reply.doc, "items[1].metadata.name"), "b");
    assert_string_equal(sim_text(reply.doc, "items[2].metadata.name"), "c");
    assert_string_equal(sim_text(reply.doc, "items[2].data"), "");
    assert_string_equal(sim_text(reply.doc, "metadata.resourceVersion"), "7");
    assert_string_equal(sim_text(reply.doc, "metadata.remainingItemCount"),
                        "1");
    snprintf(target, sizeof(target), CONFIGMAPS "?limit=2&continue=%s",
             sim_text(reply.doc, "metadata.continue"));
    sim_reply_clear(&reply);
    reply = sim_ask(sim, "GET", target, NULL);
    assert_string_equal(
        sim_text(reply.doc, "items[1].metadata.resourceVersion"), "7");
    assert_string_equal(sim_text(reply.doc, "items[2]"), "");
    assert_string_equal(sim_text(reply.doc, "metadata.continue"), "");
    sim_reply_clear(&reply);
    assert_string_equal(names(sim, CONFIGMAPS), "a bb c d");
}

CASE(a_page_with_a_selector_does_not_know_what_remains)
{
    pod(sim, "p1", "n1", "{\"app\":\"x\"}");
    pod(sim, "p2", "n1", "{\"app\":\"x\"}");
    sim_play(sim, "GET /api/v1/pods?limit=1&labelSelector=app -> 200 "
                  "metadata.continue!= | metadata.remainingItemCount=\n");
}

CASE(a_token_expires_with_its_version_and_offers_another)
{
    char token[512], target[1024];
    sim_reply reply;

    sim_add(sim, "a");
    sim_add(sim, "b");
    first_page(sim, token);
    sim_add(sim, "c");
    kl_sim_compact(sim);
    snprintf(target, sizeof(target), CONFIGMAPS "?continue=%s", token);
    reply = sim_ask(sim, "GET", target, NULL);
    assert_int_equal(reply.status, 410);
    assert_string_equal(sim_text(reply.doc, "reason"), "Expired");
    assert_non_null(strstr(sim_text(reply.doc, "message"),
                           "The provided continue parameter is too old"));
    snprintf(target, sizeof(target), CONFIGMAPS "?continue=%s",
             sim_text(reply.doc, "metadata.continue"));
    sim_reply_clear(&reply);
    assert_string_equal(names(sim, target), "b c");
}

CASE(a_limit_is_ignored_at_version_0)
{
    sim_add(sim, "a");
    sim_add(sim, "b");
    assert_string_equal(names(sim, CONFIGMAPS "?limit=1&resourceVersion=0"),
                        "a b");
}

CASE(a_list_of_an_exact_version_has_the_objects_of_then)
{
    char target[256];
    long then;

    sim_add(sim, "a");
    then = version(sim);
    sim_expect(sim, "DELETE", CONFIGMAPS "/a", NULL, 200);
    sim_add(sim, "b");
    snprintf(target, sizeof(target),
             CONFIGMAPS "?resourceVersionMatch=Exact&resourceVersion=%ld",
             then);
    assert_string_equal(names(sim, target), "a");
    snprintf(target, sizeof(target), CONFIGMAPS "?limit=5&resourceVersion=%ld",
             then);
    assert_string_equal(names(sim, target), "a");
    snprintf(target, sizeof(target), CONFIGMAPS "?resourceVersion=%ld", then);
    assert_string_equal(names(sim, target), "b");
    kl_sim_compact(sim);
    snprintf(target, sizeof(target),
             CONFIGMAPS "?resourceVersionMatch=Exact&resourceVersion=%ld",
             then);
    sim_expect(sim, "GET", target, NULL, 410);
}

CASE(a_future_version_is_too_large)
{
    sim_play(sim,
             "GET configmaps?resourceVersion=99999 -> 504 reason=Timeout | "
             "message=Timeout: Too large resource version: 99999, current: 3 | "
             "details.causes[1].reason=ResourceVersionTooLarge | "
             "details.retryAfterSeconds=1\n");
}

static const struct {
    const char *query;
    int status;
    const char *message; /* NULL: not compared */
} refusals[] = {
    {"resourceVersionMatch=Exact", 422,
     "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
     "Forbidden: resourceVersionMatch is forbidden unless resourceVersion "
     "is provided"},
    {"resourceVersionMatch=Exact&resourceVersion=0", 422,
     "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
     "Forbidden: resourceVersionMatch \"exact\" is forbidden for "
     "resourceVersion \"0\""},
    {"resourceVersionMatch=Foo&resourceVersion=1", 422,
     "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: "
     "Unsupported value: \"Foo\": supported values: \"Exact\", "
     "\"NotOlderThan\", \"\""},
    {"sendInitialEvents=true", 422,
     "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: "
     "Forbidden: sendInitialEvents is forbidden for list"},
    {"continue=abc&resourceVersionMatch=Exact", 422,
     "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: "
     "Forbidden: resourceVersionMatch is forbidden unless resourceVersion "
     "is provided, resourceVersionMatch: Forbidden: resourceVersionMatch "
     "is forbidden when continue is provided]"},
    {"resourceVersion=x", 400,
     "invalid resource version: resourceVersion: Invalid value: \"x\": "
     "strconv.ParseUint: parsing \"x\": invalid syntax"},
    {"resourceVersion=-5", 400, NULL},
    {"resourceVersion=99999999999999999999", 400, NULL},
    {"limit=x", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"},
    {"limit=99999999999999999999", 400,
     "strconv.ParseInt: parsing \"99999999999999999999\": value out of "
     "range"},
    {"timeoutSeconds=x", 400, NULL},
    {"labelSelector=a+in+(", 400, NULL},
    {"fieldSelector=x", 400, "invalid selector: 'x'; can't understand 'x'"},
    {"fieldSelector=spec.x%3D1", 400,
     "\"spec.x\" is not a known field selector: only \"metadata.name\", "
     "\"metadata.namespace\""},
    {"continue=%21%21", 400,
     "invalid continue token: continue key is not valid: illegal base64 "
     "data at input byte 0"},
    {"continue=e30", 400,
     "invalid continue token: continue key is not valid: server does not "
     "recognize this encoded version "},
    {"continue=abc", 400, NULL},
};

CASE(invalid_combinations_of_parameters_are_refused)
{
    char target[512];

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        sim_reply reply;

        snprintf(target, sizeof(target), CONFIGMAPS "?%s", refusals[i].query);
        reply = sim_ask(sim, "GET", target, NULL);
        if (reply.status != refusals[i].status ||
            (refusals[i].message != NULL &&
             strcmp(sim_text(reply.doc, "message"), refusals[i].message) !=
                 0)) {
            fail_msg("%s: %s", refusals[i].query, reply.raw.body);
        }
        if (reply.status == 422) {
            assert_string_equal(sim_text(reply.doc, "details.kind"),
                                "ListOptions");
            assert_string_equal(sim_text(reply.doc, "details.group"),
                                "meta.k8s.io");
        }
        sim_reply_clear(&reply);
    }
}

CASE(a_continue_token_with_another_version_is_400)
{
    char token[512], target[1024];

    sim_add(sim, "a");
    sim_add(sim, "b");
    first_page(sim, token);
    snprintf(target, sizeof(target),
             CONFIGMAPS "?continue=%s&resourceVersion=5", token);
    sim_expect(sim, "GET", target, NULL, 400);
    snprintf(target, sizeof(target),
             CONFIGMAPS "?continue=%s&resourceVersion=0", token);
    assert_string_equal(names(sim, target), "b");
}

CASE(an_accept_header_without_json_is_406)
{
    kl_call call = {
        .method = "GET", .target = CONFIGMAPS, .accept = "text/plain"};
    kl_reply reply;

    assert_int_equal(kl_sim_call(sim, &call, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 406);
    kl_reply_clear(&reply);
    call.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,*/*;q=0.1";
    assert_int_equal(kl_sim_call(sim, &call, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 200);
    kl_reply_clear(&reply);
}
