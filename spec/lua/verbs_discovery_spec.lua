-- Discovery of a server that hangs in part, or has very many groups: a group that hangs costs only
-- its own kinds, and a call ends by its timeout.
local expect_failure = require "expect_failure"
local fault_hits = require "fault_hits"
local Sim = require "kubelua.sim"
local core = require "kubelua.core"
local kubelua = require "kubelua"

local CRD = [[
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: PLURAL.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: PLURAL, kind: KIND, singular: SINGULAR}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
]]

local cluster, client

local function define(singular, group)
    local kind = singular:sub(1, 1):upper() .. singular:sub(2)
    assert(cluster:apply((CRD:gsub("PLURAL", singular .. "s"):gsub("GROUP", group)
        :gsub("SINGULAR", singular):gsub("KIND", kind))))
end

-- The next discovery has the old form.
local function answer_in_old_form()
    cluster:fail { path = "/api", status = 406 }
    cluster:fail { path = "/apis", status = 406 }
end

before_each(function()
    cluster = assert(Sim.new())
    for i, group in ipairs { "asleep.example", "early.example", "late.example" } do
        define(({ "cat", "dog", "emu" })[i], group)
    end
    client = assert(cluster:connect())
end)

after_each(function()
    client:close()
    cluster:close()
end)

describe("a group that hangs", function()
    it("does not delay verbs on the kinds of other groups", function()
        answer_in_old_form()
        local id = cluster:freeze { path = "/apis/asleep.example", count = 0 }
        for _, name in ipairs { "dogs.early.example", "late.example/v1/Emu", "emus.late" } do
            assert.same({}, assert(client:list(name, { timeout = 4 })), name)
        end
        assert.equal(1, fault_hits(cluster, id))
    end)

    it("does not hide the kinds of other groups under short names", function()
        answer_in_old_form()
        local id = cluster:freeze { path = "/apis/asleep.example", count = 0 }
        assert.same({}, assert(client:list("emus", { timeout = 4 })))
        assert.same({}, assert(client:list("dogs", { timeout = 4 })))
        assert.equal(1, fault_hits(cluster, id))
    end)

    it("fails a verb on its own kind by its timeout, with its name", function()
        answer_in_old_form()
        local id = cluster:freeze { path = "/apis/asleep.example", count = 0 }
        expect_failure("discovery: it was not complete in time: /apis/asleep.example/v1 has not "
            .. "answered", "timeout", client:list("cats.asleep.example", { timeout = 0.2 }))
        expect_failure("discovery", "timeout", client:list("nothing", { timeout = 0.2 }))
        assert.equal(1, fault_hits(cluster, id))
    end)

    it("does not keep an informer of another group waiting", function()
        answer_in_old_form()
        cluster:freeze { path = "/apis/asleep.example", count = 0 }
        local informer = assert(client:informer("emus.late.example"))
        local has_synced = false
        informer:on { synced = function() has_synced = true end }
        assert(cluster:eventually(function() return has_synced end))
        informer:stop()
    end)

    it("costs nothing that was known before", function()
        answer_in_old_form()
        assert(client:list("cats"))
        define("fox", "new.example")
        assert(client:apply { apiVersion = "apiextensions.k8s.io/v1", -- so discovery is asked again
            kind = "CustomResourceDefinition", metadata = { name = "cats.asleep.example",
            labels = { a = "b" } } })
        local id = cluster:freeze { path = "/apis/asleep.example/v1" }
        answer_in_old_form()
        assert.same({}, assert(client:list("foxs.new.example", { timeout = 4 })))
        assert.same({}, assert(client:list("cats", { timeout = 4 })))
        assert.same({}, assert(client:list("cats.asleep.example", { timeout = 4 })))
        assert.equal(1, fault_hits(cluster, id))
    end)

    it("is asked beside the others: 16 at a time, and the named group first", function()
        for i = 1, 20 do
            define("owl" .. i, "g" .. i .. ".asleep.example")
        end
        answer_in_old_form()
        local others = cluster:freeze { path = "/apis/g", count = 0 }
        local id = cluster:freeze { path = "/apis/asleep.example", count = 0 }
        assert(client:list("emus.late.example", { timeout = 4 }))
        expect_failure("discovery", "timeout", client:list("owl1s", { timeout = 0.2 }))
        assert.equal(16, fault_hits(cluster, id) + fault_hits(cluster, others))
        expect_failure("/apis/g9.asleep.example/v1 has not answered", "timeout",
            client:list("owl9s.g9.asleep.example", { timeout = 0.2 }))
    end)
end)

