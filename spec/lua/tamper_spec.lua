-- What a script can reach without the debug library does no harm.
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
    handler = assert(pods:on { add = print })
    assert(pods:wait_synced(10))
end)

teardown(function()
    pods:stop()
    client:close()
    sim:close()
end)

describe("metatables", function()
    it("cannot be reached", function()
        local pod = pods:get("web/a")
        for _, box in ipairs { pod, pod.metadata, handler, pods, client, sim,
            require("kubelua.tasks").poller } do
            assert.equal("string", type(getmetatable(box)))
        end
    end)

    it("leave no finaliser among the methods", function()
        assert.is_nil(handler.__gc)
        assert.is_nil(pods.__gc)
        assert.is_nil(client.__gc)
        assert.is_nil(sim.__gc)
    end)
end)

describe("methods", function()
    it("refuse userdata of other types", function()
        local boxes = {
            [handler] = { "remove", "has_synced", "backlog" },
            [pods] = { "stop", "on", "get", "list", "by", "values", "index", "count", "status",
                "wait_synced", "has_synced", "resource_version" },
            [client] = { "informer", "close", "call", "namespace" },
            [sim] = { "close", "load", "call", "cut" },
        }
        for box, names in pairs(boxes) do
            for _, name in ipairs(names) do
                assert.has_error(function() box[name](io.stdout) end)
                assert.has_error(function() box[name](nil) end)
                assert.has_error(function() box[name](pods:get("web/a")) end)
            end
        end
        for _, name in ipairs { "next", "done", "again", "remove" } do
            for _, other in ipairs { io.stdout, pods, client, {} } do
                assert.has_error(function() core["registration_" .. name](other) end)
            end
        end
        for _, name in ipairs { "stop", "outcome", "settled", "wake", "by", "values", "index" } do
            for _, other in ipairs { io.stdout, handler, client, {} } do
                assert.has_error(function() core["informer_" .. name](other) end)
            end
        end
    end)

    it("do nothing after the end, whichever came first", function()
        local informer = assert(client:informer { "pods" })
        local callbacks = { add = print }
        local one, two = assert(informer:on(callbacks)), assert(informer:on(callbacks))
        core.registration_remove(one)
        core.registration_remove(one)
        core.informer_stop(informer) -- stopped with its other registration
        core.informer_stop(informer)
        assert.is_nil(core.registration_next(two))
        core.registration_done(two)
        core.registration_again(two, require("kubelua.tasks").poller)
        assert.is_false(two:has_synced())
        assert.equal(0, two:backlog())
        two:remove()
        one:remove()
    end)

    it("keep an event in progress when its informer stops", function()
        local informer = assert(client:informer { "pods" })
        local registration = assert(core.subscribe(informer, core.poller(), 1, {}))
        assert(informer:wait_synced(10))
        local event, pod = core.registration_next(registration)
        assert.equal("add", event)
        core.informer_stop(informer)
        core.registration_done(registration)
        core.registration_remove(registration)
        assert.equal("a", pod.name)
    end)
end)

describe("a state table of a userdata", function()
    it("may be emptied without a leak or a use after free in the core", function()
        collectgarbage() -- clients that earlier specs have dropped
        collectgarbage()
        local before = core.live()
        local function use()
            local informer = assert(client:informer { "pods", indexes = { n = function() end } })
            local one = assert(informer:on { add = print })
            assert(core.subscribe(informer, core.poller(), 1, {}))
            for _, state in ipairs { core.state(one, "kubelua.registration"),
                core.state(informer, "kubelua.informer") } do
                for key in pairs(state) do
                    state[key] = nil
                end
            end
            pcall(one.remove, one)
            for _, method in ipairs { "on", "by", "values", "index", "stop" } do
                pcall(informer[method], informer, "n", "n")
            end
            tostring(one)
            tostring(informer)
            core.registration_remove(one)
        end
        use()
        collectgarbage()
        collectgarbage()
        assert.equal(before.clients, core.live().clients)
    end)
end)

describe("options", function()
    it("are the table's own fields, not those of its metatable", function()
        local made_up = setmetatable({}, { __index = function(_, key) return key .. "!" end })
        assert.equal(1, #assert(pods:list(made_up)))
        assert.has_error(function() client:request(made_up) end)
    end)

    it("that count something must be whole numbers", function()
        for _, size in ipairs { -1, 1.5, 2 ^ 40, 0 / 0 } do
            assert.error_matches(function()
                client:informer { "pods", page_size = size }
            end, "integer")
        end
    end)
end)

describe("views", function()
    it("are equal to no other values", function()
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
        -- The table itself keeps its size, between 200 and 800 KB by when the collector ran. All
        -- paths have 3 MB.
        assert.is_true(collectgarbage("count") - before < 1500)
        assert.equal("shop", pod:get("metadata.labels.app"))
        assert.equal("shop", kubelua.get(pod.metadata, "labels.app"))
    end)
end)
