-- Verbs on a custom resource whose group the server's list leaves out, as that of a kube-apiserver
-- does for a moment after its start: the group is asked for by its name. 200: it is served; 503:
-- the server does not know yet, so the verb waits; only 404 says that there is no such group.
local expect_failure = require "expect_failure"
local fault_hits = require "fault_hits"
local Sim = require "kubelua.sim"
local core = require "kubelua.core"
local kubelua = require "kubelua"

local GROUP = "/apis/zoo.example.com"

local CRD = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: owls.zoo.example.com}
spec:
  group: zoo.example.com
  scope: Namespaced
  names: {plural: owls, kind: Owl, singular: owl, shortNames: [ow]}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}},
     schema: {openAPIV3Schema: {type: object}}}
  - {name: v1beta1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
]]

local OWL = { apiVersion = "zoo.example.com/v1", kind = "Owl", metadata = { name = "hedwig" } }

local UNKNOWN = "the server serves no resource \"%s\", and nothing of the group %s: install its "
    .. "CRD (CustomResourceDefinition) or API server"

local cluster, client

-- The next list of groups has no custom resources. `form`: "aggregated" or "old".
local function leave_out_groups(form)
    local is_old = form == "old"
    cluster:fail { path = "/apis", status = 200, content_type = "application/json",
        body = is_old and '{"kind":"APIGroupList","groups":[{"name":"apps","versions":'
            .. '[{"version":"v1"}],"preferredVersion":{"version":"v1"}}]}'
            or '{"kind":"APIGroupDiscoveryList","items":[]}' }
end

-- The next verb that needs discovery asks the server again, though its last reply is recent.
local function doubt_discovery()
    assert(client:apply { apiVersion = "apiextensions.k8s.io/v1",
        kind = "CustomResourceDefinition", metadata = { name = "owls.zoo.example.com",
        labels = { touched = "yes" } } })
end

local function count_requests(path)
    local count = 0
    for _, request in ipairs(cluster:requests()) do
        count = count + (request.path == path and 1 or 0)
    end
    return count
end

before_each(function()
    cluster = assert(Sim.new())
    assert(cluster:apply(CRD))
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
end)