describe("a discovery that hangs", function()
    it("ends a verb by its timeout, and is begun anew by the next one", function()
        local id = cluster:freeze { path = "/api", count = 0 }
        expect_failure("discovery: it was not complete in time", "timeout",
            client:list("dogs", { timeout = 0.3 }))
        expect_failure("discovery: it was not complete in time", "timeout",
            client:get("dogs", "a", { timeout = 0.1 }))
        cluster:heal(id)
        assert.same({}, assert(client:list("dogs", { timeout = 5 })))
    end)

    it("ends each of several verbs by its own timeout", function()
        local id = cluster:freeze { path = "/api", count = 0 }
        local short = kubelua.spawn(client.list, client, "dogs", { timeout = 0.1 })
        local long = kubelua.spawn(client.list, client, "dogs", { timeout = 20 })
        expect_failure("discovery", "timeout", short:wait())
        cluster:heal(id)
        long:cancel()
        assert.same({}, assert(client:list("emus", { timeout = 5 })))
    end)

    it("ends with the run, and the next run asks again", function()
        local id = cluster:freeze { path = "/api", count = 0 }
        local asked = kubelua.spawn(client.list, client, "dogs")
        kubelua.spawn(function()
            assert(cluster:eventually(function() return fault_hits(cluster, id) > 0 end))
            kubelua.stop()
        end)
        kubelua.run(20)
        expect_failure("", "canceled", asked:wait())
        cluster:heal(id)
        assert.same({}, assert(client:list("dogs", { timeout = 5 })))
    end)
end)

describe("a discovery that is broken off", function()
    it("is not taken for a group without kinds", function()
        answer_in_old_form()
        cluster:cut { path = "/apis/late.example", count = 0 }
        local _, _, code = client:list("emus.late.example", { timeout = 8 })
        assert.is_true(code == "unavailable" or code == "timeout", code)
        cluster:heal()
        assert.same({}, assert(client:list("emus.late.example", { timeout = 8 })))
    end)
end)

describe("a discovery with very many groups #many", function()
    local GROUP = '{"metadata":{"name":"g%d.example.com"},"versions":[{"version":"v1","freshness":'
        .. '"Current","resources":[{"resource":"foos%d","responseKind":{"group":"g%d.example.com",'
        .. '"version":"v1","kind":"Foo%d"},"scope":"Namespaced","verbs":["get","list"]}]}]}'

    local function serve_groups(count, line, kind, list)
        local groups = {}
        for i = 1, count do
            groups[i] = (line:gsub("%%d", tostring(i)))
        end
        cluster:fail { path = "/apis", status = 200, content_type = "application/json", count = 0,
            body = '{"kind":"' .. kind .. '","apiVersion":"v1","' .. list .. '":['
                .. table.concat(groups, ",") .. "]}" }
    end

    it("is read in slices, so that other tasks have their turn", function()
        serve_groups(20000, GROUP, "APIGroupDiscoveryList", "items")
        local turns, decoded_at, is_over = 0, nil, false
        local decode = core.decode
        core.decode = function(text)
            local value, problem = decode(text)
            decoded_at = #text > 1000000 and turns or decoded_at
            return value, problem
        end
        finally(function() core.decode = decode end)
        kubelua.spawn(function()
            while not is_over do
                turns = turns + 1
                kubelua.sleep(0)
            end
        end)
        local _, message, code = client:list("foos20001", { timeout = 20 })
        is_over = true
        assert.equal("unknown_kind", code)
        assert.truthy(message:find("foos2", 1, true), message)
        assert.is_true(turns - decoded_at >= 40, turns)
        local began = core.now()
        expect_failure("foos20002", "unknown_kind", client:list("foos20002", { timeout = 20 }))
        assert.is_true(core.now() - began < 5)
    end)

    it("ends a verb by its timeout", function()
        serve_groups(20000, GROUP, "APIGroupDiscoveryList", "items")
        expect_failure("discovery", "timeout", client:list("foos7", { timeout = 0.001 }))
        assert.equal("foos7", assert(require "kubelua.verbs".kind(client, "foos7")).plural)
    end)

    it("is refused in the old form, which needs a request for each", function()
        serve_groups(6000, '{"name":"g%d","versions":[{"version":"v1"}]}', "APIGroupList", "groups")
        cluster:fail { path = "/api", status = 406 }
        expect_failure("more than 5000 groups and versions", "too_large", client:list("foos"))
    end)
end)
