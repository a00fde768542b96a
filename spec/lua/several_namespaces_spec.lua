-- Informers of several namespaces: lists with one namespace, and kinds without namespaces.
local core = require "kubelua.core"
local definition = require "definition"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

describe("a list of namespaces", function()
    local sim, client

    before_each(function()
        sim = assert(Sim.new())
        client = assert(sim:connect())
    end)
    after_each(function()
        client:close()
        sim:close()
    end)

    local function refusal(...)
        local informer, message, code = client:informer(...)
        assert.is_nil(informer)
        return { message, code }
    end

    it("has each namespace once; one namespace is no list", function()
        local one = assert(client:informer { "pods", namespace = { "web", "web" } })
        assert.equal("userdata", type(one))
        local two = assert(client:informer { "pods", namespace = { "web", "db", "web" } })
        assert.equal("kubelua.informer: pods in db, web", (tostring(two):match("^(.-) %(")))
    end)

    it("is refused, as one namespace is, if the kind has no namespaces", function()
        assert.same(refusal { "nodes", namespace = "web" },
            refusal { "nodes", namespace = { "web", "db" } })
        assert.equal("invalid_argument", refusal({ "no", namespace = { "a", "b" },
            labels = "(" })[2])
    end)

    it("fails later for a custom kind without namespaces, and names the namespace", function()
        assert(sim:apply(definition("foos.x.io", { scope = "Cluster" })))
        sim:refuse(true) -- so that the first is not answered before the second begins
        local foos = assert(client:informer { "foos.x.io", namespace = { "web", "db" } })
        local told = {}
        foos:on { error = function(message, code)
            if code == "invalid_argument" then
                told[#told + 1] = message:match("^namespace (%S+): foos %(Foo%) have no namespace")
            end
        end }
        sim:refuse(false)
        assert(sim:eventually(function() return #told == 2 end))
        table.sort(told)
        assert.same({ "db", "web" }, told)
        local ok, message = foos:wait_synced(0.01)
        assert.is_nil(ok)
        assert.is_truthy(message:find("has not synced", 1, true), message)
    end)

    it("keeps no informer after a failure", function()
        collectgarbage("stop") -- otherwise informers of earlier specs might be collected meanwhile
        local before = core.live().informers
        assert.equal("invalid_argument", refusal({ "pods", namespace = { "a", "b" },
            fields = "no" })[2])
        local after = core.live().informers
        collectgarbage("restart")
        assert.equal(before, after)
    end)

    it("has no lowest version while the versions cannot be compared", function()
        sim:refuse(true) -- so that neither of them is listed
        local pods = assert(client:informer { "pods", namespace = { "web", "db" } })
        assert.equal("", pods:resource_version())
    end)

    it("delivers events of the first namespace while a handler waits in one of the last", function()
        local function apply(namespace, name)
            assert(sim:apply { apiVersion = "v1", kind = "Secret",
                metadata = { name = name, namespace = namespace } })
        end
        local secrets = assert(client:informer { "secrets", namespace = { "web", "db" } })
        local seen = {}
        assert(secrets:on { add = function(secret)
            seen[#seen + 1] = secret.key
            if secret.key == "web/a" then
                apply("db", "b")
                while not secrets:get("db/b") do
                    kubelua.sleep(0.01)
                end
                kubelua.sleep(0.05) -- rounds, in which the poller returns its event
            end
        end })
        assert(secrets:wait_synced(10))
        apply("web", "a")
        assert(sim:eventually(function() return #seen == 2 end))
        assert.same({ "web/a", "db/b" }, seen)
    end)

    it("keeps its informers alive while it has a handler", function()
        local seen = 0
        assert(client:informer { "configmaps", namespace = { "web", "db" } }):on {
            add = function() seen = seen + 1 end,
        }
        collectgarbage()
        collectgarbage()
        for _, namespace in ipairs { "web", "db" } do
            assert(sim:apply { apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "a", namespace = namespace } })
        end
        assert(sim:eventually(function() return seen >= 2 end))
    end)
end)
