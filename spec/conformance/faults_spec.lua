-- Informers under ordered faults of a watch (docs/FAULTS.md): handlers see each change exactly once
-- and in order, and informers recover by themselves.
local conformance = require "conformance"
local eventually = require "eventually"

-- A fault of a watch while an object is created, changed and deleted. `wrong`: the error that
-- health names.
local FAULTS = {
    { "cut in the middle of a line", { action = "cut", verb = "watch", after_bytes = 100 } },
    { "cut by a reset", { action = "cut", how = "reset", verb = "watch", after_bytes = 100 } },
    { "cut after an event", { action = "cut", verb = "watch", after_events = 1 } },
    { "cut again and again", { action = "cut", verb = "watch", after_events = 1, count = 3 } },
    { "ended after an event", { action = "cut", how = "end", verb = "watch", after_events = 1 } },
    { "frozen for a while",
        { action = "freeze", verb = "watch", after_bytes = 50, seconds = 0.2 } },
    { "frozen for good", { action = "freeze", verb = "watch", after_bytes = 50 }, idle = true },
    { "sent byte by byte", { action = "delay", verb = "watch", bytes = 1 } },
    { "slow between bytes", { action = "delay", verb = "watch", byte = 0.001, bytes = 20 } },
    { "slow between events", { action = "delay", verb = "watch", event = 0.05 } },
    { "told twice", { action = "event", how = "duplicate", at = 2 } },
    { "of an unknown type", { action = "event", how = "unknown_type" } },
    { "broken JSON", { action = "event", how = "broken", at = 2 } },
    { "unclosed JSON", { action = "event", how = "unclosed" }, idle = true },
    { "a truncated line", { action = "event", how = "truncated", at = 3 } },
    { "without metadata", { action = "event", how = "no_metadata" } },
    { "without an object", { action = "event", how = "no_object", at = 2 } },
    { "of another kind", { action = "event", how = "other_kind" } },
    { "an ERROR event", { action = "event", how = "error", status = 500, at = 2 } },
    { "an ERROR event of 429", { action = "event", how = "error", status = 429 } },
    { "followed by rubbish", { action = "event", how = "raw", body = "rubbish" } },
    { "followed by an array", { action = "event", how = "raw", body = "[1,2]" } },
    { "followed by null", { action = "event", how = "raw", body = "null" } },
    { "huge", { action = "event", how = "huge", bytes = 3000000 } },
}

local function rule_for(scene, fault)
    local rule = { resource = "configmaps", namespace = scene.namespace }
    for name, value in pairs(fault) do
        rule[name] = value
    end
    return rule
end

local function describe_fault(it, cluster, sentence, fault, options)
    it("of a watch that is " .. sentence .. " is delivered once and in order", function(scene)
        scene:create("a", "1")
        local watched = scene:record(scene:informer {
            idle_timeout = options.idle and 0.3 or nil,
        })
        watched:starts_with { "add a=1 initial" }
        assert(cluster.sim:fault(rule_for(scene, fault)))
        scene:create("b", "1")
        scene:update("b", "2")
        scene:delete("b")
        scene:create("z")
        watched:sees { "add b=1", "update b 1>2", "delete b=2", "add z=1" }
        assert.equal(1, watched.informer:status().lists)
        cluster.sim:heal()
        scene:create("y")
        watched:sees { "add y=1" }
    end)
end

-- The informer lists again, and handlers get the difference.
local function describe_loss(it, cluster)
    it("after a 410 of the watch is delivered by a relist", function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        assert(cluster.sim:expire(rule_for(scene, { verb = "watch" })))
        scene:update("a", "2")
        watched:sees { "update a 1>2" }
        eventually(function()
            return watched.informer:status().lists == 2
        end, "it lists again")
    end)

    it("that the watch lost is delivered with the next change of its object", function(scene)
        local watched = scene:record()
        watched:sees { "synced" }
        assert(cluster.sim:tamper(rule_for(scene, { how = "drop" })))
        scene:create("a", "1")
        scene:update("a", "2")
        watched:sees { "add a=2" }
    end)

    it("that overtakes an older one is delivered, and the older one is dropped", function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        assert(cluster.sim:tamper(rule_for(scene, { how = "swap" })))
        scene:update("a", "2")
        scene:update("a", "3")
        watched:sees { "update a 1>3" }
        scene:create("z")
        watched:sees { "add z=1" }
        assert.equal("3", watched.informer:get(scene.namespace .. "/a").data.v)
    end)
end

conformance.describe("A change", function(it, cluster)
    if cluster.fails_on_demand then
        for _, row in ipairs(FAULTS) do
            describe_fault(it, cluster, row[1], row[2], row)
        end
        describe_loss(it, cluster)
    end
end)
