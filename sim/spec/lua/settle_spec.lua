-- cluster:settle: waits until caches, handlers and controllers have nothing left to do.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local world = require "controller_world"
local Sim = require "kubelua.sim"

local function settled(cluster, seconds)
    local ok, message, code = cluster:settle(seconds)
    assert.is_nil(message)
    assert.is_nil(code)
    assert.is_true(ok)
end

-- Expects that settle times out with this reason.
local function unsettled(cluster, reason)
    local ok, message, code = cluster:settle(0.05)
    assert.is_nil(ok)
    assert.equal("timeout", code)
    assert.is_truthy(message:find(reason, 1, true), message)
end

local function apply(cluster, name, namespace)
    return assert(cluster:apply { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, namespace = namespace or "web" } })
end

describe("cluster:settle", function()
    local cluster, client

    before_each(function()
        cluster = assert(Sim.new { no_controllers = true })
        client = assert(cluster:connect())
    end)
    after_each(function()
        client:close()
        cluster:close()
    end)

    it("returns at once if no client is connected", function()
        settled(assert(Sim.new()))
        settled(cluster)
    end)

    it("waits until every cache has every write, and every handler has seen it", function()
        local configmaps = assert(client:informer { "configmaps", namespace = "web" })
        local pods = assert(client:informer { "pods", labels = "app=none" }) -- it gets no events
        local seen = 0
        configmaps:on {
            add = function() seen = seen + 1 end,
            delete = function() seen = seen - 1 end,
        }
        settled(cluster)
        local before = seen
        for round = 1, 20 do
            for i = 1, 5 do
                apply(cluster, "c" .. i .. "-" .. round)
            end
            settled(cluster)
            assert.equal(before + 5 * round, seen)
            assert.is_truthy(configmaps:get("web/c5-" .. round))
        end
        assert(cluster:delete("configmaps", "web/c1-1"))
        settled(cluster)
        assert.equal(before + 99, seen)
        assert.equal(0, pods:count())
    end)

    it("waits for informers of several namespaces, and over a port", function()
        local url = assert(cluster:listen())
        assert.is_string(url)
        local several = assert(client:informer { "configmaps", namespace = { "web", "db" } })
        settled(cluster)
        apply(cluster, "a", "db")
        settled(cluster)
        assert.is_truthy(several:get("db/a"))
    end)

    it("names the cache that a fault keeps behind", function()
        local configmaps = assert(client:informer { "configmaps", namespace = "web" })
        configmaps:on { error = function() end }
        settled(cluster)
        local fault = assert(cluster:fault { action = "freeze", verb = "watch", count = 0 })
        apply(cluster, "a")
        unsettled(cluster, "the cache of configmaps in web is at version ")
        cluster:heal(fault)
        settled(cluster)
        assert.is_truthy(configmaps:get("web/a"))
        cluster:refuse(true)
        apply(cluster, "b")
        unsettled(cluster, "connection refused")
        cluster:refuse(false)
        settled(cluster)
        assert.is_truthy(configmaps:get("web/b"))
    end)

    it("names a handler that has not finished", function()
        local go_on = false
        local configmaps = assert(client:informer { "configmaps", namespace = "web" })
        configmaps:on { name = "slow", add = function()
            while not go_on do
                kubelua.sleep(0.01)
            end
        end }
        apply(cluster, "a")
        unsettled(cluster, "a handler of slow has not handled all its events")
        go_on = true
        settled(cluster)
    end)

    it("works in a task, too", function()
        local configmaps = assert(client:informer { "configmaps" })
        local ok
        kubelua.spawn(function()
            apply(cluster, "a")
            ok = cluster:settle()
            assert(configmaps:get("web/a"))
        end)
        assert(cluster:eventually(function() return ok end))
    end)

    it("forgets clients that are closed, and informers that are stopped", function()
        local other = assert(cluster:connect())
        assert(other:informer { "pods" })
        local stopped = assert(client:informer { "secrets" })
        cluster:refuse(true)
        other:close()
        stopped:stop()
        apply(cluster, "a")
        settled(cluster)
        cluster:refuse(false)
    end)

    it("raises for a wrong number of seconds", function()
        assert.error_matches(function() cluster:settle("soon") end, "how many seconds")
    end)
end)

describe("cluster:settle with a controller", function()
    local w

    before_each(function()
        w = world.new()
    end)
    after_each(function()
        w:close()
    end)

    it("waits until no key waits or runs, after every round of writes that follow", function()
        w:controller { owns = { "secrets" }, reconcile = function(object, run)
            w:note(object.key)
            assert(run:apply { apiVersion = "v1", kind = "Secret",
                metadata = { name = object.name } })
            return true
        end }
        settled(w.cluster)
        for i = 1, 10 do
            w:apply("a" .. i)
            settled(w.cluster)
            assert.is_truthy(w.cluster:get("secrets", "web/a" .. i))
            assert.is_truthy(#w:noted() >= 1)
        end
    end)

    it("does not wait for keys that are delayed, or in backoff", function()
        local fails = true
        w:controller { reconcile = function(object)
            w:note(object.key)
            if object.name == "late" then
                return 60
            elseif fails then
                return nil, "meant", "error"
            end
        end }
        w:apply("late")
        w:apply("failing")
        settled(w.cluster)
        assert.same(2, #w:noted(2))
        settled(w.cluster)
        assert.same({}, w.runs)
        fails = false
        w.cluster:advance(1)
        settled(w.cluster)
        assert.same({ "web/failing" }, w:noted())
        w.cluster:advance(59)
        settled(w.cluster)
        assert.same({ "web/late" }, w:noted())
    end)

    it("names the key that runs", function()
        local go_on = false
        w:controller { reconcile = function()
            while not go_on do
                core.log("debug", "waits")
                w.cluster:eventually(function() return go_on end, 0.01)
            end
        end }
        w:apply("a")
        unsettled(w.cluster, "controller spec: web/a is being reconciled")
        go_on = true
        w.cluster:advance(1)
        settled(w.cluster)
    end)

    it("waits for the first lists, and names the source that has none", function()
        w.cluster:refuse(true)
        w:controller { reads = { "secrets" } }
        unsettled(w.cluster, "connection refused")
        w.cluster:refuse(false)
        w:apply("a")
        settled(w.cluster)
        assert.same({ "web/a" }, w:noted())
    end)

    it("waits until the leader is known, but not for another leader to end", function()
        w:controller { leader = "spec-lease" }
        w:apply("a")
        settled(w.cluster)
        assert.same({ "web/a" }, w:noted())
        w:controller { name = "other", leader = { name = "spec-lease", identity = "other" },
            reconcile = function() w:note("not meant") end }
        settled(w.cluster)
        assert.same({}, w.runs)
    end)
end)
