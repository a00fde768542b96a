-- status, scale, and the reviews that are answered and not kept.
local objects = require "objects"

local deployment = objects.deployment
local APPS = "/apis/apps/v1/namespaces/{ns}/deployments"
local MERGE_KEYS = "application/strategic-merge-patch+json"

local function scale(replicas, more)
    local object = objects.of("autoscaling/v1", "Scale", "web", {
        metadata = { namespace = "{ns}" },
    })
    object.spec = { replicas = replicas }
    for key, value in pairs(more or {}) do
        object.metadata[key] = value
    end
    return object
end

return {
    {
        "a deployment", "POST " .. APPS, deployment("web"),
        save = { rv = "metadata.resourceVersion" },
    },
    { "its status", "GET " .. APPS .. "/web/status" },
    {
        "a status is set", "PUT " .. APPS .. "/web/status",
        deployment("web", {
            status = { replicas = 2, observedGeneration = 1 },
            metadata = { labels = { not_taken = "x" } },
        }),
    },
    {
        "a status does not change the spec", "PATCH " .. APPS .. "/web/status",
        { spec = { replicas = 9 }, status = { readyReplicas = 1 } },
    },
    {
        "a status at an old version", "PUT " .. APPS .. "/web/status",
        deployment("web", { metadata = { resourceVersion = "{rv}" } }),
    },
    {
        "a status that cannot be", "PATCH " .. APPS .. "/web/status",
        { status = { replicas = -1 } },
    },
    { "a status of nothing", "PATCH " .. APPS .. "/none/status", { status = { replicas = 1 } } },
    { "a status is not made", "POST " .. APPS .. "/web/status", deployment("web") },
    { "a status is not deleted", "DELETE " .. APPS .. "/web/status" },
    {
        "conditions merge by type", "PATCH " .. APPS .. "/web/status",
        [[{"status":{"conditions":[{"type":"Available","status":"True"},{"type":"Progressing",]]
            .. [["status":"True"}]}}]],
        type = MERGE_KEYS,
    },
    {
        "one condition of them", "PATCH " .. APPS .. "/web/status",
        [[{"status":{"conditions":[{"type":"Available","status":"False"}]}}]], type = MERGE_KEYS,
    },

    {
        "a scale", "GET " .. APPS .. "/web/scale",
        save = { rv = "metadata.resourceVersion", uid = "metadata.uid" },
    },
    { "a scale of nothing", "GET " .. APPS .. "/none/scale" },
    { "scaled", "PUT " .. APPS .. "/web/scale", scale(3) },
    { "the deployment has it", "GET " .. APPS .. "/web" },
    {
        "scaled at an old version", "PUT " .. APPS .. "/web/scale",
        scale(4, { resourceVersion = "{rv}" }),
    },
    { "scaled with its uid", "PUT " .. APPS .. "/web/scale", scale(4, { uid = "{uid}" }) },
    {
        "scaled with another uid", "PUT " .. APPS .. "/web/scale",
        scale(4, { uid = "00000000-0000-0000-0000-000000000001" }),
    },
    { "scaled below nothing", "PUT " .. APPS .. "/web/scale", scale(-1) },
    { "scaled under another name", "PUT " .. APPS .. "/web/scale", scale(4, { name = "other" }) },
    {
        "scaled in another namespace", "PUT " .. APPS .. "/web/scale",
        scale(4, { namespace = "other" }),
    },
    { "scaled by a patch", "PATCH " .. APPS .. "/web/scale", { spec = { replicas = 5 } } },
    {
        "scaled by a JSON patch", "PATCH " .. APPS .. "/web/scale",
        '[{"op":"replace","path":"/spec/replicas","value":6}]',
        type = "application/json-patch+json",
    },
    {
        "scaled by a dry run", "PATCH " .. APPS .. "/web/scale?dryRun=All",
        { spec = { replicas = 7 } },
    },
    { "scaled with a body of another kind", "PUT " .. APPS .. "/web/scale", deployment("web") },
    { "scaled to no number", "PATCH " .. APPS .. "/web/scale", { spec = { replicas = "x" } } },
    { "scaled to nothing said", "PUT " .. APPS .. "/web/scale", scale(nil) },
    { "a scale is not deleted", "DELETE " .. APPS .. "/web/scale" },
    { "a scale is not made", "POST " .. APPS .. "/web/scale", scale(1) },
    {
        "a replica set", "POST /apis/apps/v1/namespaces/{ns}/replicasets",
        objects.workload("ReplicaSet", "rs"),
    },
    { "its scale", "GET /apis/apps/v1/namespaces/{ns}/replicasets/rs/scale" },
    {
        "a stateful set", "POST /apis/apps/v1/namespaces/{ns}/statefulsets",
        objects.workload("StatefulSet", "ss", { spec = { serviceName = "ss" } }),
    },
    { "the scale of a stateful set", "GET /apis/apps/v1/namespaces/{ns}/statefulsets/ss/scale" },
    {
        "a daemon set", "POST /apis/apps/v1/namespaces/{ns}/daemonsets",
        objects.workload("DaemonSet", "ds"),
    },
    { "a daemon set has no scale", "GET /apis/apps/v1/namespaces/{ns}/daemonsets/ds/scale" },
    {
        "a controller of old", "POST /api/v1/namespaces/{ns}/replicationcontrollers",
        objects.of("v1", "ReplicationController", "rc", {
            spec = {
                replicas = 1, selector = { a = "b" },
                template = {
                    metadata = { labels = { a = "b" } },
                    spec = { containers = { objects.container() } },
                },
            },
        }),
    },
    {
        "the scale of a controller of old",
        "GET /api/v1/namespaces/{ns}/replicationcontrollers/rc/scale",
    },

    { "a node", "POST /api/v1/nodes", objects.of("v1", "Node", "n-{run}") },
    {
        "the status of a node", "PATCH /api/v1/nodes/n-{run}/status",
        {
            status = {
                capacity = { cpu = "4", memory = "8Gi" }, nodeInfo = { kubeletVersion = "v1" },
            },
        },
    },
    { "a node is cordoned", "PATCH /api/v1/nodes/n-{run}", { spec = { unschedulable = true } } },
    {
        "finalize of a namespace with a body of another", "PUT /api/v1/namespaces/{ns}/finalize",
        objects.of("v1", "Namespace", "other"),
    },
    {
        "approval of no request",
        "GET /apis/certificates.k8s.io/v1/certificatesigningrequests/none/approval",
    },
    {
        "who am I", "POST /apis/authentication.k8s.io/v1/selfsubjectreviews",
        { apiVersion = "authentication.k8s.io/v1", kind = "SelfSubjectReview" }, only = "status",
    },
    {
        "may I", "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        {
            apiVersion = "authorization.k8s.io/v1", kind = "SelfSubjectAccessReview",
            spec = { resourceAttributes = { verb = "get", resource = "pods" } },
        },
        only = "status",
    },
}
