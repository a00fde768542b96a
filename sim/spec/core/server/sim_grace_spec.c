/*
 * sim_grace_spec.c - deletion of pods with a grace period, and the options of a
 * deletion.
 */
#include "spec_case.h"

#define PODS "/api/v1/namespaces/default/pods"

static int set_up(void **state)
{
    const kl_sim_options options = {.clock_stands = true,
                                    .now_ms = INT64_C(1800000000000)};
    sim_rig *f = calloc(1, sizeof(*f));

    f->sim = kl_sim_new(&options, NULL);
    f->transport = kl_sim_transport(f->sim, NULL);
    sim_watch_open(&f->watch, f->transport, "",
                   PODS "?watch=1&resourceVersion=0");
    *state = f;
    return f->transport != NULL ? 0 : -1;
}

/* Creates a pod, on a node if one is named. */
static void add_pod(sim_rig *f, const char *more)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{"
             "\"name\":\"c\",\"image\":\"i\"}]%s}}",
             more);
    sim_expect(f->sim, "POST", PODS, body, 201);
    sim_watch_expect(&f->watch, "ADDED", "p");
}

/* Deletes the pod; `expected` is "period timestamp generation". */
static void delete_pod(sim_rig *f, const char *query, const char *expected)
{
    sim_reply reply;
    char target[128], found[128];
    size_t length;

    snprintf(target, sizeof(target), PODS "/p%s", query);
    reply = sim_ask(f->sim, "DELETE", target, NULL);
    assert_int_equal(reply.status, 200);
    length = (size_t)snprintf(
        found, sizeof(found), "%s ",
        sim_text(reply.doc, "metadata.deletionGracePeriodSeconds"));
    length +=
        (size_t)snprintf(found + length, sizeof(found) - length, "%s ",
                         sim_text(reply.doc, "metadata.deletionTimestamp"));
    snprintf(found + length, sizeof(found) - length, "%s",
             sim_text(reply.doc, "metadata.generation"));
    assert_string_equal(found, expected);
    sim_reply_clear(&reply);
}

#define CASE(name) SPEC_CASE(name, sim_rig *f, set_up, sim_rig_tear_down)

CASE(a_pod_on_a_node_has_time_to_end)
{
    add_pod(f, ",\"nodeName\":\"n\",\"terminationGracePeriodSeconds\":30");
    delete_pod(f, "", "30 2027-01-15T08:00:30Z 2");
    sim_watch_expect(&f->watch, "MODIFIED", "p");
    sim_expect(f->sim, "GET", PODS "/p", NULL, 200);
    /* It can be given less, and no more. */
    delete_pod(f, "?gracePeriodSeconds=60", "30 2027-01-15T08:00:30Z 2");
    delete_pod(f, "?gracePeriodSeconds=5", "5 2027-01-15T08:00:05Z 2");
    sim_watch_expect(&f->watch, "MODIFIED", "p");
    delete_pod(f, "?gracePeriodSeconds=-1", "1 2027-01-15T08:00:01Z 2");
    sim_watch_expect(&f->watch, "MODIFIED", "p");
    /* That is what the kubelet says at the end. */
    delete_pod(f, "?gracePeriodSeconds=0", "0 2027-01-15T08:00:00Z 2");
    rig_play(f, "MODIFIED p, DELETED p\n");
}

CASE(the_longest_time_is_some_centuries)
{
    add_pod(f, ",\"nodeName\":\"n\"");
    delete_pod(f, "?gracePeriodSeconds=9223372036854775807",
               "9223372036854775807 2227-06-16T08:00:00Z 2");
    sim_watch_expect(&f->watch, "MODIFIED", "p");
}

CASE(a_pod_without_a_node_goes_at_once)
{
    add_pod(f, "");
    delete_pod(f, "", "0 2027-01-15T08:00:00Z 2");
    rig_play(f, "MODIFIED p, DELETED p\n");
}

CASE(a_pod_that_has_ended_goes_at_once)
{
    add_pod(f, ",\"nodeName\":\"n\"");
    rig_play(f, "PATCH pods/p/status {status: {phase: Succeeded}} -> 200\n"
                "MODIFIED p\n");
    delete_pod(f, "", "0 2027-01-15T08:00:00Z 2");
    rig_play(f, "MODIFIED p, DELETED p\n");
}

CASE(a_finalizer_outlasts_the_grace_period)
{
    add_pod(f, ",\"nodeName\":\"n\"");
    rig_play(f, "PATCH pods/p {metadata: {finalizers: [x/y]}} -> 200\n"
                "MODIFIED p\n");
    delete_pod(f, "?gracePeriodSeconds=7", "7 2027-01-15T08:00:07Z 2");
    sim_watch_expect(&f->watch, "MODIFIED", "p");
    delete_pod(f, "?gracePeriodSeconds=0", "0 2027-01-15T08:00:00Z 2");
    rig_play(f, "MODIFIED p\n"
                "PATCH pods/p {metadata: {finalizers: null}} -> 200\n"
                "DELETED p\n");
}

CASE(a_dry_run_shows_and_changes_nothing)
{
    add_pod(f, ",\"nodeName\":\"n\"");
    delete_pod(f, "?dryRun=All&gracePeriodSeconds=3",
               "3 2027-01-15T08:00:03Z 2");
    rig_play(f, "DELETE pods/p {dryRun: [All]} -> 200\n"
                "GET pods/p -> 200\n"
                "SILENCE\n");
}

CASE(options_that_make_no_sense_are_refused)
{
    rig_play(
        f, "ADD a\n"
           "DELETE configmaps/a {propagationPolicy: Foo} -> 422 Invalid: "
           "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: "
           "Unsupported value: \"Foo\": supported values: \"Foreground\", "
           "\"Background\", \"Orphan\", \"nil\"\n"
           "DELETE configmaps/a {propagationPolicy: Orphan, orphanDependents: "
           "true} -> 422 Invalid: DeleteOptions.meta.k8s.io \"\" is invalid: "
           "propagationPolicy: Invalid value: \"Orphan\": orphanDependents and "
           "deletionPropagation cannot be both set\n"
           "DELETE configmaps/a {dryRun: [X]} -> 422 Invalid: "
           "DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported "
           "value: [\"X\"]: supported values: \"All\"\n"
           "DELETE configmaps/a {gracePeriodSeconds: x} -> 400 BadRequest: "
           "json: cannot unmarshal string into Go struct field "
           "DeleteOptions.gracePeriodSeconds of type int64\n"
           "DELETE configmaps/a?gracePeriodSeconds=abc -> 400 BadRequest: "
           "strconv.ParseInt: parsing \"abc\": invalid syntax\n"
           "GET configmaps/a -> 200\n");
}

CASE(a_delete_with_orphan_dependents_is_answered_202)
{
    rig_play(f,
             "POST configmaps {metadata: {name: a, finalizers: [x/y]}} -> 201\n"
             "DELETE configmaps/a?orphanDependents=false -> 202\n"
             "DELETE configmaps/a -> 200\n");
}
