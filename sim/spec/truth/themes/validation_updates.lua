-- What cannot change once it is there, kind by kind.
local objects = require "objects"

local of, container = objects.of, objects.container
local requests = {}

local function add(request)
    requests[#requests + 1] = request
end

-- Makes an object and tries each patch on it.
local function change(collection, object, patches)
    local kind, name = object.kind, object.metadata.name
    add { kind .. ": made", "POST " .. collection, object, only = "status" }
    for i, patch in ipairs(patches) do
        add { kind .. ": change " .. i, "PATCH " .. collection .. "/" .. name, patch }
    end
end

local CORE = "/api/v1/namespaces/{ns}/"
local function group(path)
    return "/apis/" .. path:gsub("/([%w]+)$", "/namespaces/{ns}/%1")
end

local template = {
    metadata = { labels = { app = "x" } }, spec = { containers = { container() } },
}
local selector = { matchLabels = { app = "x" } }

change(group "apps/v1/deployments", of("apps/v1", "Deployment", "d", {
    spec = { selector = selector, template = template },
}), { { spec = { selector = { matchLabels = { app = "y" } } } } })
change(group "apps/v1/daemonsets", of("apps/v1", "DaemonSet", "d", {
    spec = { selector = selector, template = template },
}), { { spec = { selector = { matchLabels = { app = "y" } } } } })
change(group "apps/v1/replicasets", of("apps/v1", "ReplicaSet", "r", {
    spec = { selector = selector, template = template },
}), { { spec = { selector = { matchLabels = { app = "y" } } } } })
change(group "apps/v1/statefulsets", of("apps/v1", "StatefulSet", "s", {
    spec = { selector = selector, serviceName = "s", template = template },
}), {
    { spec = { serviceName = "t" } },
    { spec = { podManagementPolicy = "Parallel" } },
    { spec = { replicas = 3 } },
})
change(CORE .. "services", of("v1", "Service", "s", { spec = { ports = { { port = 80 } } } }), {
    { spec = { clusterIP = "None" } },
})
change(CORE .. "secrets", of("v1", "Secret", "s", { type = "a/b" }), {
    { type = "c/d" }, { immutable = true }, { immutable = false }, { data = { a = "YQ==" } },
})
change(CORE .. "configmaps", of("v1", "ConfigMap", "c", { data = { a = "b" } }), {
    { immutable = true }, { immutable = false }, { data = { a = "c" } },
    { binaryData = { b = "YQ==" } },
})
change(CORE .. "persistentvolumeclaims", of("v1", "PersistentVolumeClaim", "c", {
    spec = { accessModes = { "ReadWriteOnce" }, resources = { requests = { storage = "2Gi" } } },
}), { { spec = { resources = { requests = { storage = "3Gi" } } } } })
change("/api/v1/persistentvolumes", of("v1", "PersistentVolume", "{run}-v", {
    spec = {
        accessModes = { "ReadWriteOnce" }, capacity = { storage = "1Gi" },
        hostPath = { path = "/a" },
    },
}), {
    { spec = { volumeMode = "Block" } },
    { spec = { capacity = { storage = "2Gi" } } },
})
add {
    "PersistentVolume: gone", "DELETE /api/v1/persistentvolumes/{run}-v", only = "status",
}
local class = of("storage.k8s.io/v1", "StorageClass", "{run}-s", {
    provisioner = "a.b/c", parameters = { a = "b" },
})
change("/apis/storage.k8s.io/v1/storageclasses", class, {
    { provisioner = "d.e/f" }, { parameters = { a = "c" } }, { reclaimPolicy = "Retain" },
    { volumeBindingMode = "WaitForFirstConsumer" }, { allowVolumeExpansion = true },
})
add {
    "StorageClass: gone", "DELETE /apis/storage.k8s.io/v1/storageclasses/{run}-s", only = "status",
}
change("/apis/scheduling.k8s.io/v1/priorityclasses",
    of("scheduling.k8s.io/v1", "PriorityClass", "{run}-p", { value = 5 }), {
        { value = 6 }, { preemptionPolicy = "Never" }, { description = "x" },
    })
add {
    "PriorityClass: gone", "DELETE /apis/scheduling.k8s.io/v1/priorityclasses/{run}-p",
    only = "status",
}
change("/apis/node.k8s.io/v1/runtimeclasses", of("node.k8s.io/v1", "RuntimeClass", "{run}-r", {
    handler = "a",
}), { { handler = "b" }, { handler = "A_b" } })
add {
    "RuntimeClass: gone", "DELETE /apis/node.k8s.io/v1/runtimeclasses/{run}-r", only = "status",
}
change("/apis/networking.k8s.io/v1/ingressclasses", of("networking.k8s.io/v1", "IngressClass",
    "{run}-i", { spec = { controller = "a.b/c" } }), { { spec = { controller = "a.b/d" } } })
add {
    "IngressClass: gone", "DELETE /apis/networking.k8s.io/v1/ingressclasses/{run}-i",
    only = "status",
}
local slice = of("discovery.k8s.io/v1", "EndpointSlice", "e", {
    addressType = "IPv4", endpoints = { { addresses = { "10.1.2.3" } } },
})
change(group "discovery.k8s.io/v1/endpointslices", slice, {
    { addressType = "IPv6", endpoints = { { addresses = { "fd00::1" } } } },
})
change(group "rbac.authorization.k8s.io/v1/rolebindings",
    of("rbac.authorization.k8s.io/v1", "RoleBinding", "b", {
        roleRef = { apiGroup = "rbac.authorization.k8s.io", kind = "Role", name = "a" },
    }), { { roleRef = { name = "b" } } })
change(group "batch/v1/jobs", of("batch/v1", "Job", "j", {
    spec = {
        template = { spec = { restartPolicy = "Never", containers = { container() } } },
        completions = 1,
    },
}), {
    { spec = { completions = 2 } }, { spec = { completionMode = "Indexed" } },
    { spec = { parallelism = 2 } }, { spec = { backoffLimitPerIndex = 1 } },
    { spec = { managedBy = "a.b/c" } },
})
change("/api/v1/nodes", of("v1", "Node", "{run}-n", { spec = { podCIDR = "10.0.0.0/24" } }), {
    { spec = { podCIDR = "10.1.0.0/24" } }, { spec = { providerID = "a" } },
    { spec = { providerID = "b" } }, { spec = { unschedulable = true } },
})
add {
    "Node: gone", "DELETE /api/v1/nodes/{run}-n", only = "status",
}

return requests