describe("a group that the server's list leaves out", function()
    it("is asked for by its name, once", function()
        for _, form in ipairs { "aggregated", "old" } do
            client:close()
            client = assert(cluster:connect())
            cluster:clear_requests()
            leave_out_groups(form)
            assert.equal("Owl", assert(client:apply(OWL)).kind)
            assert.equal(1, #assert(client:list("owls.zoo.example.com")))
            assert.equal("hedwig", assert(client:get("zoo.example.com/v1beta1/Owl", "hedwig")).name)
            assert(client:get("ow", "hedwig"))
            assert.equal(1, count_requests(GROUP), form)
        end
    end)

    it("is waited for while the server answers 503", function()
        leave_out_groups("aggregated")
        local id = cluster:fail { path = GROUP, status = 503, count = 3, retry_after = 5,
            message = "not all paths are installed" }
        local began = core.now()
        assert.equal("Owl", assert(client:apply(OWL, { timeout = 20 })).kind)
        assert.is_true(core.now() - began < 4)
        assert.is_nil(fault_hits(cluster, id))
    end)

    it("is waited for while its answer is late", function()
        leave_out_groups("aggregated")
        cluster:delay { path = GROUP, before = 0.3 }
        assert.equal("Owl", assert(client:apply(OWL, { timeout = 20 })).kind)
    end)

    it("is asked again when its answer does not come in 5 seconds", function()
        leave_out_groups("aggregated")
        cluster:freeze { path = GROUP }
        assert.equal("Owl", assert(client:apply(OWL, { timeout = 20 })).kind)
        assert.equal(1, count_requests(GROUP)) -- one without an answer is not in the list
    end)

    it("is asked for once by all verbs that need it", function()
        leave_out_groups("aggregated")
        local id = cluster:freeze { path = GROUP, count = 0 }
        local one = kubelua.spawn(client.list, client, "owls.zoo.example.com", { timeout = 0.5 })
        local other = kubelua.spawn(client.apply, client, OWL, { timeout = 0.5 })
        expect_failure(GROUP .. " has not answered", "timeout", one:wait())
        expect_failure(GROUP .. " has not answered", "timeout", other:wait())
        assert.equal(1, fault_hits(cluster, id))
    end)

    it("delays no verb on other kinds", function()
        assert(cluster:apply((CRD:gsub("zoo", "pond"):gsub("owl", "newt"):gsub("Owl", "Newt")
            :gsub("%[ow%]", "[ne]"))))
        leave_out_groups("aggregated")
        cluster:freeze { path = GROUP, count = 0 }
        local stuck = kubelua.spawn(client.apply, client, OWL, { timeout = 1 })
        assert.same({}, assert(client:list("newts.pond.example.com", { timeout = 0.9 })))
        expect_failure("has not answered", "timeout", stuck:wait())
    end)

    it("stays known when the list is read again", function()
        leave_out_groups("aggregated")
        assert(client:apply(OWL))
        doubt_discovery()
        leave_out_groups("aggregated")
        expect_failure("no resource", "unknown_kind", client:list("newts"))
        cluster:clear_requests()
        assert.equal(1, #assert(client:list("owls")))
        assert.equal(0, count_requests(GROUP))
    end)

    it("is unknown again when its definition was deleted", function()
        leave_out_groups("aggregated")
        assert(client:apply(OWL))
        doubt_discovery()
        assert(cluster:delete("customresourcedefinitions", "owls.zoo.example.com"))
        expect_failure(UNKNOWN:format("owls.zoo.example.com", "zoo.example.com"), "unknown_kind",
            client:list("owls.zoo.example.com"))
        expect_failure("no resource \"owls\"", "unknown_kind", client:list("owls"))
    end)

    it("is asked again for a version whose answer broke off", function()
        leave_out_groups("aggregated")
        cluster:cut { path = GROUP .. "/v1", count = 0 }
        local _, _, code = client:list("owls.zoo.example.com", { timeout = 8 })
        assert.is_true(code == "unavailable" or code == "timeout", code)
        cluster:heal()
        leave_out_groups("aggregated")
        assert.same({}, assert(client:list("owls.zoo.example.com", { timeout = 8 })))
    end)

    it("gets its new kinds when a verb asks for one", function()
        leave_out_groups("aggregated")
        assert(client:apply(OWL))
        assert(client:apply((CRD:gsub("owl", "newt"):gsub("Owl", "Newt"):gsub("%[ow%]", "[ne]"))))
        leave_out_groups("aggregated")
        assert.same({}, assert(client:list("newts.zoo.example.com")))
        assert.equal(1, #assert(client:list("owls")))
    end)
end)

describe("a group that the server does not have", function()
    it("is an unknown kind at once, and is asked for once", function()
        cluster:clear_requests()
        for _ = 1, 2 do
            expect_failure(UNKNOWN:format("newts.pond.example.com", "pond.example.com"),
                "unknown_kind", client:list("newts.pond.example.com", { timeout = 20 }))
            expect_failure(UNKNOWN:format("pond.example.com/v1/Newt", "pond.example.com"),
                "unknown_kind", client:apply { apiVersion = "pond.example.com/v1", kind = "Newt",
                    metadata = { name = "a" } })
        end
        assert.equal(1, count_requests("/apis/pond.example.com"))
        doubt_discovery()
        expect_failure("no resource", "unknown_kind", client:list("newts.pond.example.com"))
        assert.equal(2, count_requests("/apis/pond.example.com"))
    end)

    it("is one that may not be seen, or that something else answers for", function()
        for _, fault in ipairs { { status = 403 }, { status = 404 },
            { status = 200, body = '{"kind":"Welcome"}', content_type = "application/json" },
            { status = 200, body = '{"kind":"APIGroup","versions":5}',
                content_type = "application/json" } } do
            client:close()
            client = assert(cluster:connect())
            cluster:heal()
            leave_out_groups("aggregated")
            fault.path = GROUP
            cluster:fail(fault)
            expect_failure(UNKNOWN:format("owls.zoo.example.com", "zoo.example.com"),
                "unknown_kind", client:list("owls.zoo.example.com"))
        end
    end)

    it("gets into no path if it is no DNS name", function()
        cluster:clear_requests()
        for _, name in ipairs { "owls.zoo example.com", "owls.zoo.com\r\nHost: evil.example",
            "zoo.com?x=/v1/Owl", "owls.zoo.com#x", "owls.%2e%2e.com", "owls.z\195\182.com",
            "owls...", "owls..zoo.com", "../v1/Owl", "owls.zoo.com.", "owls.-zoo.com",
            "owls." .. ("a."):rep(200) .. "com" } do
            expect_failure("", "unknown_kind", client:list(name))
        end
        for _, request in ipairs(cluster:requests()) do
            assert.truthy(request.path == "/api" or request.path == "/apis", request.path)
        end
    end)
end)

describe("a server that does not know its groups", function()
    it("is reported, with the remedy, when the time of the verb is over", function()
        leave_out_groups("aggregated")
        local id = cluster:fail { path = GROUP, status = 503, count = 0,
            message = "not all paths are installed" }
        local began = core.now()
        local _, message, code = client:apply(OWL, { timeout = 1 })
        assert.is_true(core.now() - began >= 0.99)
        assert.equal("unavailable", code, message)
        assert.truthy(message:find("does not know yet if it serves the group zoo.example.com", 1,
            true), message)
        assert.truthy(message:find("not all paths are installed", 1, true), message)
        assert.truthy(message:find("kubectl get --raw '/readyz?verbose'", 1, true), message)
        local hits = fault_hits(cluster, id)
        assert.is_true(hits >= 3 and hits <= 8, hits)
        cluster:heal()
        assert.equal("Owl", assert(client:apply(OWL)).kind)
    end)

    it("is no reason to wait if it answers with another error", function()
        leave_out_groups("aggregated")
        cluster:fail { path = GROUP, status = 500, count = 0 }
        local began = core.now()
        local object = client:apply(OWL, { timeout = 20 })
        assert.is_nil(object)
        assert.is_true(core.now() - began < 10)
        cluster:heal()
        assert.equal("Owl", assert(client:apply(OWL)).kind)
    end)

    it("ends a wait with the run, and the next verb asks again", function()
        leave_out_groups("aggregated")
        local id = cluster:fail { path = GROUP, status = 503, count = 0 }
        local asked = kubelua.spawn(client.apply, client, OWL)
        kubelua.spawn(function()
            assert(cluster:eventually(function() return fault_hits(cluster, id) > 1 end))
            kubelua.stop()
        end)
        kubelua.run(20)
        expect_failure("", "canceled", asked:wait())
        cluster:heal()
        assert.equal("Owl", assert(client:apply(OWL)).kind)
    end)
end)
