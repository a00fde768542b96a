-- ResourceQuota and LimitRange: what counts, what is set, what is refused.
local limited = require "limited"
local objects = require "objects"

local container, pod, plain = limited.container, limited.pod, limited.plain
local of = objects.of
local CORE = limited.CORE
local requests, add, post = limited.requests()

-- There is no controller: what a quota allows, and what is used, is put into its status.
local function quota(name, hard, used, spec)
    spec = spec or {}
    spec.hard = hard
    post("quota " .. name .. ": made", "resourcequotas",
        of("v1", "ResourceQuota", name, { spec = spec }))
    add {
        "quota " .. name .. ": takes effect",
        "PATCH " .. CORE .. "resourcequotas/" .. name .. "/status",
        { status = { hard = hard, used = used } },
    }
end

local function used(sentence, name)
    add { sentence .. ": what is used", "GET " .. CORE .. "resourcequotas/" .. name }
end

local function drop(name)
    add {
        "quota " .. name .. ": gone", "DELETE " .. CORE .. "resourcequotas/" .. name,
        only = "status",
    }
end

-- --- Counts. --------------------------------------------------------------

quota("maps", { configmaps = "2", ["count/secrets"] = "1" },
    { configmaps = "1", ["count/secrets"] = "0" })
post("a map that is one too many, tried", "configmaps?dryRun=All", of("v1", "ConfigMap", "a"))
post("the last map", "configmaps", of("v1", "ConfigMap", "a"))
used("the last map", "maps")
post("a map too many", "configmaps", of("v1", "ConfigMap", "b"), { wait = 403 })
post("a map too many, of a name that is made up", "configmaps", {
    apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "more-" },
}, { only = "status" })
post("the same map again", "configmaps", of("v1", "ConfigMap", "a"))
add { "a map changes", "PATCH " .. CORE .. "configmaps/a", { data = { x = "1" } } }
post("a secret", "secrets", of("v1", "Secret", "a"))
post("a secret too many", "secrets", of("v1", "Secret", "b"))
add { "a map less", "DELETE " .. CORE .. "configmaps/a", only = "status" }
used("a map less, which nobody counts", "maps")
drop("maps")

quota("apps", { ["count/deployments.apps"] = "0" }, { ["count/deployments.apps"] = "0" })
add {
    "a deployment too many", "POST /apis/apps/v1/namespaces/{ns}/deployments",
    objects.deployment("d"), wait = 403,
}
drop("apps")

-- --- Pods. ----------------------------------------------------------------

quota("pods", { pods = "3", ["requests.cpu"] = "1", ["limits.memory"] = "1Gi" },
    { pods = "0", ["requests.cpu"] = "0", ["limits.memory"] = "0" })
post("a pod that does not say what it takes", "pods", plain("silent"), { wait = 403 })
post("pods that say half of it", "pods", pod("half", {
    container("b", { cpu = "1" }), container("a", { memory = "1Gi" }, { memory = "2Gi" }),
}))
post("a pod that fits", "pods", pod("fits", {
    container("a", { cpu = "250m" }, { memory = "256Mi" }),
    container("b", { cpu = "0.25" }, { memory = "0.25Gi" }),
}))
used("a pod that fits", "pods")
post("a pod that asks for too much", "pods", pod("large", {
    container("a", { cpu = "600m" }, { memory = "1Mi" }),
}))
post("a pod that asks for too much of two", "pods", pod("large", {
    container("a", { cpu = "600m" }, { memory = "1Gi" }),
}))
post("a pod whose first container needs most", "pods", pod("begins", {
    container("a", { cpu = "100m" }, { memory = "1Mi" }),
}, { initContainers = { container("first", { cpu = "700m" }, { memory = "1Mi" }) } }))
post("a pod whose first container stays", "pods", pod("stays", {
    container("a", { cpu = "100m" }, { memory = "1Mi" }),
}, {
    initContainers = {
        {
            name = "first", image = "app", restartPolicy = "Always",
            resources = { requests = { cpu = "100m" }, limits = { memory = "1Mi" } },
        },
    },
}))
used("a pod whose first container stays", "pods")
post("a pod as a whole", "pods", pod("whole", { container("a") }, {
    resources = { requests = { cpu = "100m" }, limits = { memory = "100Mi" } },
}))
used("a pod as a whole", "pods")
post("a pod too many", "pods", pod("more", {
    container("a", { cpu = "1m" }, { memory = "1Mi" }),
}), { wait = 403 })
add {
    "a deadline of a pod", "PATCH " .. CORE .. "pods/fits",
    { spec = { activeDeadlineSeconds = 5 } }, only = "status",
}
used("a deadline of a pod", "pods")
drop("pods")

