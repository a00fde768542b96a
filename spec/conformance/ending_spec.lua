-- Informers, clients and scripts can end at any moment, at once, and leave nothing behind.
local conformance = require "conformance"
local core = require "kubelua.core"
local eventually = require "eventually"
local kubelua = require "kubelua"

-- Seconds. Each blocking call ends within 50 ms (docs/DESIGN.md#locks); a machine that builds
-- meanwhile is slower.
local AT_ONCE = 0.5

local function stop_is_quick(scene, informer)
    local before = core.live()
    local seconds = scene.seconds(informer.stop, informer)
    assert.is_true(seconds < AT_ONCE, "it took " .. seconds .. " s")
    assert.equal(before.informers - 1, core.live().informers)
end

conformance.describe("Stop", function(it, cluster)
    it("is quick before anything was answered", function(scene)
        stop_is_quick(scene, scene:informer())
    end)

    it("is quick while the first list is coming", function(scene)
        local namespace = cluster:crowd(1500)
        for i = 1, 10 do
            local informer = scene:informer {
                namespace = namespace,
                page_size = 10,
                streaming_list = i % 2 == 0,
                labels = "nothing notin (" .. i .. ")",
            }
            kubelua.step(i * 0.005)
            stop_is_quick(scene, informer)
        end
    end)

    it("is quick while watching", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        stop_is_quick(scene, watched.informer)
    end)

    it("is quick while waiting to try again", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        scene:disconnect()
        stop_is_quick(scene, watched.informer)
    end)

    it("is quick while the kind is unknown", function(scene)
        local informer = scene:informer { "nosuchthings" }
        eventually(function() return informer:status().failures > 0 end, "a failure")
        stop_is_quick(scene, informer)
    end)

    it("is possible inside of a callback", function(scene)
        scene:create("a")
        scene:create("b")
        local informer = scene:informer()
        local calls = 0
        informer:on {
            add = function()
                calls = calls + 1
                informer:stop()
            end,
        }
        eventually(function() return calls > 0 end, "the first add")
        kubelua.step(0.05)
        assert.equal(1, calls)
        eventually(function() return core.live().informers == 0 end, "the informer has ended")
    end)

    it("twice is harmless, and later calls say that it is closed", function(scene)
        local informer = scene:informer()
        informer:wait_synced(60)
        informer:stop()
        informer:stop()
        local ok, message, code = informer:wait_synced(1)
        assert.same({ "nil", "string", "closed" }, { type(ok), type(message), code })
        ok, message, code = informer:on { add = function() end }
        assert.same({ "nil", "string", "closed" }, { type(ok), type(message), code })
        assert.equal(0, informer:count())
    end)

    it("of one informer leaves others of the client alone", function(scene)
        local first = scene:record(scene:informer { labels = "app=shop" })
        local second = scene:record()
        first:sees { "synced" }
        second:sees { "synced" }
        first.informer:stop()
        scene:create("a", "1", { app = "shop" })
        second:sees { "add a=1" }
    end)

    it("by closing the client is quick too", function(scene)
        local client = scene:connect()
        local informers = {}
        for i = 1, 10 do
            informers[i] = scene:informer { client = client, labels = "n=" .. i }
        end
        for i = 1, 10 do
            assert.is_true(informers[i]:wait_synced(60))
        end
        assert.is_true(scene.seconds(client.close, client) < AT_ONCE)
        for i = 1, 10 do
            informers[i]:stop()
        end
        assert.equal(0, core.live().informers)
    end)
end)

conformance.describe("The loop", function(it)
    it("ends a run after the seconds", function(scene)
        scene:record():sees { "synced" }
        local seconds = scene.seconds(kubelua.run, 0.2)
        assert.is_true(seconds >= 0.2 and seconds < 1, seconds .. " s")
    end)

    it("ends a run at stop() inside of a callback", function(scene)
        local is_created = false
        local watched = scene:record(nil, { add = function()
            while not is_created do -- stop() would end the request of scene:create
                kubelua.sleep(0)
            end
            kubelua.stop()
        end })
        watched:sees { "synced" }
        scene:create("a")
        is_created = true
        assert.is_true(scene.seconds(kubelua.run, 20) < 15)
        watched:sees { "add a=1" }
    end)

    it("counts the callbacks that a step ran", function(scene)
        scene:create("a")
        local calls = 0
        local informer = scene:informer()
        informer:on { add = function() calls = calls + 1 end }
        local ran = 0
        local deadline = core.now() + 20
        while ran == 0 and core.now() < deadline do
            ran = kubelua.step(20)
        end
        assert.same({ 1, 1 }, { calls, ran })
    end)

    it("is readable to another loop while there is work, and only then", function(scene)
        local uv = require "luv"
        local watched = scene:record()
        watched:sees { "synced" }
        while kubelua.step(0) > 0 do end
        local steps = 0
        local poll = uv.new_poll(kubelua.fd())
        poll:start("r", function()
            steps = steps + 1
            kubelua.step(0)
        end)
        uv.run("nowait")
        assert.equal(0, steps)
        kubelua.spawn(function() scene:create("a") end)
        local deadline = core.now() + 20
        while #watched.seen == 0 and core.now() < deadline do
            uv.run("nowait")
        end
        assert.is_true(steps > 0)
        watched:sees { "add a=1" }
        poll:close()
        uv.run("nowait")
    end)
end)
