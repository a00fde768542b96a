-- kubelua.backlog: how many events may wait for a handler before changes are merged (coalesced).
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local function until_true(condition)
    local deadline = core.now() + 10
    while not condition() do
        assert(core.now() < deadline, "it did not happen within 10 seconds")
    end
end

describe("kubelua.backlog", function()
    local usual = kubelua.backlog

    after_each(function() kubelua.backlog = usual end)

    -- How often handlers with these options were called for 50 updates without a dispatch in
    -- between.
    local function calls(options)
        local sim = assert(Sim.new())
        local client = assert(sim:connect())
        local count, last = 0, nil
        local function put(i)
            assert(sim:apply {
                apiVersion = "v1", kind = "ConfigMap",
                metadata = { name = "a", namespace = "default" }, data = { i = tostring(i) },
            })
        end
        put(0)
        local maps = assert(client:informer { "configmaps" }) -- its object exists already
        assert(maps:wait_synced(10))
        function options.update(_, new)
            count, last = count + 1, new.data.i
        end
        assert(maps:on(options))
        for i = 1, 50 do
            put(i)
        end
        until_true(function() return maps:get("default/a").data.i == "50" end)
        until_true(function()
            kubelua.step(0.01)
            return last == "50"
        end)
        client:close()
        sim:close()
        return count
    end

    it("is the bound of handlers that set none", function()
        kubelua.backlog = 3
        kubelua.log("info", "the warnings that follow are meant")
        assert.is_true(calls {} < 20)
        assert.equal(50, calls { backlog = 1000 })
    end)

    it("is large enough by default", function()
        assert.equal(50, calls {})
    end)
end)
