-- What services, workloads and the other kinds refuse.
local core = require "kubelua.core"
local objects = require "objects"

local of, pod, container = objects.of, objects.pod, objects.container
local requests = {}

local function post(sentence, path, object, only)
    requests[#requests + 1] = { sentence, "POST " .. path, object, only = only }
end

local CORE, APPS = "/api/v1/namespaces/{ns}/", "/apis/apps/v1/namespaces/{ns}/"

local function service(sentence, spec)
    post("service: " .. sentence, CORE .. "services?dryRun=All", of("v1", "Service", "s", {
        spec = spec,
    }))
end
service("no ports", {})
service("no spec", nil)
service("two ports without names", { ports = { { port = 80 }, { port = 81 } } })
service("a port twice", { ports = { { port = 80, name = "a" }, { port = 80, name = "b" } } })
service("a port that is none", { ports = { { port = 0 } } })
service("a type that is none", { type = "Maybe", ports = { { port = 80 } } })
service("no cluster IP", { clusterIP = "None", selector = { a = "b" } })
service("a cluster IP that is none", { clusterIP = "x", ports = { { port = 80 } } })
service("a cluster IP of elsewhere", { clusterIP = "192.168.1.1", ports = { { port = 80 } } })
service("an external name", { type = "ExternalName", externalName = "a.example.com" })
service("an external name without it", { type = "ExternalName" })
service("a node port", { type = "NodePort", ports = { { port = 80 } } })
service("a node port out of range", { type = "NodePort", ports = { { port = 80, nodePort = 80 } } })
service("a balancer", { type = "LoadBalancer", ports = { { port = 80 } } })
service("an affinity that is none", { sessionAffinity = "Maybe", ports = { { port = 80 } } })
service("an affinity", {
    sessionAffinity = "ClientIP", ports = { { port = 80, targetPort = "http" } },
})

local function deployment(sentence, spec)
    local object = objects.deployment("d", { spec = spec })
    post("deployment: " .. sentence, APPS .. "deployments?dryRun=All", object)
end
deployment("negative replicas", { replicas = -1 })
deployment("a selector that does not match", { selector = { matchLabels = { app = "x" } } })
deployment("a strategy that is none", { strategy = { type = "Maybe" } })
deployment("no room to roll", {
    strategy = { rollingUpdate = { maxSurge = 0, maxUnavailable = 0 } },
})
deployment("a restart policy that it cannot have", {
    template = { spec = { restartPolicy = "Never" } },
})
deployment("a deadline below its wait", { minReadySeconds = 10, progressDeadlineSeconds = 5 })
deployment("recreate", { strategy = { type = "Recreate" } })
post("deployment: no selector", APPS .. "deployments", of("apps/v1", "Deployment", "d", {
    spec = { template = { spec = { containers = { container() } } } },
}))
post("deployment: an empty selector", APPS .. "deployments", of("apps/v1", "Deployment", "d", {
    spec = { selector = {}, template = { spec = { containers = { container() } } } },
}))
post("deployment: no spec", APPS .. "deployments", of("apps/v1", "Deployment", "d"))
post(
    "stateful set: a claim", APPS .. "statefulsets?dryRun=All",
    objects.workload("StatefulSet", "s", {
        spec = {
            volumeClaimTemplates = {
                {
                    metadata = { name = "c" },
                    spec = {
                        accessModes = { "ReadWriteOnce" },
                        resources = { requests = { storage = "1Gi" } },
                    },
                },
            },
        },
    })
)
post("secret: a type with its data missing", CORE .. "secrets", of("v1", "Secret", "s", {
    type = "kubernetes.io/tls",
}))
post("secret: rubbish", CORE .. "secrets", of("v1", "Secret", "s", { data = { a = "?" } }))
post("secret: a docker config that is none", CORE .. "secrets", of("v1", "Secret", "s", {
    type = "kubernetes.io/dockerconfigjson", data = { [".dockerconfigjson"] = "AAEC" },
}))
post("job: restart always", "/apis/batch/v1/namespaces/{ns}/jobs", of("batch/v1", "Job", "j", {
    spec = { template = { spec = { containers = { container() } } } },
}))
post("job: no template", "/apis/batch/v1/namespaces/{ns}/jobs", of("batch/v1", "Job", "j", {
    spec = {},
}))
post(
    "cron job: a schedule that is none", "/apis/batch/v1/namespaces/{ns}/cronjobs",
    of("batch/v1", "CronJob", "j", {
        spec = {
            schedule = "often",
            jobTemplate = {
                spec = {
                    template = { spec = { restartPolicy = "Never", containers = { container() } } },
                },
            },
        },
    })
)
post(
    "cron job: a name that is too long", "/apis/batch/v1/namespaces/{ns}/cronjobs",
    of("batch/v1", "CronJob", ("j"):rep(53), {
        spec = {
            schedule = "* * * * *",
            jobTemplate = {
                spec = {
                    template = { spec = { restartPolicy = "Never", containers = { container() } } },
                },
            },
        },
    })
)
post("claim: no access", CORE .. "persistentvolumeclaims", of("v1", "PersistentVolumeClaim", "c", {
    spec = {},
}))
post(
    "role binding: no role", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings",
    of("rbac.authorization.k8s.io/v1", "RoleBinding", "b")
)
post(
    "role: no verbs", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
    of("rbac.authorization.k8s.io/v1", "Role", "r", {
        rules = { { apiGroups = { "" }, resources = { "pods" } } },
    })
)
post(
    "budget: both numbers", "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    of("policy/v1", "PodDisruptionBudget", "b", { spec = { minAvailable = 1, maxUnavailable = 1 } })
)
post(
    "budget: a percentage that is none", "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
    of("policy/v1", "PodDisruptionBudget", "b", { spec = { minAvailable = "half" } })
)
post(
    "autoscaler: no maximum", "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
    of("autoscaling/v2", "HorizontalPodAutoscaler", "h", {
        spec = { scaleTargetRef = { kind = "Deployment", name = "x" } },
    })
)
post(
    "autoscaler: a minimum above its maximum",
    "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers",
    of("autoscaling/v2", "HorizontalPodAutoscaler", "h", {
        spec = {
            minReplicas = 5, maxReplicas = 2, scaleTargetRef = { kind = "Deployment", name = "x" },
        },
    })
)
post(
    "ingress: a path without type", "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
    of("networking.k8s.io/v1", "Ingress", "i", {
        spec = {
            rules = {
                {
                    http = {
                        paths = {
                            {
                                path = "/",
                                backend = { service = { name = "s", port = { number = 80 } } },
                            },
                        },
                    },
                },
            },
        },
    })
)
post(
    "ingress: nothing", "/apis/networking.k8s.io/v1/namespaces/{ns}/ingresses",
    of("networking.k8s.io/v1", "Ingress", "i", { spec = {} })
)
post(
    "lease: a negative time", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
    of("coordination.k8s.io/v1", "Lease", "l", { spec = { leaseDurationSeconds = -1 } })
)
post(
    "slice: no type", "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
    of("discovery.k8s.io/v1", "EndpointSlice", "e", { endpoints = core.array {} })
)
post(
    "slice: an address that is none", "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices",
    of("discovery.k8s.io/v1", "EndpointSlice", "e", {
        addressType = "IPv4", endpoints = { { addresses = { "x" } } },
    })
)
post("event: of another namespace", CORE .. "events", of("v1", "Event", "e", {
    involvedObject = { namespace = "other" },
}))
post("namespace: a name that is none", "/api/v1/namespaces", of("v1", "Namespace", "a.b"))
post("node: a name that is none", "/api/v1/nodes", of("v1", "Node", "A"))
post(
    "class of priority: one of the system", "/apis/scheduling.k8s.io/v1/priorityclasses",
    of("scheduling.k8s.io/v1", "PriorityClass", "system-x-{run}", { value = 2000000000 })
)
post("pod template: no containers", CORE .. "podtemplates", of("v1", "PodTemplate", "t", {
    template = { spec = {} },
}))
requests[#requests + 1] = {
    "a pod in its own namespace", "POST " .. CORE .. "pods", pod("real"), only = "status",
}

return requests
