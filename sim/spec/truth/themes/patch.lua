-- PATCH: JSON patch and merge patch; media types and failures.
local core = require "kubelua.core"
local objects = require "objects"

local MAPS = "/api/v1/namespaces/{ns}/configmaps"
local ONE = "PATCH " .. MAPS .. "/one"
local WEB = "PATCH /apis/apps/v1/namespaces/{ns}/deployments/web"
local JSON, MERGE = "application/json-patch+json", "application/merge-patch+json"

local CONTAINERS = {
    objects.container {
        env = { { name = "A", value = "1" }, { name = "B", value = "2" } },
        ports = { { containerPort = 80 }, { containerPort = 443 } },
    },
    { name = "side", image = "side:1", args = { "a", "b" } },
}

local requests = {
    {
        "made", "POST " .. MAPS,
        objects.configmap("one", {
            data = { a = "1", b = "2" },
            metadata = { labels = { app = "shop" }, annotations = { note = "x" } },
        }),
        save = { rv = "metadata.resourceVersion", uid = "metadata.uid" },
    },
    {
        "made: a deployment", "POST /apis/apps/v1/namespaces/{ns}/deployments",
        objects.deployment("web", { spec = { template = { spec = { containers = CONTAINERS } } } }),
    },
}

local function ask(media, target, sentence, body, only)
    requests[#requests + 1] = { sentence, target, body, type = media, only = only }
end

ask(JSON, ONE, "json: add", '[{"op":"add","path":"/data/c","value":"3"}]')
ask(JSON, ONE, "json: add over", '[{"op":"add","path":"/data/c","value":"4"}]')
ask(JSON, ONE, "json: replace", '[{"op":"replace","path":"/data/c","value":"5"}]')
ask(
    JSON, ONE, "json: replace what is not there",
    '[{"op":"replace","path":"/data/none","value":"5"}]'
)
ask(JSON, ONE, "json: remove", '[{"op":"remove","path":"/data/c"}]')
ask(JSON, ONE, "json: remove what is not there", '[{"op":"remove","path":"/data/c"}]')
ask(
    JSON, ONE, "json: test",
    '[{"op":"test","path":"/data/a","value":"1"},{"op":"replace","path":"/data/a","value":"2"}]'
)
ask(
    JSON, ONE, "json: test that fails",
    '[{"op":"test","path":"/data/a","value":"9"},{"op":"replace","path":"/data/a","value":"3"}]'
)
ask(JSON, ONE, "json: test of what is not there", '[{"op":"test","path":"/data/zz","value":"9"}]')
ask(JSON, ONE, "json: test for null", '[{"op":"test","path":"/data/zz","value":null}]')
ask(JSON, ONE, "json: copy", '[{"op":"copy","from":"/data/a","path":"/data/d"}]')
ask(
    JSON, ONE, "json: copy of what is not there",
    '[{"op":"copy","from":"/data/none","path":"/data/d"}]'
)
ask(JSON, ONE, "json: move", '[{"op":"move","from":"/data/d","path":"/data/e"}]')
ask(
    JSON, ONE, "json: move of what is not there",
    '[{"op":"move","from":"/data/d","path":"/data/e"}]'
)
ask(
    JSON, ONE, "json: into what is not there", '[{"op":"add","path":"/binaryData/x/y","value":"1"}]'
)
ask(
    JSON, ONE, "json: escapes",
    '[{"op":"add","path":"/metadata/annotations/example.com~1a~0b","value":"1"}]', "status"
)
ask(
    JSON, ONE, "json: an escaped label",
    '[{"op":"add","path":"/metadata/labels/example.com~1a","value":"1"}]'
)
ask(JSON, ONE, "json: an operation that is none", '[{"op":"swap","path":"/data/a"}]')
ask(JSON, ONE, "json: no path", '[{"op":"add","value":"1"}]')
ask(JSON, ONE, "json: no value", '[{"op":"add","path":"/data/a"}]')
ask(JSON, ONE, "json: no operation", '[{"path":"/data/a","value":"1"}]')
ask(JSON, ONE, "json: an object", '{"op":"add","path":"/data/a","value":"1"}')
ask(JSON, ONE, "json: rubbish", '[{')
ask(JSON, ONE, "json: nothing", "")
ask(JSON, ONE, "json: an empty array", "[]")
ask(JSON, ONE, "json: the whole", '[{"op":"replace","path":"","value":{}}]')
ask(JSON, ONE, "json: the name", '[{"op":"replace","path":"/metadata/name","value":"two"}]')
ask(JSON, ONE, "json: a number into data", '[{"op":"add","path":"/data/n","value":1}]')
ask(
    JSON, ONE, "json: the version",
    '[{"op":"replace","path":"/metadata/resourceVersion","value":"1"}]'
)
ask(
    JSON, WEB, "json: into an array",
    '[{"op":"add","path":"/spec/template/spec/containers/0/env/1","value":{"name":"C","value'
        .. '":"3"}}]'
)
ask(
    JSON, WEB, "json: behind an array",
    '[{"op":"add","path":"/spec/template/spec/containers/0/env/-","value":{"name":"D","value'
        .. '":"4"}}]'
)
ask(
    JSON, WEB, "json: an index too large",
    '[{"op":"add","path":"/spec/template/spec/containers/0/env/9","value":{"name":"E"}}]'
)
ask(
    JSON, WEB, "json: an index that is none",
    '[{"op":"add","path":"/spec/template/spec/containers/x","value":{}}]'
)
ask(
    JSON, WEB, "json: a negative index",
    '[{"op":"remove","path":"/spec/template/spec/containers/0/env/-1"}]'
)
ask(
    JSON, WEB, "json: out of an array",
    '[{"op":"remove","path":"/spec/template/spec/containers/0/env/1"}]'
)
ask(
    JSON, WEB, "json: an index with a zero before",
    '[{"op":"replace","path":"/spec/template/spec/containers/00/image","value":"x"}]'
)

ask(MERGE, ONE, "merge: a field", { data = { a = "m" } })
ask(MERGE, ONE, "merge: null removes", '{"data":{"b":null}}')
ask(MERGE, ONE, "merge: null of what is not there", '{"data":{"zz":null}}')
ask(MERGE, ONE, "merge: null of a whole", '{"metadata":{"annotations":null}}')
ask(MERGE, ONE, "merge: nothing", "{}")
ask(MERGE, ONE, "merge: an array", "[]")
ask(MERGE, ONE, "merge: rubbish", "{")
ask(MERGE, ONE, "merge: no body", "")
ask(MERGE, ONE, "merge: another name", { metadata = { name = "two" } })
ask(MERGE, ONE, "merge: another namespace", { metadata = { namespace = "other" } })
ask(MERGE, ONE, "merge: another kind", { kind = "Secret" })
ask(MERGE, ONE, "merge: another version of the API", { apiVersion = "v2" })
ask(MERGE, ONE, "merge: an old version", { metadata = { resourceVersion = "{rv}" } })
ask(MERGE, ONE, "merge: another uid", {
    metadata = { uid = "00000000-0000-0000-0000-000000000001" },
})
ask(MERGE, ONE, "merge: a wrong type", { data = "text" })
ask(MERGE, ONE, "merge: an unknown field", { nothing = "text" })
ask(MERGE, "PATCH " .. MAPS .. "/none", "merge: of what is not there", { data = { a = "m" } })
ask(MERGE, ONE .. "?dryRun=All", "merge: a dry run", { data = { dry = "m" } })
ask(MERGE, ONE .. "?force=true", "merge: with force", { data = { a = "m" } })
ask(MERGE, ONE .. "?fieldManager=me", "merge: as a manager", { data = { mine = "m" } })
ask(MERGE, WEB, "merge: arrays are replaced", {
    spec = { template = { spec = { containers = { { name = "only", image = "only:1" } } } } },
})
ask(MERGE, WEB, "merge: objects in a field of the status", { status = { replicas = 9 } })

ask("application/json", ONE, "a media type that is no patch", { data = {} })
ask("text/plain", ONE, "a media type that nobody reads", "x")
ask("", ONE, "no media type", "{}")
ask("application/merge-patch+json; charset=utf-8", ONE, "a media type with a parameter", {
    data = { p = "1" },
})
ask(
    "application/apply-patch+json", ONE .. "?fieldManager=x", "the JSON of an apply that is none",
    "{}"
)
ask(MERGE, "PATCH /api/v1/namespaces/{ns}/nothings/a", "of a resource that is not there", "{}")
ask(MERGE, "PATCH " .. MAPS .. "/one/nothing", "of a subresource that is not there", "{}")
ask(
    JSON, ONE, "json: very many operations",
    "[" .. ('{"op":"test","path":"/kind","value":"ConfigMap"},'):rep(10001):sub(1, -2) .. "]"
)
ask(MERGE, ONE, "merge: an empty array of owners", {
    metadata = { ownerReferences = core.array {} },
})

return requests
