-- Answers in protobuf: for which requests, of which kinds, and their content.
local objects = require "objects"
local webs = require "webs"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local PODS = "/api/v1/namespaces/{ns}/pods"
local DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
local WATCH = "WATCH " .. MAPS .. "?watch=true&timeoutSeconds=1&"
local PROTOBUF = "application/vnd.kubernetes.protobuf"
local STREAM = PROTOBUF .. ";stream=watch"
local TABLE = ";as=Table;g=meta.k8s.io;v=v1"
local PARTIAL = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
local PARTIALS = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
local DISCOVERY = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
local requests = {}

local function ask(sentence, request, body, accept)
    requests[#requests + 1] = { sentence, request, body, headers = { Accept = accept or PROTOBUF } }
    return requests[#requests]
end

-- Writes.
ask("made", "POST " .. MAPS, objects.configmap("a", {
    data = { z = "1", a = "2" }, binaryData = { b = "AAEC", empty = "" }, immutable = false,
})).save = { rv = "metadata.resourceVersion" }
ask("made once more", "POST " .. MAPS, objects.configmap("a"))
ask("made wrongly", "POST " .. MAPS, objects.configmap("A!"))
ask("written over", "PUT " .. MAPS .. "/a", objects.configmap("a", { data = { z = "ä" } }))
ask("patched", "PATCH " .. MAPS .. "/a", { metadata = { labels = { x = "y" } } })
ask("applied", "PATCH " .. MAPS .. "/a?fieldManager=me", {
    apiVersion = "v1", kind = "ConfigMap", data = { more = "1" },
}).type = "application/apply-patch+yaml"
ask("another", "POST " .. MAPS, objects.configmap("b"))
ask("a pod with all sorts of fields", "POST " .. PODS, objects.pod("p", {
    metadata = { annotations = { b = "1", a = "2" }, finalizers = { "example.com/keep" } },
    spec = {
        containers = {
            {
                name = "app", image = "app:1", resources = {
                    limits = { memory = "1024Mi", cpu = "0.5" },
                },
                livenessProbe = { httpGet = { path = "/", port = "web" } },
                readinessProbe = { tcpSocket = { port = 80 } },
                env = {
                    { name = "A", value = "" },
                    { name = "B", valueFrom = { resourceFieldRef = { resource = "limits.cpu" } } },
                },
                volumeMounts = { { name = "tmp", mountPath = "/tmp" } },
            },
        },
        volumes = {
            { name = "tmp", emptyDir = { sizeLimit = "1Gi" } },
            { name = "host", hostPath = { path = "/" } },
        },
        tolerations = { { operator = "Exists", tolerationSeconds = 0, effect = "NoExecute" } },
        securityContext = { runAsUser = 0, sysctls = {} },
        terminationGracePeriodSeconds = 0,
    },
}))
ask("a deployment", "POST " .. DEPLOYMENTS, objects.deployment("d", { spec = { replicas = 0 } }))
ask("its scale", "GET " .. DEPLOYMENTS .. "/d/scale")
ask("may I", "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
    spec = { resourceAttributes = { verb = "get", resource = "pods" } },
}).only = "headers"

-- Lists and what they are negotiated to.
for _, accept in ipairs {
    PROTOBUF, PROTOBUF .. ",application/json", "application/json;q=0.1," .. PROTOBUF,
    PROTOBUF .. ";q=0.1,application/yaml;q=0.5", "application/json," .. PROTOBUF,
    "foo/bar," .. PROTOBUF, STREAM, PROTOBUF .. ";stream=other",
    PROTOBUF .. ";stream=other,application/json", PROTOBUF .. ";charset=utf-8",
    PROTOBUF .. TABLE, PROTOBUF .. TABLE .. "," .. PROTOBUF,
    PROTOBUF .. TABLE .. ",application/json", PROTOBUF .. PARTIAL, PROTOBUF .. PARTIALS,
    PROTOBUF .. ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1",
    PROTOBUF .. ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v9",
    PROTOBUF .. ";pretty=1", "application/*", "*/*", "*/*," .. PROTOBUF,
} do
    local only = accept:match("yaml") and "headers" or nil
    ask("a list as " .. accept, "GET " .. MAPS, nil, accept).only = only
    ask("an object as " .. accept, "GET " .. MAPS .. "/b", nil, accept).only = only
    ask("what is not there as " .. accept, "GET " .. MAPS .. "/none", nil, accept)
    ask("a watch as " .. accept, WATCH .. "resourceVersion={rv}", nil, accept).events = 2
end
ask("a page", "GET " .. MAPS .. "?limit=1").save = { more = "metadata.continue" }
ask("the page after it", "GET " .. MAPS .. "?limit=1&continue={more}")
ask("a list without items", "GET " .. MAPS .. "?labelSelector=no=one")
ask("a list of all namespaces", "GET /api/v1/configmaps?fieldSelector=metadata.namespace={ns}")
ask("a list from an old version", "GET " .. MAPS .. "?resourceVersion=0&resourceVersionMatch=x")
ask("pretty, which it is not", "GET " .. MAPS .. "?pretty=true")

-- Watches.
ask("all events from a version on", WATCH .. "resourceVersion={rv}").events = 4
ask("events in frames alone", WATCH .. "resourceVersion={rv}", nil, STREAM).events = 4
ask(
    "initial events and their end",
    WATCH .. "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
).events = 4
ask(
    "initial events of metadata", WATCH .. "sendInitialEvents=true"
        .. "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", nil, PROTOBUF .. PARTIAL
).events = 4
ask("a watch that asks wrongly", WATCH .. "sendInitialEvents=true")
ask("a watch by its name", "WATCH /api/v1/watch/namespaces/{ns}/configmaps/b?timeoutSeconds=1")
    .events = 1

-- What is deleted.
ask("deleted, and why not", "DELETE " .. MAPS .. "/b", { preconditions = { uid = "no" } })
ask("deleted", "DELETE " .. MAPS .. "/b")
ask("on its way", "DELETE " .. PODS .. "/p", { gracePeriodSeconds = 5 })
ask("all of them", "DELETE " .. MAPS .. "?labelSelector=x=y")
ask("the events of it", WATCH .. "resourceVersion={rv}").events = 5

-- Custom resources, and their definition.
local definition = webs.define("webs", "Web", {
    names = { plural = "webs", singular = "web", kind = "Web", listKind = "WebList" },
    versions = {
        {
            name = "v1", served = true, storage = true,
            additionalPrinterColumns = {
                { name = "Image", type = "string", jsonPath = ".spec.image" },
            },
            schema = {
                openAPIV3Schema = {
                    type = "object", properties = {
                        spec = {
                            type = "object", additionalProperties = { type = "string" },
                            default = { image = "none" }, maxProperties = 3,
                        },
                        list = { type = "array", items = { type = "integer", enum = { 1, 2 } } },
                        real = { type = "number", minimum = 0.5, multipleOf = 0.25 },
                        either = { ["x-kubernetes-int-or-string"] = true },
                    },
                },
            },
        },
    },
})
ask("a definition", "POST " .. webs.definitions, definition)
ask("it is served", "GET " .. webs.path, nil, "application/json").wait = 200
ask("the definition", "GET " .. webs.definition)
ask("a web", "POST " .. webs.path, webs.object("one", { image = "a" }), "application/json")
for _, accept in ipairs {
    PROTOBUF, PROTOBUF .. ",application/json", STREAM, PROTOBUF .. PARTIAL, PROTOBUF .. PARTIALS,
    PROTOBUF .. TABLE,
} do
    ask("webs as " .. accept, "GET " .. webs.path, nil, accept)
    ask("a web as " .. accept, "GET " .. webs.path .. "/one", nil, accept)
    ask("no web as " .. accept, "GET " .. webs.path .. "/none", nil, accept)
    ask(
        "a watch of webs as " .. accept, "WATCH " .. webs.path .. "?watch=true&timeoutSeconds=1",
        nil, accept
    ).events = 1
end
ask("a web that is made", "POST " .. webs.path, webs.object("two", { image = "a" }))
ask("a web that is deleted", "DELETE " .. webs.path .. "/one")
ask("no definition any more", "DELETE " .. webs.definition).only = "headers"

-- Outside of resources.
ask("what is not served", "GET /api/v1/namespaces/{ns}/nothing")
ask("a method that is not taken", "PUT " .. MAPS)
for _, path in ipairs {
    "/api", "/apis/apps", "/apis/apps/v1", "/apis/none", "/apis/apps/v9", "/version", "/healthz",
} do
    ask(path .. " as protobuf", "GET " .. path)
end
ask("the resources of the core", "GET /api/v1").only = "headers"
ask("the groups", "GET /apis").only = "headers"
ask("groups with their resources", "GET /apis", nil, PROTOBUF .. DISCOVERY).only = "headers"
ask("the core with its resources", "GET /api", nil, PROTOBUF .. DISCOVERY).only = "headers"
ask("groups as YAML", "GET /apis", nil, "application/yaml" .. DISCOVERY).only = "headers"
ask(
    "groups as the first that is taken", "GET /apis", nil,
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," .. PROTOBUF
).only = "headers"

return requests
