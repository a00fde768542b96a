-- GET of one object and of lists: names, versions, selectors, pages.
local objects = require "objects"

local configmap = objects.configmap
local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local FUTURE = "999999999"

local requests = {}

local function ask(sentence, request, ...)
    requests[#requests + 1] = { sentence, request, ... }
    return requests[#requests]
end

for i, labels in ipairs {
    { app = "shop", tier = "web", size = "1" }, { app = "shop", tier = "db", size = "20" },
    { app = "mail" }, { app = "mail", tier = "web", empty = "" }, {},
} do
    local request = ask("made: map " .. i, "POST " .. MAPS,
        configmap("map-" .. i, { metadata = { labels = labels } }))
    request.save = { ["rv" .. i] = "metadata.resourceVersion" }
end

ask("an object", "GET " .. MAPS .. "/map-1")
ask("an object that is not there", "GET " .. MAPS .. "/nothing")
ask("an object of a namespace that is not there", "GET /api/v1/namespaces/none-{ns}/configmaps/a")
ask("an object without its namespace", "GET /api/v1/configmaps/map-1")
ask("an object of a resource that is not there", "GET /api/v1/namespaces/{ns}/nothings/a")
ask(
    "an object of a group that is not there",
    "GET /apis/none.example.com/v1/namespaces/{ns}/nothings/a"
)
ask("an object with a slash behind", "GET " .. MAPS .. "/map-1/")
ask("a subresource that is not there", "GET " .. MAPS .. "/map-1/status")
ask("a subresource of an object that is not there", "GET " .. MAPS .. "/nothing/status")
ask("an object in capitals", "GET " .. MAPS .. "/MAP-1")
ask("an object at version 0", "GET " .. MAPS .. "/map-1?resourceVersion=0")
ask("an object at its version", "GET " .. MAPS .. "/map-1?resourceVersion={rv1}")
ask(
    "an object at a version to come", "GET " .. MAPS .. "/map-1?resourceVersion=" .. FUTURE
).seconds = 8
ask("an object at a version that is none", "GET " .. MAPS .. "/map-1?resourceVersion=abc")
ask(
    "an object, with a match",
    "GET " .. MAPS .. "/map-1?resourceVersionMatch=Exact&resourceVersion={rv1}"
)
ask("an object, pretty", "GET " .. MAPS .. "/map-1?pretty=1").only = "headers"
ask("a kind of the cluster, with a namespace", "GET /api/v1/namespaces/{ns}/nodes")
ask("HEAD of an object", "HEAD " .. MAPS .. "/map-1").only = "headers"
ask("HEAD of a list", "HEAD " .. MAPS).only = "headers"
ask("OPTIONS", "OPTIONS " .. MAPS).only = "status"
ask("TRACE", "TRACE " .. MAPS).only = "status"
ask("a verb that nobody knows", "BREW " .. MAPS)
ask("a list of another method", "PUT " .. MAPS, {})
ask("a PATCH of a list", "PATCH " .. MAPS, {})

ask("a list", "GET " .. MAPS .. "?labelSelector=app")
ask("a list of nothing", "GET " .. MAPS .. "?labelSelector=none")
ask("a list of a namespace that is not there", "GET /api/v1/namespaces/none-{ns}/configmaps")
ask("a list with a slash behind", "GET " .. MAPS .. "/?labelSelector=app")

for _, selector in ipairs {
    "app=shop", "app==shop", "app!=shop", "app%20in%20(shop,mail)", "app%20notin%20(shop)", "tier",
    "!tier",
    "app=shop,tier=web", "app,!tier", "size%3E5", "size%3C5", "empty=", "app%20in%20()",
    "app%20in%20(,shop)",
} do
    ask("labels " .. selector, "GET " .. MAPS .. "?labelSelector=" .. selector)
end
-- The words are those of KubeLua, which point at the place.
for _, selector in ipairs {
    "app=a%20b", "app%20in%20(shop", "%3D", "a=b=c", ",", "app=shop,", "app%20like%20x",
    "size%3Ex", "/a=b", "a/b/c=d", "tier%20exists",
} do
    ask("labels " .. selector, "GET " .. MAPS .. "?labelSelector=" .. selector).only = "status"
end
for _, selector in ipairs {
    "metadata.name=map-1", "metadata.name==map-1", "metadata.name!=map-1",
    "metadata.namespace={ns}", "metadata.namespace=other",
    "data.a=1", "metadata.labels.app=x", "metadata.name", "metadata.name=map-1,metadata.name"
        .. "space={ns}", "metadata.name%20in%20(a)",
    "=", "metadata.name=a%5C,b", "metadata.name%3E1", "!metadata.name",
} do
    ask("fields " .. selector, "GET " .. MAPS .. "?fieldSelector=" .. selector)
end
for _, case in ipairs {
    { "pods", "spec.nodeName=" }, { "pods", "status.phase=Running" }, {
        "pods", "spec.restartPolicy=Always",
    },
    { "pods", "status.podIP=1.2.3.4" }, { "pods", "spec.schedulerName=x" }, {
        "pods", "spec.serviceAccountName=x",
    },
    {
        "pods", "status.nominatedNodeName=x",
    }, { "pods", "spec.hostNetwork=true" }, { "pods", "spec.containers=x" },
    {
        "events", "involvedObject.name=x",
    }, {
        "events", "reason=x,type=Normal",
    }, { "events", "reportingComponent=x" }, { "events", "source=x" },
    { "events", "message=x" }, { "secrets", "type=Opaque" }, {
        "services", "spec.type=ClusterIP",
    }, { "services", "spec.clusterIP=None" },
    { "replicationcontrollers", "status.replicas=0" }, { "serviceaccounts", "metadata.name=x" },
} do
    ask(("fields %s of %s"):format(case[2], case[1]),
        ("GET /api/v1/namespaces/{ns}/%s?fieldSelector=%s"):format(case[1], case[2]))
end
for _, case in ipairs {
    { "/api/v1/nodes", "spec.unschedulable=true" }, {
        "/api/v1/namespaces", "status.phase=Terminating1",
    },
    {
        "/apis/apps/v1/namespaces/{ns}/replicasets", "status.replicas=1",
    }, { "/apis/apps/v1/namespaces/{ns}/deployments", "status.replicas=1" },
    { "/apis/batch/v1/namespaces/{ns}/jobs", "status.successful=1" }, {
        "/apis/events.k8s.io/v1/namespaces/{ns}/events", "regarding.name=x",
    },
    { "/apis/certificates.k8s.io/v1/certificatesigningrequests", "spec.signerName=x" },
    { "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", "spec.holderIdentity=x" },
} do
    ask(
        ("fields %s of %s"):format(case[2], case[1]),
        ("GET %s?fieldSelector=%s"):format(case[1], case[2])
    )
end

return requests
