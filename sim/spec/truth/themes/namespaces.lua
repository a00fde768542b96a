-- The life of a namespace: made, ended, what it refuses then. Neither server has controllers here.
local objects = require "objects"

local of = objects.of
local ONE = "/api/v1/namespaces/one-{run}"

return {
    {
        "made", "POST /api/v1/namespaces", of("v1", "Namespace", "one-{run}"),
        save = { rv = "metadata.resourceVersion" },
    },
    { "made again", "POST /api/v1/namespaces", of("v1", "Namespace", "one-{run}") },
    { "got", "GET " .. ONE },
    {
        "its label cannot be changed", "PATCH " .. ONE,
        { metadata = { labels = { ["kubernetes.io/metadata.name"] = "other" } } },
    },
    { "its label cannot be taken away", "PATCH " .. ONE, [[{"metadata":{"labels":null}}]] },
    { "a map in it", "POST " .. ONE .. "/configmaps", objects.configmap("a") },
    { "its finalizers are not changed by PUT", "PATCH " .. ONE, [[{"spec":{"finalizers":null}}]] },
    { "the default one is not deleted", "DELETE /api/v1/namespaces/default" },
    { "kube-system is not deleted", "DELETE /api/v1/namespaces/kube-system" },
    { "kube-public is not deleted", "DELETE /api/v1/namespaces/kube-public" },
    {
        "kube-node-lease may be, as a dry run",
        "DELETE /api/v1/namespaces/kube-node-lease?dryRun=All", only = "status",
    },
    { "deleted", "DELETE " .. ONE },
    { "it ends", "GET " .. ONE },
    { "deleted again", "DELETE " .. ONE },
    { "nothing is made in it", "POST " .. ONE .. "/configmaps", objects.configmap("b") },
    {
        "nothing is applied to it", "PATCH " .. ONE .. "/configmaps/b?fieldManager=a",
        objects.configmap("b"), type = "application/apply-patch+yaml",
    },
    { "what is in it can be changed", "PATCH " .. ONE .. "/configmaps/a", { data = { a = "1" } } },
    { "what is in it can be deleted", "DELETE " .. ONE .. "/configmaps/a" },
    {
        "finalized", "PUT " .. ONE .. "/finalize",
        [[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"one-{run}"},"spec":{}}]],
    },
    { "it is gone", "GET " .. ONE },
    {
        "its events",
        "WATCH /api/v1/namespaces?watch=true&timeoutSeconds=1&fieldSelector=metadata.name=on"
            .. "e-{run}&resourceVersion={rv}",
        events = 2,
    },
    {
        "its status cannot be set by PUT", "PATCH /api/v1/namespaces/{ns}",
        { status = { phase = "Terminating" } },
    },
    {
        "a status can be set", "PATCH /api/v1/namespaces/{ns}/status",
        { status = { phase = "Terminating" } },
    },
    {
        "a phase that is none", "PATCH /api/v1/namespaces/{ns}/status",
        { status = { phase = "Nonsense" } },
    },
    {
        "with a finalizer of its own", "POST /api/v1/namespaces",
        of("v1", "Namespace", "two-{run}", { metadata = { finalizers = { "example.com/a" } } }),
    },
    {
        "with a generated name", "POST /api/v1/namespaces",
        { apiVersion = "v1", kind = "Namespace", metadata = { generateName = "gen-{run}-" } },
        save = { name = "metadata.name" },
    },
    { "the generated one has its label", "GET /api/v1/namespaces/{name}" },
    { "a dry run", "POST /api/v1/namespaces?dryRun=All", of("v1", "Namespace", "dry-{run}") },
    {
        "the first namespaces",
        "GET /api/v1/namespaces?labelSelector=kubernetes.io/metadata.name%20in%20(default,ku"
            .. "be-system,kube-public,kube-node-lease)",
    },
    { "the service of the API", "GET /api/v1/namespaces/default/services/kubernetes" },
    {
        "roles from the beginning",
        "GET /apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin",
    },
    { "priorities from the beginning", "GET /apis/scheduling.k8s.io/v1/priorityclasses" },
}
