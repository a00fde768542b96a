-- A client that is closed: its handlers do not run any more, and nothing that belongs to it is
-- kept.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local OBJECTS = 30

local function new_sim()
    local sim = assert(Sim.new())
    for i = 1, OBJECTS do
        assert(sim:apply {
            apiVersion = "v1", kind = "ConfigMap",
            metadata = { name = "c" .. i, namespace = "default" },
            data = { node = "n" .. i % 3 },
        })
    end
    return sim
end

-- A trace of LuaJIT keeps the constants alive that it has seen.
local function alive()
    if rawget(_G, "jit") then
        require("jit").flush()
    end
    collectgarbage()
    collectgarbage()
    local live = core.live()
    return { live.informers, live.registrations, live.clients }
end

-- In its own function: a collector also finds values that a frame held before.
local function use_and_close(sim)
    local client = assert(sim:connect())
    local informer = assert(client:informer { "configmaps" })
    informer:on { add = function() end }
    assert(informer:index("node", function(object) return object.data.node end))
    assert(informer:wait_synced(10))
    client:close()
end

-- In its own function, too.
local function use_and_forget(client)
    for _ = 1, 3 do
        local informer = assert(client:informer { "configmaps", indexes = {
            node = function(object) return object.data.node end,
        } })
        assert(informer:wait_synced(10))
        assert.equal(OBJECTS / 3, #informer:by("node", "n1"))
    end
end

describe("an informer that is forgotten", function()
    it("ends, with any kind of indexes", function()
        local sim = new_sim()
        local client = assert(sim:connect())
        local before = alive()
        use_and_forget(client)
        kubelua.step()
        assert.same(before, alive())
        client:close()
        sim:close()
    end)
end)

describe("a client that is closed", function()
    local sim

    before_each(function()
        sim = new_sim()
    end)
    after_each(function()
        sim:close()
    end)

    it("runs no handler after the one that closes it", function()
        local client = assert(sim:connect())
        local informer = assert(client:informer { "configmaps" })
        local calls = 0
        informer:on { add = function()
            calls = calls + 1
            client:close()
        end }
        assert(informer:wait_synced(10))
        while kubelua.step(0.05) > 0 do
            assert.is_true(calls <= 1)
        end
        assert.equal(1, calls)
    end)

    it("is not kept alive by handlers and indexes", function()
        local before = alive()
        use_and_close(sim)
        kubelua.step()
        assert.same(before, alive())
    end)

    it("keeps no run going", function()
        local client = assert(sim:connect())
        local informer = assert(client:informer { "configmaps" })
        informer:on { add = function() end }
        client:close()
        kubelua.step()
        assert.is_true(require("kubelua.scheduler").is_idle())
    end)

    it("refuses new handlers, which would get no events", function()
        local client = assert(sim:connect())
        local informer = assert(client:informer { "configmaps" })
        client:close()
        local handler, _, code = informer:on { add = function() end }
        assert.is_nil(handler)
        assert.equal("closed", code)
        handler, _, code = informer:index("name", function(object) return object.name end)
        assert.is_nil(handler)
        assert.equal("closed", code)
        kubelua.step()
        assert.is_true(require("kubelua.scheduler").is_idle())
    end)

    it("leaves its caches readable, by indexes too", function()
        local client = assert(sim:connect())
        local informer = assert(client:informer { "configmaps", indexes = {
            path = "data.node",
            call = function(object) return object.data.node end,
        } })
        assert(informer:wait_synced(10))
        client:close()
        kubelua.step()
        assert.equal(OBJECTS, informer:count())
        assert.equal(OBJECTS / 3, #informer:by("path", "n1"))
        assert.equal(OBJECTS / 3, #informer:by("call", "n1"))
    end)
end)
