-- binding, eviction, ephemeral containers, and what pods do not have without a kubelet.
local objects = require "objects"

local pod = objects.pod
local PODS = "/api/v1/namespaces/{ns}/pods"
local MERGE_KEYS = "application/strategic-merge-patch+json"

local function binding(name, node)
    return objects.of("v1", "Binding", name, {
        target = { apiVersion = "v1", kind = "Node", name = node },
    })
end

local function eviction(name, more)
    return objects.of("policy/v1", "Eviction", name, more)
end

return {
    { "a pod", "POST " .. PODS, pod("free", { metadata = { labels = { app = "free" } } }) },
    { "a pod is bound", "POST " .. PODS .. "/free/binding", binding("free", "node-1") },
    { "a bound pod", "GET " .. PODS .. "/free" },
    { "a pod is bound twice", "POST " .. PODS .. "/free/binding", binding("free", "node-2") },
    {
        "a pod that is not there is bound", "POST " .. PODS .. "/none/binding",
        binding("none", "node-1"),
    },
    {
        "a binding by its own path", "POST /api/v1/namespaces/{ns}/bindings",
        binding("free", "node-1"),
    },
    { "bound to no node", "POST " .. PODS .. "/free/binding", binding("free", "") },
    {
        "bound to no target", "POST " .. PODS .. "/free/binding",
        objects.of("v1", "Binding", "free"),
    },
    {
        "bound to another kind", "POST " .. PODS .. "/free/binding",
        objects.of("v1", "Binding", "free", { target = { kind = "Pod", name = "x" } }),
    },
    {
        "a binding under another name", "POST " .. PODS .. "/free/binding",
        binding("other", "node-1"),
    },
    { "a binding is not read", "GET " .. PODS .. "/free/binding" },
    { "bindings are not listed", "GET /api/v1/namespaces/{ns}/bindings" },
    {
        "a pod whose status runs", "PATCH " .. PODS .. "/free/status",
        {
            status = {
                phase = "Running", podIP = "10.1.2.3",
                conditions = { { type = "Ready", status = "True" } },
            },
        },
    },
    {
        "a phase that is none", "PATCH " .. PODS .. "/free/status",
        { status = { phase = "Nonsense" } },
    },

    {
        "a pod is evicted, as a dry run", "POST " .. PODS .. "/free/eviction?dryRun=All",
        eviction("free"),
    },
    {
        "a budget that allows nothing", "POST /apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        objects.of("policy/v1", "PodDisruptionBudget", "b", {
            spec = { minAvailable = 1, selector = { matchLabels = { app = "free" } } },
        }),
    },
    {
        "an eviction that the budget forbids", "POST " .. PODS .. "/free/eviction",
        eviction("free"),
    },
    {
        "the budget allows one",
        "PATCH /apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/b/status",
        {
            status = {
                disruptionsAllowed = 1, currentHealthy = 2, desiredHealthy = 1, expectedPods = 2,
                observedGeneration = 1,
            },
        },
    },
    { "an eviction that the budget allows", "POST " .. PODS .. "/free/eviction", eviction("free") },
    { "the budget has counted it", "GET /apis/policy/v1/namespaces/{ns}/poddisruptionbudgets/b" },
    { "an eviction of what is not there", "POST " .. PODS .. "/none/eviction", eviction("none") },
    { "an eviction under another name", "POST " .. PODS .. "/free/eviction", eviction("other") },
    { "an eviction of another kind", "POST " .. PODS .. "/free/eviction", pod("free") },
    {
        "an eviction of an older version", "POST " .. PODS .. "/free/eviction",
        objects.of("policy/v1beta1", "Eviction", "free"),
    },
    { "an eviction is not read", "GET " .. PODS .. "/free/eviction" },
    { "a pod that waits", "POST " .. PODS, pod("waits") },
    {
        "an eviction with options", "POST " .. PODS .. "/waits/eviction",
        eviction("waits", { deleteOptions = { gracePeriodSeconds = 0 } }),
    },
    { "it is gone", "GET " .. PODS .. "/waits" },
    {
        "a pod for two budgets", "POST " .. PODS,
        pod("two", { spec = { nodeName = "n" }, metadata = { labels = { app = "free" } } }),
    },
    {
        "another budget", "POST /apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        objects.of("policy/v1", "PodDisruptionBudget", "b2", {
            spec = { maxUnavailable = 0, selector = { matchLabels = { app = "free" } } },
        }),
    },
    { "it runs", "PATCH " .. PODS .. "/two/status", { status = { phase = "Running" } } },
    { "two budgets are too many", "POST " .. PODS .. "/two/eviction", eviction("two") },

    { "a pod for containers that are added", "POST " .. PODS, pod("extra") },
    {
        "a container is added", "PATCH " .. PODS .. "/extra/ephemeralcontainers",
        [[{"spec":{"ephemeralContainers":[{"name":"debug","image":"debug:1"}]}}]],
        type = MERGE_KEYS,
    },
    {
        "its spec does not take them", "PATCH " .. PODS .. "/extra",
        [[{"spec":{"ephemeralContainers":[{"name":"debug2","image":"debug:1"}]}}]],
        type = MERGE_KEYS, only = "status",
    },
    { "the log of a pod on no node", "GET " .. PODS .. "/extra/log" },
    { "the log of no pod", "GET " .. PODS .. "/none/log" },
    { "exec in a pod on no node", "GET " .. PODS .. "/extra/exec?command=ls", only = "status" },
    {
        "a token for a service account", "POST /api/v1/namespaces/{ns}/serviceaccounts/none/token",
        objects.of("authentication.k8s.io/v1", "TokenRequest", "x", {
            spec = { audiences = { "a" } },
        }),
        only = "status",
    },
}
