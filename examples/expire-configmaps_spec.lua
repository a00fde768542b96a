-- A timer for each object, with a clock that the test moves.
-- Run it: kubelua test examples/expire-configmaps_spec.lua
local Sim = require "kubelua.sim"

describe("expire-configmaps", function()
    local cluster ---@type kubelua.Sim

    before_each(function()
        cluster = assert(Sim.new { clock = "fake" })
        cluster:run("examples/expire-configmaps.lua")
    end)

    after_each(function()
        cluster:close()
    end)

    local function make(name, ttl)
        return assert(cluster:create { apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = name, namespace = "default",
                annotations = { ["example.com/ttl"] = ttl } } })
    end

    it("deletes each in its time, and nothing else", function()
        make("short", "60")
        make("long", "3600")
        make("eternal")
        make("first", "59")
        cluster:advance(59)
        assert(cluster:wait("configmaps", "default/first", "deleted"))
        assert(cluster:get("configmaps", "default/short"))
        cluster:advance(1)
        assert(cluster:wait("configmaps", "default/short", "deleted"))
        assert(cluster:get("configmaps", "default/long"))
        cluster:advance(3600)
        assert(cluster:wait("configmaps", "default/long", "deleted"))
        assert(cluster:get("configmaps", "default/eternal"))
    end)

    it("follows a time that is changed", function()
        make("one", "60")
        make("first", "90")
        cluster:advance(30)
        cluster:patch("configmaps", "default/one",
            { metadata = { annotations = { ["example.com/ttl"] = "120" } } })
        cluster:advance(60)
        assert(cluster:wait("configmaps", "default/first", "deleted"))
        assert(cluster:get("configmaps", "default/one"))
        cluster:advance(30)
        assert(cluster:wait("configmaps", "default/one", "deleted"))
    end)
end)
