-- Recordings of what a server sent: replayed, they give handlers the same events of the same
-- objects, with UIDs and versions, also for changes while no informer was connected.
local assert = require("busted").assert
local conformance = require "conformance"
local core = require "kubelua.core"
local eventually = require "eventually"
local record = require "kubelua.cli.record"
local Sim = require "kubelua.sim"

-- Writes down a handler's events, a line each. The replay has a missed delete as a normal one, with
-- a version of its own, so versions of missed deletes are left out.
local function listen(informer, missed)
    local lines = {}
    local function note(word, object, more)
        lines[#lines + 1] = table.concat({ word, object.key, object.uid, more or
            object.resource_version, tostring(object:get("data.v")) }, " ")
    end
    assert(informer:on {
        coalesce = false,
        add = function(object, initial)
            note(initial and "initial" or "add", object)
        end,
        update = function(_, object)
            note("update", object)
        end,
        delete = function(object, unknown)
            missed[object.uid] = missed[object.uid] or unknown
            note("delete", object, missed[object.uid] and "unknown")
        end,
    })
    return lines
end

-- Groups events by object, as the objects of a list come in no fixed order. If there is no second
-- list (`has_order`), also keeps the order of all events after the first list.
local function arrange(lines, has_order)
    local told = { {} }
    for _, line in ipairs(lines) do
        local word, key = line:match("^(%S+) (%S+)")
        told[key] = told[key] or {}
        table.insert(told[key], line)
        if has_order and word ~= "initial" then
            table.insert(told[1], line)
        end
    end
    return told
end

local function replay_of(path, namespace, missed)
    local sim = assert(Sim.new { replay = path })
    local client = assert(sim:connect())
    local informer = assert(client:informer { "configmaps", namespace = namespace })
    local lines = listen(informer, missed)
    assert(informer:wait_synced(60))
    while sim:step() == 1 do
        local before = #lines
        eventually(function() return #lines > before end, "an event of the replay")
    end
    assert.equal(0, sim:left())
    informer:stop()
    client:close()
    sim:close()
    return lines
end

local function text_of(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
end

-- Records the changes that `f` makes, and compares the replay's events with a handler's.
local function expect_the_same(scene, has_order, f)
    local path, missed = os.tmpname(), {}
    local informer = scene:informer()
    local told = listen(informer, missed)
    local recorder = assert(record.to(path))
    local options = { "configmaps", namespace = scene.namespace }
    assert(recorder:attach(informer, options))
    assert(informer:wait_synced(60))
    f(told)
    local last = scene:create("last").metadata.uid
    eventually(function()
        return (told[#told] or ""):find(last, 1, true) and text_of(path):find(last, 1, true)
    end, "the last event, and its line")
    recorder:attach(informer, options):remove()
    local replayed = replay_of(path, scene.namespace, missed)
    os.remove(path)
    assert.same(arrange(told, has_order), arrange(replayed, has_order))
end

conformance.describe("A recording", function(it, cluster)
    it("ends with every event that has arrived, also those not dispatched yet", function(scene)
        scene:create("a", "1")
        local path = os.tmpname()
        local informer = scene:informer()
        local recorder = assert(record.to(path))
        local registration = assert(recorder:attach(informer,
            { "configmaps", namespace = scene.namespace }))
        local deadline = core.now() + 60
        while registration:backlog() == 0 do -- without a round of the loop
            assert.is_true(core.now() < deadline)
        end
        recorder:finish()
        local text = text_of(path)
        os.remove(path)
        assert.truthy(text:find('"type":"ADDED","initial":true', 1, true), text)
    end)

    it("replays the same events", function(scene)
        scene:create("a", "1")
        scene:create("b", "1", { app = "shop" })
        expect_the_same(scene, true, function()
            scene:update("a", "2")
            scene:create("c", "1")
            scene:recreate("b", "2")
            scene:delete("a")
            scene:update("c", "2")
        end)
    end)

    it("goes on where a watch was cut and resumed", function(scene)
        scene:create("a", "1")
        expect_the_same(scene, true, function(told)
            scene:update("a", "2")
            eventually(function() return #told == 2 end, "the update")
            scene:disconnect()
            scene:update("a", "3")
            scene:create("b", "1")
            scene:recreate("a", "4")
            scene:reconnect()
            eventually(function() return #told == 6 end, "what was missed")
            scene:update("b", "2")
        end)
    end)

    it("has the changes that were missed before a 410", function(scene)
        scene:create("a", "1")
        scene:create("b", "1")
        scene:create("c", "1")
        expect_the_same(scene, false, function(told)
            scene:disconnect()
            scene:recreate("a", "2")
            scene:delete("b")
            scene:update("c", "2")
            scene:forget_history()
            if cluster.is_real then
                cluster:crash() -- otherwise its watch cache would still have the history
            end
            scene:reconnect()
            eventually(function() return #told >= 7 end, "what was missed")
            scene:update("a", "3")
        end)
    end)
end)
