/*
 * sim_delete_spec.c - deletion: at once, kept by finalizers, with a grace
 * period, or of a namespace with its objects.
 */
#include "spec_case.h"

/* ---- Deletion of pods with a grace period, and the options of a deletion.
 */

static int set_up(void **state)
{
    const kl_sim_options options = {.clock_stands = true,
                                    .now_ms = INT64_C(1800000000000)};
    const int failed = sim_rig_set_up_with(state, &options);

    rig_play(*state, "WATCH pods?resourceVersion=0");
    return failed;
}

/* Creates a pod with more of a spec, and sees it. */
static void add_pod(sim_rig *f, const char *more)
{
    char lines[512];

    snprintf(lines, sizeof(lines),
             "POST pods {metadata: {name: p}, spec: {containers: [{name: c, "
             "image: i}]%s}} -> 201\n"
             "ADDED p\n",
             more);
    rig_play(f, lines);
}

/* Deletes the pod, which ends after that period, at that time of the day. */
static void delete_pod(sim_rig *f, const char *query, const char *period,
                       const char *time)
{
    char line[512];

    snprintf(line, sizeof(line),
             "DELETE pods/p%s -> 200 metadata.deletionGracePeriodSeconds=%s | "
             "metadata.deletionTimestamp=%s | metadata.generation=2",
             query, period, time);
    rig_play(f, line);
}

#define CASE(name) SPEC_CASE(name, sim_rig *f, set_up, sim_rig_tear_down)

CASE(a_pod_on_a_node_has_time_to_end)
{
    add_pod(f, ", nodeName: 'n', terminationGracePeriodSeconds: 30");
    delete_pod(f, "", "30", "2027-01-15T08:00:30Z");
    rig_play(f, "MODIFIED p");
    rig_play(f, "GET pods/p -> 200");
    /* It can be given less, and no more. */
    delete_pod(f, "?gracePeriodSeconds=60", "30", "2027-01-15T08:00:30Z");
    delete_pod(f, "?gracePeriodSeconds=5", "5", "2027-01-15T08:00:05Z");
    rig_play(f, "MODIFIED p");
    delete_pod(f, "?gracePeriodSeconds=-1", "1", "2027-01-15T08:00:01Z");
    rig_play(f, "MODIFIED p");
    /* That is what the kubelet says at the end. */
    delete_pod(f, "?gracePeriodSeconds=0", "0", "2027-01-15T08:00:00Z");
    rig_play(f, "MODIFIED p, DELETED p\n");
}

CASE(the_longest_time_is_some_centuries)
{
    add_pod(f, ", nodeName: 'n'");
    delete_pod(f, "?gracePeriodSeconds=9223372036854775807",
               "9223372036854775807", "2227-06-16T08:00:00Z");
    rig_play(f, "MODIFIED p");
}

CASE(a_pod_without_a_node_goes_at_once)
{
    add_pod(f, "");
    delete_pod(f, "", "0", "2027-01-15T08:00:00Z");
    rig_play(f, "MODIFIED p, DELETED p\n");
}

CASE(a_pod_that_has_ended_goes_at_once)
{
    add_pod(f, ", nodeName: 'n'");
    rig_play(f, "PATCH pods/p/status {status: {phase: Succeeded}} -> 200\n"
                "MODIFIED p\n");
    delete_pod(f, "", "0", "2027-01-15T08:00:00Z");
    rig_play(f, "MODIFIED p, DELETED p\n");
}

CASE(a_finalizer_outlasts_the_grace_period)
{
    add_pod(f, ", nodeName: 'n'");
    rig_play(f, "PATCH pods/p {metadata: {finalizers: [x/y]}} -> 200\n"
                "MODIFIED p\n");
    delete_pod(f, "?gracePeriodSeconds=7", "7", "2027-01-15T08:00:07Z");
    rig_play(f, "MODIFIED p");
    delete_pod(f, "?gracePeriodSeconds=0", "0", "2027-01-15T08:00:00Z");
    rig_play(f, "MODIFIED p\n"
                "PATCH pods/p {metadata: {finalizers: null}} -> 200\n"
                "DELETED p\n");
}

CASE(a_dry_run_shows_and_changes_nothing)
{
    add_pod(f, ", nodeName: 'n'");
    delete_pod(f, "?dryRun=All&gracePeriodSeconds=3", "3",
               "2027-01-15T08:00:03Z");
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
