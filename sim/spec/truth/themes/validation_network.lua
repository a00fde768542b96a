-- What Ingresses, NetworkPolicies, EndpointSlices, leases and events refuse.
local core = require "kubelua.core"
local objects = require "objects"

local of = objects.of
local requests = {}

local function post(sentence, path, object)
    requests[#requests + 1] = { sentence, "POST " .. path, object }
end

local NETWORK = "/apis/networking.k8s.io/v1/"
local SERVICE = { service = { name = "s", port = { number = 80 } } }

local function ingress(sentence, spec)
    post("ingress: " .. sentence, NETWORK .. "namespaces/{ns}/ingresses?dryRun=All",
        of("networking.k8s.io/v1", "Ingress", "i", { spec = spec }))
end

local function path(more)
    local made = { path = "/a", pathType = "Prefix", backend = SERVICE }
    for name, value in pairs(more) do
        made[name] = value
    end
    return { { http = { paths = { made } } } }
end

ingress("a path", { rules = path {} })
ingress("a path with two slashes", { rules = path { path = "/a//b" } })
ingress("a path that goes back", { rules = path { path = "/a/../b" } })
ingress("a path that ends so", { rules = path { path = "/a/.." } })
ingress("a path with a slash that is written", { rules = path { path = "/a%2fb" } })
ingress("a path that is left to others", {
    rules = path { path = "x", pathType = "ImplementationSpecific" },
})
ingress("a type that is none", { rules = path { pathType = "Maybe" } })
ingress("a host that is an address", { rules = { { host = "1.2.3.4" } } })
ingress("a host that is none", { rules = { { host = "A_b" } } })
ingress("a host of any", { rules = { { host = "*.example.com" } } })
ingress("a host of anything", { rules = { { host = "*" } } })
ingress("a host with a star inside", { rules = { { host = "a.*.com" } } })
ingress("no paths", { rules = { { http = { paths = core.array {} } } } })
ingress("TLS", {
    rules = path {}, tls = { { hosts = { "a.b", "A_b", "*.c.d" }, secretName = "A_b" } },
})
ingress("a class that is none", { rules = path {}, ingressClassName = "A_b" })
ingress("a backend of a resource", {
    defaultBackend = { resource = { apiGroup = "a.b", kind = "", name = "" } },
})
ingress("a backend of two", {
    defaultBackend = { resource = { kind = "A", name = "b" }, service = SERVICE.service },
})
ingress("a service that is none", {
    defaultBackend = { service = { name = "A_b", port = { name = "A_b", number = 0 } } },
})
post("ingress: a class by two ways", NETWORK .. "namespaces/{ns}/ingresses?dryRun=All",
    of("networking.k8s.io/v1", "Ingress", "i", {
        metadata = { annotations = { ["kubernetes.io/ingress.class"] = "a" } },
        spec = { rules = path {}, ingressClassName = "b" },
    }))

local function class(sentence, spec)
    post("ingress class: " .. sentence, NETWORK .. "ingressclasses?dryRun=All",
        of("networking.k8s.io/v1", "IngressClass", "{run}-c", { spec = spec }))
end
class("nothing", {})
class("a controller that is none", { controller = "a b" })
class("parameters of nothing", { controller = "a.b/c", parameters = {} })
class("parameters of a namespace", {
    controller = "a.b/c", parameters = { kind = "A", name = "b", scope = "Namespace" },
})
class("parameters of a scope that is none", {
    controller = "a.b/c", parameters = { kind = "A", name = "b", scope = "X", namespace = "y" },
})

local function policy(sentence, spec)
    post("policy: " .. sentence, NETWORK .. "namespaces/{ns}/networkpolicies?dryRun=All",
        of("networking.k8s.io/v1", "NetworkPolicy", "p", { spec = spec }))
end
policy("of all", { podSelector = {} })
policy("a selector that is none", {
    podSelector = { matchExpressions = { { key = "a", operator = "Is" } } },
})
policy("a port that is none", {
    podSelector = {},
    ingress = { { ports = { { port = 70000 }, { port = "A_b" }, { protocol = "X" } } } },
})
policy("ports up to less", {
    podSelector = {}, egress = { { ports = { { port = 80, endPort = 70 } } } },
})
policy("ports up to one, from a name", {
    podSelector = {}, egress = { { ports = { { port = "http", endPort = 70 }, { endPort = 1 } } } },
})
policy("nobody", { podSelector = {}, ingress = { { from = { {} } } } })
policy("two of one", {
    podSelector = {},
    ingress = { { from = { { ipBlock = { cidr = "10.0.0.0/8" }, podSelector = {} } } } },
})
policy("a block that is none", {
    podSelector = {}, ingress = { { from = { { ipBlock = { cidr = "x" } } } } },
})
policy("a block of nothing", {
    podSelector = {}, egress = { { to = { { ipBlock = { cidr = "" } } } } },
})
policy("a block without what is not in it", {
    podSelector = {},
    ingress = {
        { from = { { ipBlock = { cidr = "10.0.0.0/8", except = { "11.0.0.0/8", "x" } } } } },
    },
})
policy("types", { podSelector = {}, policyTypes = { "Ingress", "X" } })
policy("too many types", { podSelector = {}, policyTypes = { "Ingress", "Egress", "Egress" } })

local function slice(sentence, body)
    post("slice: " .. sentence,
        "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices?dryRun=All",
        of("discovery.k8s.io/v1", "EndpointSlice", "e", body))
end
slice("as it should be", { addressType = "IPv4", endpoints = { { addresses = { "10.1.2.3" } } } })
slice("a type that is none", { addressType = "X", endpoints = core.array {} })
slice("no address", { addressType = "IPv4", endpoints = { { addresses = core.array {} } } })
slice("a name", { addressType = "FQDN", endpoints = { { addresses = { "A_b" } } } })
slice("an address that leads back", {
    addressType = "IPv4",
    endpoints = { { addresses = { "127.0.0.1" } }, { addresses = { "0.0.0.0" } } },
})
slice("of the wrong family", {
    addressType = "IPv6", endpoints = { { addresses = { "10.1.2.3" } } },
})
slice("a node and a host that are none", {
    addressType = "IPv4",
    endpoints = { { addresses = { "10.1.2.3" }, nodeName = "A_b", hostname = "A_b" } },
})
slice("ports", {
    addressType = "IPv4", endpoints = core.array {},
    ports = {
        { name = "a", port = 80 }, { name = "a", port = 70000 }, { name = "A_b", protocol = "X" },
        { name = "b", appProtocol = "a b" },
    },
})
slice("topology", {
    addressType = "IPv4",
    endpoints = { { addresses = { "10.1.2.3" }, deprecatedTopology = { ["a b"] = "c d" } } },
})
slice("hints", {
    addressType = "IPv4",
    endpoints = {
        {
            addresses = { "10.1.2.3" },
            hints = { forZones = { { name = "a" }, { name = "a" }, {} } },
        },
    },
})
post("endpoints: addresses that are none", "/api/v1/namespaces/{ns}/endpoints?dryRun=All",
    of("v1", "Endpoints", "e", {
        subsets = {
            {
                addresses = { { ip = "x" }, { ip = "127.0.0.1" } },
                ports = { { port = 0 }, { port = 80 } },
            },
            {},
        },
    }))

local function lease(sentence, spec)
    post("lease: " .. sentence,
        "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases?dryRun=All",
        of("coordination.k8s.io/v1", "Lease", "l", { spec = spec }))
end
lease("of nobody", { holderIdentity = "" })
lease("of no time", { leaseDurationSeconds = 0 })
lease("of transitions below none", { leaseTransitions = -1 })
lease("a strategy that is none", { strategy = "x", preferredHolder = "a" })
lease("a holder that is preferred", { preferredHolder = "a" })

local function event(sentence, body)
    local made = {
        metadata = { namespace = "{ns}" },
        regarding = { kind = "Pod", name = "p", namespace = "{ns}" },
        eventTime = "2026-01-01T00:00:00.000000Z", reportingController = "a.b/c",
        reportingInstance = "i", action = "Act", reason = "Why", type = "Normal",
    }
    for name, value in pairs(body) do
        made[name] = value
    end
    post("event: " .. sentence, "/apis/events.k8s.io/v1/namespaces/{ns}/events?dryRun=All",
        of("events.k8s.io/v1", "Event", "e", made))
end
event("as it should be", {})
event("no controller", { reportingController = "" })
event("a controller that is none", { reportingController = "a b" })
event("no instance", { reportingInstance = "" })
event("no action", { action = "" })
event("no reason", { reason = "" })
event("a type that is none", { type = "Strange" })
event("a note that is long", { note = ("x"):rep(1025) })
event("long words", {
    action = ("x"):rep(129), reason = ("x"):rep(129), reportingInstance = ("x"):rep(129),
})
event("a series", { series = { count = 0, lastObservedTime = "2026-01-01T00:00:00.000000Z" } })
event("of another namespace", { regarding = { kind = "Pod", name = "p", namespace = "other" } })
event("of old fields", { deprecatedCount = 1, deprecatedSource = { component = "x" } })

return requests
