-- Changes while no informer is connected: handlers get correct events, both if the watch resumes
-- from its last version, and if the server has forgotten that version (410) and everything is
-- listed again.
local conformance = require "conformance"
local eventually = require "eventually"

-- Each behaviour in both ways. `back(scene)` reconnects; `unknown` is the flag of deletes.
local WAYS = {
    {
        name = "resumed",
        unknown = "",
        back = function(scene) scene:reconnect() end,
    },
    {
        name = "relisted",
        unknown = " unknown",
        back = function(scene)
            scene:forget_history()
            scene:reconnect()
        end,
    },
}

local function describe_way(it, way)
    it("that was deleted is a delete, " .. way.name, function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        scene:disconnect()
        scene:delete("a")
        scene:create("z")
        way.back(scene)
        watched:sees_all { "delete a=1" .. way.unknown, "add z=1" }
        assert.is_nil(watched.informer:get(scene.namespace .. "/a"))
        assert.is_true(watched.handler:has_synced())
    end)

    it("that was recreated is a delete and an add, never an update, " .. way.name, function(scene)
        local before = scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        assert.equal(before.metadata.uid, watched.last.uid)
        scene:disconnect()
        local after = scene:recreate("a", "2")
        way.back(scene)
        watched:sees { "delete a=1" .. way.unknown, "add a=2" }
        assert.equal(after.metadata.uid, watched.last.uid)
        assert.equal(after.metadata.uid, watched.informer:get(scene.namespace .. "/a").uid)
    end)

    it("that was recreated many times is a delete and an add, " .. way.name, function(scene)
        scene:create("a", "0")
        local watched = scene:record()
        watched:starts_with { "add a=0 initial" }
        scene:disconnect()
        local expected = {}
        for i = 1, 5 do
            scene:recreate("a", tostring(i))
            expected[#expected + 1] = string.format("delete a=%d", i - 1)
            expected[#expected + 1] = string.format("add a=%d", i)
        end
        way.back(scene)
        watched:sees(way.name == "resumed" and expected or { "delete a=0 unknown", "add a=5" })
    end)

    it("that was updated ends up as it is now, " .. way.name, function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        scene:disconnect()
        scene:update("a", "2")
        scene:update("a", "3")
        way.back(scene)
        watched:sees(way.name == "resumed" and { "update a 1>2", "update a 2>3" }
            or { "update a 1>3" })
    end)

    it("that was created is an add that is not initial, " .. way.name, function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        scene:disconnect()
        scene:create("a")
        way.back(scene)
        watched:sees { "add a=1" }
    end)

    it("that was created and deleted is seen if the watch resumes, " .. way.name, function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        scene:disconnect()
        scene:create("a")
        scene:delete("a")
        scene:create("z")
        way.back(scene)
        watched:sees(way.name == "resumed" and { "add a=1", "delete a=1", "add z=1" }
            or { "add z=1" })
    end)

    it("that did not change makes no event, " .. way.name, function(scene)
        for i = 1, 5 do
            scene:create("a" .. i)
        end
        local watched = scene:record()
        watched:sees_all { "add a1=1 initial", "add a2=1 initial", "add a3=1 initial",
            "add a4=1 initial", "add a5=1 initial", "synced" }
        scene:disconnect()
        scene:create("z")
        way.back(scene)
        watched:sees { "add z=1" }
        scene:create("y")
        watched:sees { "add y=1" }
    end)

    it("that many clients changed is the same for every handler, " .. way.name, function(scene)
        for i = 1, 4 do
            scene:create("a" .. i)
        end
        local first = scene:record()
        local second = scene:record(first.informer)
        eventually(function()
            return first.handler:has_synced() and second.handler:has_synced()
        end, "both have synced")
        first:forget()
        second:forget()
        scene:disconnect()
        scene:delete("a1")
        scene:update("a2", "2")
        scene:recreate("a3", "2")
        scene:create("z")
        way.back(scene)
        local expected = { "delete a1=1" .. way.unknown, "update a2 1>2",
            "delete a3=1" .. way.unknown, "add a3=2", "add z=1" }
        first:sees_all(expected)
        second:sees_all(expected)
        assert.same(first.history:believes(), second.history:believes())
    end)

    it("that was updated and deleted has its last known state, " .. way.name, function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        scene:disconnect()
        scene:update("a", "2")
        scene:delete("a")
        way.back(scene)
        watched:sees(way.name == "resumed" and { "update a 1>2", "delete a=2" }
            or { "delete a=1 unknown" })
    end)
end

conformance.describe("After a disconnect, an object", function(it, cluster)
    for _, way in ipairs(WAYS) do
        describe_way(it, way)
    end

    it("is not relisted when its watch was cut and can be resumed", function(scene)
        scene:create("a")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        local lists = watched.informer:status().lists
        for i = 1, 3 do
            local watches = watched.informer:status().watches
            cluster:cut()
            eventually(function()
                return watched.informer:status().watches > watches
            end, "a new watch")
            scene:create("b" .. i)
            watched:sees { "add b" .. i .. "=1" }
        end
        assert.equal(lists, watched.informer:status().lists)
        if cluster.tells_requests then
            local requests = scene:requests()
            for i = 2, #requests do
                assert.is_nil(requests[i]:find("sendInitialEvents", 1, true))
                assert.truthy(requests[i]:find("resourceVersion=%d"))
            end
        end
    end)

    it("is in the cache as it was, and can be queried", function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        scene:disconnect()
        scene:delete("a")
        assert.is_true(watched.informer:has_synced())
        assert.equal("1", watched.informer:get(scene.namespace .. "/a").data.v)
        scene:reconnect()
        watched:sees { "delete a=1" }
    end)
end)
