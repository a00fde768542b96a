-- How verbs find kinds: by the same names as informers, with either form of discovery, and with a
-- server that answers discovery with nonsense.
local Sim = require "kubelua.sim"
local verbs = require "kubelua.verbs"

local CRDS = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: foos, kind: Foo, singular: foo, shortNames: [fo]}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}},
     schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: services.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {plural: services, kind: Service}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
]]

local NAMES = { "pods", "po", "Pod", "pod", "v1/Pod", "v1/pods", "svc", "services", "ev", "events",
    "events.events.k8s.io", "deploy", "deployments.apps", "deployments.v1.apps", "deploy.apps",
    "apps/v1/Deployment", "apps/deployments", "apps/v1/deployments", "hpa", "autoscaling/v2/hpa",
    "horizontalpodautoscalers.v2.autoscaling", "nodes", "no", "foos", "foo", "Foo", "fo",
    "foos.example.com", "foos.example", "foos.v1beta1.example.com", "example.com/v1/Foo",
    "example.com/v1beta1/Foo", "example.com/foos", "services.example.org", "Service.example.org",
    "example.org/v1/Service", "crd", "netpol", "leases.coordination.k8s.io", "pods.v1",
    "services.v1.", "Service.v1.",
    "podz", "foos.example.net", "", "a/b/c/d", "pods/log", "v1/Podd", "apps/v1/Pod" }

local cluster, client

before_each(function()
    cluster = assert(Sim.new())
    assert(cluster:apply(CRDS))
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
end)

-- The path that an informer watches, or the code of its failure.
local function watched(name)
    cluster:clear_requests()
    local code
    local informer = assert(client:informer(name))
    informer:on { synced = function() code = "synced" end, error = function(_, why) code = why end }
    assert(cluster:eventually(function() return code end))
    informer:stop()
    for _, request in ipairs(cluster:requests()) do
        if request.verb == "watch" or request.verb == "list" then
            return request.path
        end
    end
    return code
end

-- The path that a verb requests.
local function listed(name)
    cluster:clear_requests()
    local _, _, code = client:list(name)
    for _, request in ipairs(cluster:requests()) do
        if request.verb == "list" then
            return request.path
        end
    end
    return code
end

describe("a name means for a verb", function()
    it("the same kind as for an informer", function()
        local found, expected = {}, {}
        for _, name in ipairs(NAMES) do
            if name ~= "" then
                found[name], expected[name] = listed(name), watched(name)
            end
        end
        assert.same(expected, found)
        assert.equal("/apis/example.com/v1/foos", found["foos.example"])
        assert.equal("unknown_kind", found.podz)
        assert.equal("/api/v1/services", found["services.v1."])
    end)

    it("the same if the server has only the old form of discovery", function()
        local expected = {}
        for _, name in ipairs(NAMES) do
            expected[name] = listed(name)
        end
        local other = assert(cluster:connect())
        cluster:fail { path = "/api", status = 406 }
        cluster:fail { path = "/apis", status = 406 }
        client, other = other, client
        other:close()
        cluster:clear_requests()
        assert.equal("not_found", (select(3, client:get("foos", "x"))))
        assert.equal(1, #cluster:requests { path = "/apis/apps/v1" })
        for _, name in ipairs(NAMES) do
            assert.equal(expected[name], listed(name), name)
        end
    end)

    it("what its kind can do", function()
        local foo = assert(verbs.kind(client, "foos"))
        assert.equal("example.com/v1", foo.api_version)
        assert.equal("example.com", foo.group)
        assert.equal("v1", foo.version)
        assert.equal("Foo", foo.kind)
        assert.equal("foos", foo.plural)
        assert.is_true(foo.namespaced)
        assert.is_true(foo.has_status)
        assert.same({ status = true }, foo.subresources)
        assert.is_false(assert(verbs.kind(client, "services.example.org")).namespaced)
        assert.is_false(assert(verbs.kind(client, "example.com/v1beta1/Foo")).has_status)
        assert.is_true(assert(verbs.kind(client, "deploy")).has_status)
        assert.is_false(assert(verbs.kind(client, "cm")).has_status)
    end)
end)

describe("a discovery", function()
    local function answer(body)
        cluster:heal()
        cluster:fail { path = "/api", status = 200, body = body, count = 0,
            content_type = "application/json" }
    end

    it("with nonsense has no kinds, and raises nothing", function()
        for _, body in ipairs {
            '{"kind":"APIGroupDiscoveryList","items":null}',
            '{"kind":"APIGroupDiscoveryList","items":5}',
            '{"kind":"APIGroupDiscoveryList","items":[null,5,"x",{},{"metadata":null},'
                .. '{"metadata":{"name":5},"versions":null},{"metadata":{"name":"g"},"versions":'
                .. '[null,5,{},{"version":"v1","resources":null},{"version":"v1","resources":'
                .. '[null,5,{},{"resource":"bars","responseKind":null,"shortNames":null},'
                .. '{"resource":"bars","responseKind":{"kind":5},"shortNames":[5,null],'
                .. '"subresources":[null,5,{"subresource":null}],"verbs":5}]}]}]}',
            '{"kind":"APIVersions","versions":null}',
            '{"kind":"APIVersions","versions":[null,5]}',
            '{"kind":"APIGroupList","groups":null}',
            '{"kind":"APIGroupList","groups":[null,5,{},{"name":"g","versions":[5,null,{}],'
                .. '"preferredVersion":null}]}',
        } do
            client:close()
            client = assert(cluster:connect())
            answer(body)
            local _, message, code = client:get("bars", "x")
            assert.equal("unknown_kind", code, message)
        end
    end)

    it("with another kind is reported", function()
        answer('{"kind":"PodList","items":[]}')
        local _, message, code = client:get("bars", "x")
        assert.equal("parse", code)
        assert.truthy(message:find('"PodList": is this a Kubernetes API server?', 1, true), message)
    end)

    it("that is forbidden is reported", function()
        cluster:fail { path = "/api", status = 403, count = 0 }
        local _, _, code = client:get("bars", "x")
        assert.equal("forbidden", code)
        cluster:heal()
        assert.equal("not_found", (select(3, client:get("foos", "x"))))
    end)

    it("names a group whose API server does not answer", function()
        cluster:fail { path = "/apis", status = 406 }
        cluster:fail { path = "/apis/batch/v1", status = 503 }
        local _, message, code = client:get("bars", "x")
        assert.equal("unknown_kind", code)
        assert.truthy(message:find("it does not know batch/v1", 1, true), message)
        assert(client:list("foos"))
    end)
end)
