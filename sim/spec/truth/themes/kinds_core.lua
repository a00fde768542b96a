-- The smallest object of each kind of the core group.
local kind_requests = require "kind_requests"
local objects = require "objects"

local of, container = objects.of, objects.container
local PODS = { containers = { container() } }
local TEMPLATE = { metadata = { labels = { a = "b" } }, spec = PODS }

return kind_requests {
    { "v1", "configmaps", of("v1", "ConfigMap", "a", { data = { a = "1", b = "2" } }) },
    { "v1", "pods", of("v1", "Pod", "a", { spec = PODS }) },
    { "v1", "services", of("v1", "Service", "a", { spec = { ports = { { port = 80 } } } }) },
    { "v1", "secrets", of("v1", "Secret", "a", { data = { a = "AAEC" } }) },
    { "v1", "serviceaccounts", of("v1", "ServiceAccount", "a") },
    {
        "v1", "endpoints",
        of("v1", "Endpoints", "a", {
            subsets = { { addresses = { { ip = "10.1.1.1" } }, ports = { { port = 80 } } } },
        }),
    },
    {
        "v1", "events",
        of("v1", "Event", "a", {
            involvedObject = { kind = "Pod", name = "p", namespace = "{ns}" }, reason = "Tested",
            message = "hello", type = "Normal", source = { component = "spec" },
        }),
    },
    {
        "v1", "resourcequotas",
        of("v1", "ResourceQuota", "a", { spec = { hard = { pods = "99" } } }),
    },
    {
        "v1", "limitranges",
        of("v1", "LimitRange", "a", {
            spec = { limits = { { type = "PersistentVolumeClaim", max = { storage = "2Gi" } } } },
        }),
    },
    {
        "v1", "persistentvolumeclaims",
        of("v1", "PersistentVolumeClaim", "a", {
            spec = {
                accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "1Gi" } },
            },
        }),
    },
    {
        "v1", "replicationcontrollers",
        of("v1", "ReplicationController", "a", { spec = { template = TEMPLATE } }),
    },
    { "v1", "podtemplates", of("v1", "PodTemplate", "a", { template = TEMPLATE }) },
    { "v1", "namespaces", of("v1", "Namespace", "{ns}-2"), cluster = true },
    { "v1", "nodes", of("v1", "Node", "{ns}-2"), cluster = true },
    {
        "v1", "persistentvolumes",
        of("v1", "PersistentVolume", "{ns}-2", {
            spec = {
                capacity = { storage = "1Gi" }, accessModes = { "ReadWriteOnce" },
                hostPath = { path = "/x" },
            },
        }),
        cluster = true,
    },
}
