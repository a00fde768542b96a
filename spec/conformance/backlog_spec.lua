-- Handlers that are slower than the cluster: which events they miss, and which they never miss.
local conformance = require "conformance"
local eventually = require "eventually"
local kubelua = require "kubelua"

-- A recorder whose handler does not return from its first event before gate.open is true.
local function record_slowly(scene, gate, options)
    local function wait()
        while not gate.open do
            kubelua.sleep(0.01)
        end
    end
    local merged = { add = wait, update = wait, delete = wait }
    for name, option in pairs(options) do
        merged[name] = option
    end
    return scene:record(nil, merged)
end

local function cached(scene, informer, name)
    local object = informer:get(scene.namespace .. "/" .. name)
    return object and object.data.v
end

local function until_cached(scene, informer, name, value)
    eventually(function()
        return cached(scene, informer, name) == value
    end, "the cache holds " .. name .. "=" .. tostring(value))
end

conformance.describe("A slow handler", function(it)
    it("gets every change while its backlog is not full", function(scene)
        local gate = {}
        scene:create("a", "0")
        local watched = record_slowly(scene, gate, {})
        eventually(function() return #watched.seen == 1 end, "the first add")
        local expected = { "add a=0 initial", "synced" }
        for i = 1, 30 do
            scene:update("a", tostring(i))
            expected[#expected + 1] = string.format("update a %d>%d", i - 1, i)
        end
        until_cached(scene, watched.informer, "a", "30")
        gate.open = true
        watched:sees(expected)
    end)

    it("gets one coalesced update of an object when its backlog is full", function(scene)
        local gate = {}
        scene:create("a", "0")
        local watched = record_slowly(scene, gate, { backlog = 4 })
        eventually(function() return #watched.seen == 1 end, "the first add")
        for i = 1, 50 do
            scene:update("a", tostring(i))
        end
        until_cached(scene, watched.informer, "a", "50")
        gate.open = true
        eventually(function() return watched.last.data.v == "50" end, "the newest state")
        assert.is_true(#watched.seen < 20, "merged: " .. table.concat(watched.seen, ", "))
        watched:forget() -- history.lua has checked that each `old` was the `new` before
    end)

    it("gets every delete even when its backlog is full", function(scene)
        local gate = {}
        for i = 1, 8 do
            scene:create("a" .. i, "0")
        end
        local watched = record_slowly(scene, gate, { backlog = 4 })
        eventually(function() return #watched.seen == 1 end, "the first add")
        local informer = watched.informer
        eventually(function() return informer:count() == 8 end, "eight objects are cached")
        for i = 1, 8 do
            scene:update("a" .. i, "1")
        end
        for i = 1, 7 do
            scene:delete("a" .. i)
        end
        eventually(function() return informer:count() == 1 end, "seven deletes are cached")
        gate.open = true
        scene:create("last")
        eventually(function()
            return watched.last.name == "last"
        end, "the change after all others")
        assert.equal(2, #watched.history:believes())
        watched:forget()
    end)

    it("gets a delete and an add of an object recreated while its backlog is full",
        function(scene)
            local gate = {}
            scene:create("a", "0")
            scene:create("b", "0")
            local watched = record_slowly(scene, gate, { backlog = 2 })
            eventually(function() return #watched.seen == 1 end, "the first add")
            for i = 1, 10 do
                scene:update("b", tostring(i))
            end
            for i = 1, 5 do
                scene:recreate("a", tostring(i))
            end
            until_cached(scene, watched.informer, "a", "5")
            gate.open = true
            scene:create("last")
            eventually(function() return watched.last.name == "last" end, "the last change")
            local uid = watched.informer:get(scene.namespace .. "/a").uid
            assert.equal(uid, watched.history.known[scene.namespace .. "/a"].uid)
            watched:forget()
        end)

    it("gets no event of an object created and deleted while its backlog is full", function(scene)
        local gate = {}
        scene:create("a", "0")
        local watched = record_slowly(scene, gate, { backlog = 2 })
        eventually(function() return #watched.seen == 1 end, "the first add")
        for i = 1, 10 do
            scene:update("a", tostring(i))
        end
        for _ = 1, 20 do
            scene:create("brief")
            scene:delete("brief")
        end
        scene:create("last")
        until_cached(scene, watched.informer, "last", "1")
        gate.open = true
        eventually(function() return watched.last.name == "last" end, "the last change")
        local shown = 0
        for _, line in ipairs(watched.seen) do
            shown = shown + (line:find("brief", 1, true) and 1 or 0)
        end
        assert.is_true(shown <= 2, table.concat(watched.seen, ", "))
        watched:forget()
    end)

    it("gets every change of a full backlog if it does not coalesce", function(scene)
        local gate = {}
        scene:create("a", "0")
        local watched = record_slowly(scene, gate, { backlog = 4, coalesce = false })
        eventually(function() return #watched.seen == 1 end, "the first add")
        local expected = { "add a=0 initial", "synced" }
        for i = 1, 50 do
            scene:update("a", tostring(i))
            expected[#expected + 1] = string.format("update a %d>%d", i - 1, i)
        end
        gate.open = true
        watched:sees(expected)
    end)

    it("with a full backlog can be stopped if it does not coalesce", function(scene)
        local gate = {}
        scene:create("a", "0")
        local watched = record_slowly(scene, gate, { backlog = 2, coalesce = false })
        eventually(function() return #watched.seen == 1 end, "the first add")
        for i = 1, 20 do
            scene:update("a", tostring(i))
        end
        eventually(function() return watched.handler:backlog() >= 2 end, "its backlog is full")
        assert.is_true(scene.seconds(watched.informer.stop, watched.informer) < 0.5)
        gate.open = true
        watched:forget()
    end)
end)
