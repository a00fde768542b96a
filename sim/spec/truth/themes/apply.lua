-- Server-side apply: owners of fields, conflicts, force, lists with keys, what is given up.
local objects = require "objects"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local APPS = "/apis/apps/v1/namespaces/{ns}/deployments"
local requests = {}

local function apply(sentence, path, query, body, only)
    requests[#requests + 1] = {
        sentence, "PATCH " .. path .. "?"
            .. query, body, type = "application/apply-patch+yaml", only = only,
    }
    return requests[#requests]
end

local function map(data, more)
    local object = objects.configmap("one", more)
    object.data = data
    return object
end

apply(
    "makes an object", MAPS .. "/one", "fieldManager=a", map { a = "1", b = "1" }
).save = { rv = "metadata.resourceVersion" }
apply(
    "again changes nothing", MAPS .. "/one", "fieldManager=a", map { a = "1", b = "1" }
).save = { rv2 = "metadata.resourceVersion" }
apply("a change", MAPS .. "/one", "fieldManager=a", map { a = "2", b = "1" })
apply("what is left out is removed", MAPS .. "/one", "fieldManager=a", map { a = "2" })
apply("another manager adds", MAPS .. "/one", "fieldManager=b", map { c = "1" })
apply(
    "another manager with the same value shares it", MAPS .. "/one", "fieldManager=b",
    map { a = "2", c = "1" }
)
apply(
    "another manager with another value", MAPS .. "/one", "fieldManager=b", map { a = "3", c = "1" }
)
-- In which order it names them is left to chance.
apply("two conflicts", MAPS .. "/one", "fieldManager=d", map { a = "4", c = "4" }, "status")
apply("by force", MAPS .. "/one", "fieldManager=b&force=true", map { a = "3", c = "1" })
apply("the first has lost it", MAPS .. "/one", "fieldManager=a", map { a = "2" })
apply("gives up what it shares", MAPS .. "/one", "fieldManager=b", map { c = "1" })
apply("gives up all", MAPS .. "/one", "fieldManager=b", objects.configmap("one"))
apply("no manager", MAPS .. "/one", "", map { a = "1" })
apply("an empty manager", MAPS .. "/one", "fieldManager=", map { a = "1" })
apply("a dry run", MAPS .. "/one", "fieldManager=a&dryRun=All", map { dry = "1" })
apply(
    "YAML", MAPS .. "/one", "fieldManager=yaml",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  y: text\n"
)
apply("rubbish", MAPS .. "/one", "fieldManager=a", "a: [b", "status")
apply("nothing", MAPS .. "/one", "fieldManager=a", "")
apply("no kind", MAPS .. "/one", "fieldManager=a", { metadata = { name = "one" } })
apply("no name", MAPS .. "/one", "fieldManager=a", {
    apiVersion = "v1", kind = "ConfigMap", data = { n = "1" },
})
apply("another name", MAPS .. "/one", "fieldManager=a", objects.configmap("two"))
apply("another kind", MAPS .. "/one", "fieldManager=a", objects.pod("one"))
apply("another namespace", MAPS .. "/one", "fieldManager=a", objects.configmap("one", {
    metadata = { namespace = "default" },
}))
apply(
    "with managedFields", MAPS .. "/one", "fieldManager=a",
    [[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one",]]
        .. [["managedFields":[{"manager":"x","operation":"Apply","apiVersion":"v1",]]
        .. [["fieldsType":"FieldsV1","fieldsV1":{}}]}}]]
)
apply(
    "at an old version", MAPS .. "/one", "fieldManager=a",
    map({ a = "9" }, { metadata = { resourceVersion = "{rv}" } })
)
apply(
    "with a uid of nothing that is there", MAPS .. "/fresh", "fieldManager=a",
    objects.configmap("fresh", { metadata = { uid = "00000000-0000-0000-0000-000000000001" } })
)
apply(
    "with a version of nothing that is there", MAPS .. "/fresh", "fieldManager=a",
    objects.configmap("fresh", { metadata = { resourceVersion = "5" } })
)
apply("an unknown field", MAPS .. "/one", "fieldManager=a", {
    apiVersion = "v1", kind = "ConfigMap", metadata = { name = "one" }, nothing = 1,
})
apply("a wrong type", MAPS .. "/one", "fieldManager=a", {
    apiVersion = "v1", kind = "ConfigMap", metadata = { name = "one" }, data = "text",
})
apply(
    "a null", MAPS .. "/one", "fieldManager=a",
    [[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":null}}]]
)
apply("labels and finalizers", MAPS .. "/one", "fieldManager=meta", objects.configmap("one", {
    metadata = {
        labels = { x = "1" }, annotations = { y = "2" }, finalizers = { "example.com/a" },
    },
}))
apply("owners", MAPS .. "/one", "fieldManager=owner", objects.configmap("one", {
    metadata = {
        ownerReferences = { { apiVersion = "v1", kind = "ConfigMap", name = "x", uid = "u-1" } },
    },
}))
requests[#requests + 1] = {
    "an update after an apply", "PATCH " .. MAPS .. "/one?fieldManager=updater",
    { data = { a = "u", z = "u" } },
}
apply("conflicts with an update", MAPS .. "/one", "fieldManager=a", map { a = "mine" })
requests[#requests + 1] = {
    "an update takes all of it", "PUT " .. MAPS .. "/one?fieldManager=updater",
    objects.configmap("one", { data = { q = "1" } }),
}
requests[#requests + 1] = {
    "managed fields taken away", "PATCH " .. MAPS .. "/one?fieldManager=updater",
    [[{"metadata":{"managedFields":[{}]}}]],
}
apply("after that, one that was made by hand", MAPS .. "/one", "fieldManager=a", map { q = "2" })
requests[#requests + 1] = {
    "a PATCH keeps who applied", "PATCH " .. MAPS .. "/one?fieldManager=a",
    { data = { more = "1" } },
}

local function web(spec, more)
    return objects.deployment("web", { spec = spec, metadata = more })
end

apply("a deployment", APPS .. "/web", "fieldManager=a", web { replicas = 2 })
apply(
    "a container more by another", APPS .. "/web", "fieldManager=side",
    [[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},]]
        .. [["spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1",]]
        .. [["ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"}]}]}}}}]]
)
apply(
    "its image by the first", APPS .. "/web", "fieldManager=a",
    [[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},]]
        .. [["spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:2"}]}}}}]]
)
apply(
    "a container taken away", APPS .. "/web", "fieldManager=side",
    [[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},]]
        .. [["spec":{"paused":true}}]]
)
apply(
    "the same container twice", APPS .. "/web", "fieldManager=twice",
    [[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},]]
        .. [["spec":{"template":{"spec":{"containers":[{"name":"x"},{"name":"x"}]}}}}]]
)
apply(
    "a container without a name", APPS .. "/web", "fieldManager=twice",
    [[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},]]
        .. [["spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}]]
)
apply(
    "an unknown field of a deployment", APPS .. "/web", "fieldManager=a",
    [[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"nothing":1}}]]
)
apply("what cannot be valid", APPS .. "/web", "fieldManager=a&force=true", web { replicas = -1 })
apply(
    "its status", APPS .. "/web/status", "fieldManager=status",
    [[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},]]
        .. [["status":{"replicas":2,"conditions":[{"type":"Available","status":"True",]]
        .. [["lastUpdateTime":null,"lastTransitionTime":null}]}}]]
)
apply(
    "its scale", APPS .. "/web/scale", "fieldManager=scaler&force=true",
    [[{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web",]]
        .. [["namespace":"{ns}"},"spec":{"replicas":5}}]]
)
apply("its replicas, which the scaler has", APPS .. "/web", "fieldManager=a", web { replicas = 7 })
apply(
    "a service with ports", "/api/v1/namespaces/{ns}/services/web", "fieldManager=a",
    objects.of("v1", "Service", "web", {
        spec = {
            ports = { { port = 80, name = "http" }, { port = 443, name = "https" } },
            selector = { app = "web" },
        },
    })
)
apply(
    "a port of a service by another", "/api/v1/namespaces/{ns}/services/web", "fieldManager=b",
    [[{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},]]
        .. [["spec":{"ports":[{"port":53,"protocol":"UDP","name":"dns"}]}}]]
)
apply(
    "a port without its protocol is TCP", "/api/v1/namespaces/{ns}/services/web",
    "fieldManager=b&force=true",
    [[{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"},]]
        .. [["spec":{"ports":[{"port":80,"name":"web"}]}}]]
)
apply(
    "of a resource that is not there", "/api/v1/namespaces/{ns}/nothings/a", "fieldManager=a",
    objects.configmap("a")
)
apply(
    "in a namespace that is not there", "/api/v1/namespaces/none-{ns}/configmaps/a",
    "fieldManager=a", objects.configmap("a")
)
apply(
    "strictly", MAPS .. "/one", "fieldManager=a&fieldValidation=Strict",
    [[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"nothing":1}]]
)
apply(
    "a key twice", MAPS .. "/one", "fieldManager=a",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  y: a\n  y: b\n"
)

return requests
