/*
 * sim_below_spec.c - subresources: scale, binding, eviction, and those
 * that only a kubelet could answer.
 */

#include "spec_case.h"
#include "failing_alloc.h"

#define PODS "/api/v1/namespaces/default/pods"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"

static void add_pod(kl_sim *sim, const char *name)
{
    char body[256];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"e\"}},"
             "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
             name);
    sim_expect(sim, "POST", PODS, body, 201);
}

/* Makes a pod run on a node, ready. */
static void run_pod(kl_sim *sim, const char *name)
{
    char target[128], binding[128];

    snprintf(target, sizeof(target), PODS "/%s/binding", name);
    snprintf(binding, sizeof(binding),
             "{\"metadata\":{\"name\":\"%s\"},\"target\":{\"name\":\"n\"}}",
             name);
    sim_expect(sim, "POST", target, binding, 201);
    snprintf(target, sizeof(target), PODS "/%s/status", name);
    sim_expect(sim, "PATCH", target,
               "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":"
               "\"Ready\",\"status\":\"True\"}]}}",
               200);
}

static void add_deployment(kl_sim *sim)
{
    sim_play(
        sim,
        "POST apps/v1/deployments {metadata: {name: d}, spec: {replicas: 2, "
        "selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: "
        "In, values: [d, e]}]}, template: {metadata: {labels: {a: b, c: d}}, "
        "spec: {containers: [{name: c, image: i}]}}}} -> 201\n");
}

SIM_CASE(a_pod_is_bound_once)
{
    add_pod(sim, "p");
    sim_play(sim,
             "POST pods/p/binding {metadata: {name: p}, target: {}} -> 500\n"
             "POST bindings {metadata: {name: p}, target: {kind: Node, name: "
             "'n'}} -> 201\n"
             "GET pods/p -> 200 spec.nodeName=n | "
             "status.conditions[1].type=PodScheduled\n"
             "POST pods/p/binding {metadata: {name: p}, target: {kind: Node, "
             "name: 'n'}} -> 409 Conflict: Operation cannot be fulfilled on "
             "pods/binding \"p\": pod p is already assigned to node \"n\"\n"
             "POST pods/none/binding {metadata: {name: none}, target: {name: "
             "'n'}} -> 404\n");
}

SIM_CASE(a_binding_is_of_one_pod_and_gives_it_labels)
{
    add_pod(sim, "p");
    sim_play(sim,
             "POST pods/p/binding {target: {name: 'n'}} -> 400 BadRequest: "
             "name in URL does not match name in Binding object\n"
             "POST pods/p/binding {metadata: {name: p, uid: x}, target: {name: "
             "'n'}} -> 409\n"
             "POST pods/p/binding {metadata: {name: p, resourceVersion: '1'}, "
             "target: {name: 'n'}} -> 409\n"
             "POST pods/p/binding {metadata: {name: p, labels: {given: l}, "
             "annotations: {given: a}}, target: {name: 'n'}} -> 201\n"
             "GET pods/p -> 200 metadata.labels.given=l | "
             "metadata.annotations.given=a\n");
}

SIM_CASE(an_eviction_deletes_with_a_grace_period)
{
    add_pod(sim, "p");
    run_pod(sim, "p");
    sim_play(sim, "POST pods/p/eviction {metadata: {name: p}} -> 201\n"
                  "GET pods/p -> 200 metadata.deletionGracePeriodSeconds=30 | "
                  "status.conditions[2].reason=EvictionByEvictionAPI\n"
                  "POST pods/none/eviction {metadata: {name: none}} -> 404\n");
}

SIM_CASE(a_budget_limits_evictions)
{
    sim_play(sim,
             "POST policy/v1/poddisruptionbudgets {metadata: {name: b}, spec: "
             "{minAvailable: 1, selector: {matchLabels: {app: e}}}} -> 201\n");
    add_pod(sim, "p");
    add_pod(sim, "q");
    run_pod(sim, "p");
    run_pod(sim, "q");
    sim_play(
        sim,
        "GET policy/v1/poddisruptionbudgets/b -> 200 "
        "status.disruptionsAllowed=1 | "
        "status.conditions[1].reason=SufficientPods\n"
        "POST pods/p/eviction {metadata: {name: p}, deleteOptions: {dryRun: "
        "[All]}} -> 201\n"
        "POST pods/p/eviction {metadata: {name: p}} -> 201\n"
        "GET policy/v1/poddisruptionbudgets/b -> 200 "
        "status.disruptionsAllowed=0\n"
        "POST pods/q/eviction {metadata: {name: q}} -> 429 TooManyRequests: "
        "Cannot evict pod as it would violate the pod's disruption budget.\n"
        "GET pods/q -> 200 metadata.deletionTimestamp=\n");
}

SIM_CASE(logs_and_exec_need_a_kubelet_and_are_errors)
{
    add_pod(sim, "p");
    sim_play(sim, "GET pods/p/exec?command=ls -> 400 BadRequest: pod p does "
                  "not have a host assigned\n");
    run_pod(sim, "p");
    sim_play(sim, "GET pods/p/log -> 500\n"
                  "GET pods/p/portforward -> 500\n"
                  "GET pods/p/unknown -> 404\n"
                  "GET pods/p/eviction -> 405\n");
}

/* Whatever fails, nothing is left behind. */
PLAIN_CASE(each_subresource_can_run_out_of_memory)
{
    static const char *const rows[][3] = {
        {"PUT", DEPLOYMENTS "/d/scale",
         "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":3}}"},
        {"PATCH", DEPLOYMENTS "/d/scale", "{\"spec\":{\"replicas\":4}}"},
        {"POST", PODS "/p/binding",
         "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}"},
        {"POST", PODS "/q/eviction", "{\"metadata\":{\"name\":\"q\"}}"}};

    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        bool failed = true;

        for (long nth = 1; failed; nth++) {
            const kl_call call = {.method = rows[row][0],
                                  .target = rows[row][1],
                                  .body = rows[row][2],
                                  .body_length = strlen(rows[row][2]),
                                  .content_type =
                                      strcmp(rows[row][0], "PATCH") == 0
                                          ? "application/merge-patch+json"
                                          : NULL};
            kl_sim *sim = kl_sim_new(NULL, NULL);
            kl_reply reply;
            kl_code code;

            add_deployment(sim);
            add_pod(sim, "p");
            add_pod(sim, "q");
            run_pod(sim, "q");
            failing_alloc_install();
            failing_alloc_fail_at(nth, 0);
            code = kl_sim_call(sim, &call, &reply, NULL);
            failed = failing_alloc_has_failed();
            failing_alloc_fail_at(0, 0);
            failing_alloc_uninstall();
            assert_true(code == KL_OK || code == KL_ENOMEM);
            if (code == KL_OK) {
                kl_reply_clear(&reply);
            }
            kl_sim_unref(sim);
        }
    }
}