quota("best", { pods = "0" }, { pods = "0" }, { scopes = { "BestEffort" } })
post("a pod of best effort", "pods", plain("best"), { wait = 403 })
post("a pod of more than that", "pods?dryRun=All", pod("better", {
    container("a", { cpu = "1" }),
}))
drop("best")

quota("classes", { pods = "0" }, { pods = "0" }, {
    scopeSelector = {
        matchExpressions = {
            { scopeName = "PriorityClass", operator = "In", values = { "system-node-critical" } },
        },
    },
})
post("a pod of that class", "pods", pod("first", { container("a") }, {
    priorityClassName = "system-node-critical",
}), { wait = 403 })
post("a pod of none", "pods?dryRun=All", plain("none"))
drop("classes")

quota("unknown", { services = "1" }, {})
post("a service whose quota is not known", "services", of("v1", "Service", "s", {
    spec = { ports = { { port = 80 } } },
}), { wait = 403 })
drop("unknown")

quota("services", {
    services = "2", ["services.nodeports"] = "1", ["services.loadbalancers"] = "0",
}, { services = "0", ["services.nodeports"] = "0", ["services.loadbalancers"] = "0" })
post("a balancer", "services", of("v1", "Service", "b", {
    spec = { type = "LoadBalancer", ports = { { port = 80 } } },
}), { wait = 403 })
post("two ports on nodes", "services", of("v1", "Service", "b", {
    spec = { type = "NodePort", ports = { { name = "a", port = 80 }, { name = "b", port = 81 } } },
}))
post("a service", "services?dryRun=All", of("v1", "Service", "b", {
    spec = { ports = { { port = 80 } } },
}))
drop("services")

-- --- Claims. --------------------------------------------------------------

local function claim(name, storage, class)
    return of("v1", "PersistentVolumeClaim", name, {
        spec = {
            accessModes = { "ReadWriteOnce" }, storageClassName = class,
            resources = { requests = { storage = storage } },
        },
    })
end

local GOLD = "gold.storageclass.storage.k8s.io/"
quota("claims", {
    persistentvolumeclaims = "2", ["requests.storage"] = "10Gi",
    [GOLD .. "requests.storage"] = "1Gi",
}, {
    persistentvolumeclaims = "0", ["requests.storage"] = "0", [GOLD .. "requests.storage"] = "0",
})
post("a claim that is too large", "persistentvolumeclaims", claim("c", "11Gi"), { wait = 403 })
post("a claim of gold", "persistentvolumeclaims", claim("c", "2Gi", "gold"))
post("a claim that fits", "persistentvolumeclaims", claim("c", "1Gi", "gold"), { only = "status" })
used("a claim that fits", "claims")
drop("claims")

-- --- What they cannot be. -------------------------------------------------

local function no_quota(sentence, spec)
    post("no quota: " .. sentence, "resourcequotas",
        of("v1", "ResourceQuota", "bad", { spec = spec }))
end

no_quota("what there is not", { hard = { thing = "1" } })
no_quota("a name that is none", { hard = { ["a b"] = "1" } })
no_quota("less than none", { hard = { cpu = "-1" } })
no_quota("half a pod", { hard = { pods = "1.5" } })
no_quota("a scope that is none", { hard = { pods = "1" }, scopes = { "Thing" } })
no_quota("a scope for what has none", { hard = { services = "1" }, scopes = { "Terminating" } })
no_quota("scopes that exclude each other", {
    hard = { pods = "1" }, scopes = { "BestEffort", "NotBestEffort" },
})
no_quota("resources of best effort", { hard = { cpu = "1" }, scopes = { "BestEffort" } })
no_quota("a selector that is none", {
    hard = { pods = "1" },
    scopeSelector = { matchExpressions = { { scopeName = "PriorityClass", operator = "Is" } } },
})
no_quota("a selector without values", {
    hard = { pods = "1" },
    scopeSelector = { matchExpressions = { { scopeName = "PriorityClass", operator = "In" } } },
})
no_quota("a selector with values", {
    hard = { pods = "1" },
    scopeSelector = {
        matchExpressions = {
            { scopeName = "PriorityClass", operator = "Exists", values = { "x" } },
        },
    },
})
quota("still", { pods = "1" }, { pods = "0" }, { scopes = { "Terminating" } })
add {
    "other scopes", "PATCH " .. CORE .. "resourcequotas/still",
    { spec = { scopes = { "NotTerminating" } } },
}
drop("still")

return requests
