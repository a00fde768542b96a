-- The smallest object of each kind of the other groups.
local kind_requests = require "kind_requests"
local objects = require "objects"

local of = objects.of
local RBAC = "rbac.authorization.k8s.io"
local SUBJECTS = {
    { kind = "User", name = "me" }, { kind = "ServiceAccount", name = "sa", namespace = "x" },
}

return kind_requests {
    {
        "networking.k8s.io/v1", "ingresses",
        of("networking.k8s.io/v1", "Ingress", "a", {
            spec = {
                rules = {
                    {
                        host = "a.example.com",
                        http = {
                            paths = {
                                {
                                    path = "/", pathType = "Prefix",
                                    backend = {
                                        service = { name = "svc", port = { number = 80 } },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        }),
    },
    {
        "networking.k8s.io/v1", "networkpolicies",
        of("networking.k8s.io/v1", "NetworkPolicy", "a", {
            spec = { podSelector = { matchLabels = { a = "b" } } },
        }),
    },
    {
        "networking.k8s.io/v1", "ingressclasses",
        of("networking.k8s.io/v1", "IngressClass", "{ns}-2", {
            spec = { controller = "example.com/c" },
        }),
        cluster = true,
    },
    {
        "discovery.k8s.io/v1", "endpointslices",
        of("discovery.k8s.io/v1", "EndpointSlice", "a", {
            addressType = "IPv4", endpoints = { { addresses = { "10.1.1.1" } } },
            ports = { { port = 80 } },
        }),
    },
    {
        "coordination.k8s.io/v1", "leases",
        of("coordination.k8s.io/v1", "Lease", "a", { spec = { holderIdentity = "me" } }),
    },
    {
        RBAC .. "/v1", "roles",
        of(RBAC .. "/v1", "Role", "a", {
            rules = { { apiGroups = { "" }, resources = { "pods" }, verbs = { "get" } } },
        }),
    },
    {
        RBAC .. "/v1", "rolebindings",
        of(RBAC .. "/v1", "RoleBinding", "a", {
            roleRef = { apiGroup = RBAC, kind = "Role", name = "role" }, subjects = SUBJECTS,
        }),
    },
    {
        RBAC .. "/v1", "clusterroles",
        of(RBAC .. "/v1", "ClusterRole", "{ns}-2", {
            rules = { { nonResourceURLs = { "/x" }, verbs = { "get" } } },
        }),
        cluster = true,
    },
    {
        RBAC .. "/v1", "clusterrolebindings",
        of(RBAC .. "/v1", "ClusterRoleBinding", "{ns}-2", {
            roleRef = { apiGroup = RBAC, kind = "ClusterRole", name = "view" }, subjects = SUBJECTS,
        }),
        cluster = true,
    },
    {
        "policy/v1", "poddisruptionbudgets",
        of("policy/v1", "PodDisruptionBudget", "a", {
            spec = { minAvailable = "50%", selector = { matchLabels = { a = "b" } } },
        }),
    },
    {
        "autoscaling/v2", "horizontalpodautoscalers",
        of("autoscaling/v2", "HorizontalPodAutoscaler", "a", {
            spec = {
                maxReplicas = 3,
                scaleTargetRef = { apiVersion = "apps/v1", kind = "Deployment", name = "web" },
            },
        }),
    },
    {
        "storage.k8s.io/v1", "storageclasses",
        of("storage.k8s.io/v1", "StorageClass", "{ns}-2", { provisioner = "example.com/p" }),
        cluster = true,
    },
    {
        "events.k8s.io/v1", "events",
        of("events.k8s.io/v1", "Event", "b", {
            eventTime = "2026-01-02T03:04:05.000006Z",
            regarding = { kind = "Pod", name = "p", namespace = "{ns}" }, reason = "Tested",
            note = "hello", type = "Normal", action = "Test",
            reportingController = "example.com/spec", reportingInstance = "spec-1",
        }),
    },
    {
        "scheduling.k8s.io/v1", "priorityclasses",
        of("scheduling.k8s.io/v1", "PriorityClass", "{ns}-2", { value = 7 }), cluster = true,
    },
    {
        "node.k8s.io/v1", "runtimeclasses",
        of("node.k8s.io/v1", "RuntimeClass", "{ns}-2", { handler = "runc" }), cluster = true,
    },
    {
        "admissionregistration.k8s.io/v1", "validatingwebhookconfigurations",
        of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "{ns}-2", {}),
        cluster = true,
    },
    {
        "certificates.k8s.io/v1", "certificatesigningrequests",
        of("certificates.k8s.io/v1", "CertificateSigningRequest", "{ns}-2", {
            spec = { request = "AAEC", signerName = "example.com/s", usages = { "client auth" } },
        }),
        cluster = true, only = "status",
    },
}
