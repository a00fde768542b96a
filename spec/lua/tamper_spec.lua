-- What a script can reach with the language alone, without the debug library, does no harm.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local Sim = require "kubelua.sim"

local sim, client, pods, handler

setup(function()
    sim = assert(Sim.new())
    assert(sim:apply {
        apiVersion = "v1", kind = "Pod",
        metadata = { name = "a", namespace = "web", labels = { app = "shop" } },
    })
    client = assert(sim:connect())
    pods = assert(client:informer { "pods" })
    handler = assert(pods:on {})
    assert(pods:wait_synced(10))
end)

teardown(function()
    pods:stop()
    client:close()
    sim:close()
end)

describe("metatables", function()
    it("are not handed out", function()
        local pod = pods:get("web/a")
        for _, box in ipairs { pod, pod.metadata, handler.box, pods.handle, client.box, sim.box,
            require("kubelua.scheduler").poller } do
            assert.equal("string", type(getmetatable(box)))
        end
    end)

    it("leave no finaliser among the methods", function()
        assert.is_nil(handler.box.__gc)
        assert.is_nil(pods.handle.__gc)
        assert.is_nil(client.box.__gc)
        assert.is_nil(sim.box.__gc)
    end)
end)

describe("methods", function()
    it("refuse what is not theirs", function()
        local boxes = {
            [handler.box] = { "remove", "next", "done", "again", "has_synced", "backlog" },
            [pods.handle] = { "stop", "get", "list", "count", "status", "not_synced" },
            [client.box] = { "close", "call", "namespace" },
            [sim.box] = { "close", "load", "call", "cut" },
        }
        for box, names in pairs(boxes) do
            for _, name in ipairs(names) do
                assert.has_error(function() box[name](io.stdout) end)
                assert.has_error(function() box[name](nil) end)
                assert.has_error(function() box[name](pods:get("web/a")) end)
            end
        end
    end)

    it("do nothing after the end, whichever came first", function()
        local informer = assert(client:informer { "pods" })
        local one, two = assert(informer:on {}), assert(informer:on {})
        one.box:remove()
        one.box:remove()
        informer.handle:stop() -- with the other registration in it
        informer.handle:stop()
        assert.is_nil(two.box:next())
        two.box:done()
        two.box:again(require("kubelua.scheduler").poller)
        assert.is_false(two.box:has_synced())
        assert.equal(0, two.box:backlog())
        two:remove()
        one:remove()
    end)

    it("hold an event that is out when its informer stops", function()
        local informer = assert(client:informer { "pods" })
        local box = assert(core.subscribe(informer.handle, core.poller(), 1, {}))
        assert(informer:wait_synced(10))
        local event, pod = box:next()
        assert.equal("add", event)
        informer.handle:stop()
        box:done()
        box:remove()
        assert.equal("a", pod.name)
    end)
end)

describe("options", function()
    it("are what the table holds, not what its metatable makes up", function()
        local made_up = setmetatable({}, { __index = function(_, key) return key .. "!" end })
        assert.equal(1, #assert(pods:list(made_up)))
        assert.has_error(function() client:call(made_up) end)
    end)

    it("are whole numbers where they count something", function()
        for _, size in ipairs { -1, 1.5, 2 ^ 40, 0 / 0 } do
            assert.error_matches(function()
                client:informer { "pods", page_size = size }
            end, "integer")
        end
    end)
end)

describe("views", function()
    it("are equal to nothing else", function()
        local pod = pods:get("web/a")
        assert.is_false(pod == io.stdout)
        assert.is_false(pod.metadata == io.stdout)
        assert.is_false(io.stdout == pod)
        assert.is_true(pod.metadata == pods:get("web/a").metadata)
        local big = core.decode("[123456789012345678901234567890]")[1]
        assert.is_false(big == io.stdout)
        assert.is_false(big == pod)
    end)

    it("forget the paths that were asked for", function()
        local pod = pods:get("web/a")
        collectgarbage()
        local before = collectgarbage("count")
        for i = 1, 20000 do
            pod:get("metadata.labels.name" .. i)
        end
        collectgarbage()
        collectgarbage()
        -- The table itself keeps its size, which depends on when the collector came by: 200 to 800
        -- KB. All the paths are 3 MB.
        assert.is_true(collectgarbage("count") - before < 1500)
        assert.equal("shop", pod:get("metadata.labels.app"))
        assert.equal("shop", kubelua.get(pod.metadata, "labels.app"))
    end)
end)
