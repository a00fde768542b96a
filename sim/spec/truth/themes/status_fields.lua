-- What a write of status may change beside the status, and whose its fields are.
local core = require "kubelua.core"
local objects = require "objects"

local APPLY = "application/apply-patch+yaml"
local MERGE_KEYS = "application/strategic-merge-patch+json"
local CORE, APPS = "/api/v1/namespaces/{ns}/", "/apis/apps/v1/namespaces/{ns}/"
local requests = {}

local function ask(...)
    requests[#requests + 1] = { ... }
    return requests[#requests]
end

local function apply(sentence, target, body)
    requests[#requests + 1] = { sentence, "PATCH " .. target, body, type = APPLY }
end

-- All of metadata that a write could mean to change.
local METADATA = {
    labels = { status = "x" }, annotations = { status = "x" }, finalizers = { "example.com/x" },
    ownerReferences = { { apiVersion = "v1", kind = "Pod", name = "o", uid = "u" } },
}

local RUN_ONCE = {
    template = { spec = { restartPolicy = "Never", containers = { objects.container() } } },
}

local kinds = {
    { CORE .. "pods", objects.pod("a"), { message = "m" } },
    {
        CORE .. "services",
        objects.of("v1", "Service", "a", {
            spec = { type = "LoadBalancer", ports = { { port = 80 } } },
        }),
        { loadBalancer = { ingress = { { ip = "10.0.0.1" } } } },
    },
    {
        CORE .. "resourcequotas", objects.of("v1", "ResourceQuota", "a"),
        { hard = { pods = "1" }, used = { pods = "0" } },
    },
    { APPS .. "deployments", objects.deployment("a"), { replicas = 1 } },
    { APPS .. "replicasets", objects.workload("ReplicaSet", "a"), { replicas = 1 } },
    { APPS .. "statefulsets", objects.workload("StatefulSet", "a"), { replicas = 1 } },
    { APPS .. "daemonsets", objects.workload("DaemonSet", "a"), { numberReady = 1 } },
    {
        "/apis/batch/v1/namespaces/{ns}/jobs",
        objects.of("batch/v1", "Job", "a", { spec = RUN_ONCE }), { active = 1 },
    },
    {
        "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
        objects.of("policy/v1", "PodDisruptionBudget", "a", { spec = { minAvailable = 1 } }),
        { expectedPods = 1 },
    },
    {
        "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
        objects.of("networking.k8s.io/v1", "Ingress", "a", {
            spec = { defaultBackend = { service = { name = "s", port = { number = 80 } } } },
        }),
        { loadBalancer = { ingress = { { hostname = "h" } } } },
    },
    {
        "/apis/resource.k8s.io/v1/namespaces/{ns}/resourceclaims",
        objects.of("resource.k8s.io/v1", "ResourceClaim", "a"), core.null,
    },
    {
        "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
        objects.of("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", "a-{run}", {
            spec = {
                type = "Limited",
                limited = { nominalConcurrencyShares = 1, limitResponse = { type = "Reject" } },
            },
        }),
        { conditions = { { type = "x", status = "True" } } },
    },
}

for _, row in ipairs(kinds) do
    local collection, object, status = row[1], row[2], row[3]
    local name = collection:match("%l+$")
    local target = collection .. "/" .. object.metadata.name
    ask(name .. ": made", "POST " .. collection, object)
    ask(name .. ": status and metadata", "PATCH " .. target .. "/status?fieldManager=me",
        { metadata = METADATA, status = status })
    apply(name .. ": an apply of both", target .. "/status?fieldManager=ssa", {
        apiVersion = object.apiVersion, kind = object.kind,
        metadata = { name = object.metadata.name, labels = { applied = "x" } }, status = status,
    })
    ask(name .. ": as it is", "GET " .. target)
    ask(name .. ": less of metadata", "PATCH " .. target .. "/status?fieldManager=me",
        '{"metadata":{"labels":null,"annotations":null,"finalizers":null,"ownerReferences":null}}')
end

local SERVICE = CORE .. "services/plain"
ask("a service without a balancer", "POST " .. CORE .. "services",
    objects.of("v1", "Service", "plain", { spec = { ports = { { port = 80 } } } }))
ask("no balancer, no address", "PATCH " .. SERVICE .. "/status",
    { status = { loadBalancer = { ingress = { { ip = "10.0.0.1" } } } } })
ask("addresses that are none", "PATCH " .. CORE .. "services/a/status", {
    status = {
        loadBalancer = {
            ingress = { { ip = "x" }, { hostname = "10.0.0.1" }, { hostname = "X" },
                { hostname = "h", ipMode = "VIP" }, { ip = "10.0.0.1", ipMode = "x" } },
        },
    },
})

-- Apply of a status, and the managers of its parts.
local POD = CORE .. "pods/p"
local function conditions(...)
    return objects.of("v1", "Pod", "p", { status = { conditions = { ... } } })
end

ask("a pod", "POST " .. CORE .. "pods", objects.pod("p"))
apply("a condition", POD .. "/status?fieldManager=a", conditions { type = "x", status = "True" })
apply("another one", POD .. "/status?fieldManager=b", conditions { type = "y", status = "True" })
apply("that of the first", POD .. "/status?fieldManager=b", conditions {
    type = "x", status = "No",
})
apply("without it", POD .. "/status?fieldManager=b", conditions())
apply("a spec in a status", POD .. "/status?fieldManager=b", objects.pod("p"))
apply("a status in a spec", POD .. "?fieldManager=b", objects.pod("p", {
    status = { message = "no" },
}))
ask("a condition by a patch", "PATCH " .. POD .. "/status?fieldManager=c",
    '{"status":{"conditions":[{"type":"x","status":"False"}]}}').type = MERGE_KEYS
apply("what the patch has taken", POD .. "/status?fieldManager=a", conditions {
    type = "x", status = "True",
})
apply("a status of nothing", CORE .. "pods/none/status?fieldManager=a", conditions())
ask("its containers of the moment", "PATCH " .. POD .. "/ephemeralcontainers?fieldManager=e",
    [[{"spec":{"ephemeralContainers":[{"name":"debug","image":"debug:1"}]}}]]).type = MERGE_KEYS
ask("the pod", "GET " .. POD)

-- Writes that reset managedFields, and writes that cannot.
local MAP = CORE .. "configmaps/m"
local function map(managers, data)
    return objects.configmap("m", { metadata = { managedFields = managers }, data = data })
end

ask("a map", "POST " .. CORE .. "configmaps?fieldManager=a", map(nil, { a = "1" }))
ask("an entry that is none", "PUT " .. MAP, map({ { manager = "x" } }, { a = "1" }))
ask("an entry of a client", "PUT " .. MAP .. "?fieldManager=b", map({
    {
        manager = "z", operation = "Apply", apiVersion = "v1", fieldsType = "FieldsV1",
        fieldsV1 = { ["f:data"] = { ["f:a"] = {} } },
    },
}, { a = "1", b = "1" }))
apply("a conflict with it", MAP .. "?fieldManager=c", map(nil, { a = "2" }))
ask("no entries", "PUT " .. MAP, map(core.array {}, { a = "1" }))
ask("no field, no entry", "PATCH " .. MAP .. "?fieldManager=d", { data = { d = "1" } })
apply("the first apply after that", MAP .. "?fieldManager=c", map(nil, { a = "1" }))
ask("one empty entry", "PATCH " .. MAP, '{"metadata":{"managedFields":[{}]}}')
ask("managers by a status", "PUT " .. POD .. "/status", objects.of("v1", "Pod", "p", {
    metadata = { managedFields = core.array {} }, status = { message = "m" },
}))
apply("with another uid", MAP .. "?fieldManager=c", objects.configmap("m", {
    metadata = { uid = "00000000-0000-0000-0000-000000000001" },
}))
apply("at an old version", MAP .. "?fieldManager=c", objects.configmap("m", {
    metadata = { resourceVersion = "1" },
}))
apply("with the uid of nothing", CORE .. "configmaps/new?fieldManager=c", objects.configmap("new", {
    metadata = { uid = "00000000-0000-0000-0000-000000000001" },
}))

return requests
