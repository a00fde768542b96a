-- Informers under ordered faults (docs/FAULTS.md). Of a watch and of lists: handlers see each
-- change and each object exactly once, and in order. Of a port (malformed HTTP, an invalid
-- certificate, no listener): their health names the fault. Informers recover by themselves.
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

local HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>\n"

-- A fault of the first list, in pages of two or as a stream of events (`streaming`).
local LIST_FAULTS = {
    { "cut before its answer", { action = "cut" } },
    { "cut in the middle", { action = "cut", after_bytes = 300 } },
    { "reset in the middle", { action = "cut", how = "reset", after_bytes = 300 } },
    { "ended in the middle", { action = "cut", how = "end", after_bytes = 300 } },
    { "late", { action = "delay", before = 0.1 } },
    { "sent byte by byte", { action = "delay", bytes = 1 } },
    { "refused with 429", { action = "fail", status = 429, retry_after = 1 } },
    { "refused with 500", { action = "fail", status = 500 } },
    { "refused with 503", { action = "fail", status = 503 } },
    { "refused with 504", { action = "fail", status = 504 } },
    { "answered by a page of HTML", { action = "fail", status = 502, body = HTML } },
    { "answered by a page of HTML that says 200", { action = "fail", status = 200, body = HTML } },
    { "answered by text", { action = "fail", status = 500, body = "etcd is not well" } },
    { "refused at page 2", { action = "fail", status = 500, page = 2, count = 2 } },
    { "cut in page 2", { action = "cut", page = 2, after_bytes = 100 } },
    { "expired at page 2", { action = "expire", page = 2 } },
    { "expired at page 2 for good", { action = "expire", how = "no_token", page = 2 } },
    { "cut in its initial events",
        { action = "cut", verb = "watch", after_events = 2 }, streaming = true },
    { "ended in its initial events",
        { action = "cut", how = "end", verb = "watch", after_events = 2 }, streaming = true },
    { "without its last bookmark",
        { action = "bookmarks", how = "end", verb = "watch" }, streaming = true },
    { "broken in its initial events",
        { action = "event", how = "broken", at = 2 }, streaming = true },
    { "told twice in its initial events",
        { action = "event", how = "duplicate", at = 2 }, streaming = true },
}

local INITIAL = { "add a1=1 initial", "add a2=1 initial", "add a3=1 initial", "add a4=1 initial",
    "add a5=1 initial" }

local function describe_list_fault(it, cluster, sentence, fault, options)
    it("that is " .. sentence .. " is repeated until it is complete", function(scene)
        for i = 1, 5 do
            scene:create("a" .. i)
        end
        local rule = {
            verb = not options.streaming and "list" or nil, resource = "configmaps",
            namespace = scene.namespace,
        }
        for name, value in pairs(fault) do
            rule[name] = value
        end
        local id = assert(cluster.sim:fault(rule))
        local watched = scene:record(scene:informer {
            streaming_list = options.streaming or false, page_size = 2, idle_timeout = 0.5,
        })
        watched:starts_with(INITIAL)
        for _, left in ipairs(cluster.sim:faults()) do
            assert.is_false(left.id == id and left.hits == 0, "the fault was for nothing")
        end
        cluster.sim:heal()
        scene:create("z")
        watched:sees { "add z=1" }
    end)
end

local function describe_restore(it, cluster)
    it("of a cluster restored from a backup has the restored objects", function(scene)
        scene:create("a", "1")
        local watched = scene:record(scene:informer { idle_timeout = 0.3 })
        watched:starts_with { "add a=1 initial" }
        local version = assert(cluster.sim:snapshot())
        scene:update("a", "2")
        scene:create("b", "1")
        watched:sees { "update a 1>2", "add b=1" }
        assert(cluster.sim:restore(version))
        watched:sees_all { "update a 2>1", "delete b=1 unknown" }
        watched.history.breaches = {} -- versions must go back here
        scene:create("z")
        watched:sees { "add z=1" }
    end)
end

conformance.describe("A list", function(it, cluster)
    if cluster.fails_on_demand then
        for _, row in ipairs(LIST_FAULTS) do
            describe_list_fault(it, cluster, row[1], row[2], row)
        end
        describe_restore(it, cluster)
    end
end)

local BROKEN = { "short_length", "long_length", "chunks", "gzip", "no_http" }

local function describe_broken(it, cluster, how)
    it("whose answers are broken by " .. how .. " is requested again", function(scene)
        scene:create("a", "1")
        assert(cluster.sim:garble {
            how = how, verb = "list", resource = "configmaps", namespace = scene.namespace,
        })
        local watched = scene:record(scene:informer { streaming_list = false })
        watched:starts_with { "add a=1 initial" }
        assert.same({}, cluster.sim:faults())
    end)
end

local function describe_certificates(it, cluster)
    for how, said in pairs { expired = "expired", wrong_host = "name" } do
        it("whose certificate is " .. how .. " is not trusted until it is good", function(scene)
            scene:create("a", "1")
            local watched = scene:record()
            watched:starts_with { "add a=1 initial" }
            assert(cluster.sim:certificate { how = how })
            eventually(function()
                local message = watched.informer:status().error
                return message and message:lower():find(said, 1, true)
            end, function()
                return "the error says " .. said .. ", not "
                    .. tostring(watched.informer:status().error)
            end)
            scene:update("a", "2")
            assert(cluster.sim:certificate { how = "good" })
            watched:sees { "update a 1>2" }
        end)
    end
end

local function describe_handshakes(it, cluster)
    it("whose handshakes are slow is waited for", function(scene)
        scene:create("a", "1")
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        assert(cluster.sim:tls { how = "slow", seconds = 0.3, count = 2 })
        cluster.sim:cut { how = "reset", verb = "watch" }
        scene:update("a", "2")
        watched:sees { "update a 1>2" }
        cluster.sim:heal()
    end)
    it("whose handshakes stall is given up after a timeout, and reconnected", function(scene)
        scene:create("a", "1")
        assert(cluster.sim:tls { how = "stall", count = 0 })
        local watched = scene:record()
        eventually(function()
            local message = watched.informer:status().error
            return message and message:find("did not finish the TLS handshake in time", 1, true)
        end, function()
            return "the error says that it took too long, not "
                .. tostring(watched.informer:status().error)
        end)
        assert.is_true(cluster.sim:heal(cluster.sim:faults()[1].id))
        watched:starts_with { "add a=1 initial" }
    end)
end

conformance.describe("A server", function(it, cluster)
    if not cluster.fails_on_demand then
        return
    end
    it("that refuses connections for a while is reconnected", function(scene)
        scene:create("a", "1")
        cluster.sim:refuse { seconds = 0.3 }
        local watched = scene:record()
        watched:starts_with { "add a=1 initial" }
        local failures = watched.informer:status().failures
        cluster.sim:refuse { seconds = 1 }
        eventually(function()
            return watched.informer:status().failures > failures
        end, "the watch breaks")
        scene:create("z")
        watched:sees { "add z=1" }
    end)
    if cluster.over_network then
        for _, how in ipairs(BROKEN) do
            describe_broken(it, cluster, how)
        end
        describe_certificates(it, cluster)
        describe_handshakes(it, cluster)
    else
        it("in this process has no port to break, and says so", function(scene)
            scene:create("a", "1")
            assert(cluster.sim:garble { verb = "list", resource = "configmaps" })
            local watched = scene:record(scene:informer { streaming_list = false })
            eventually(function()
                local message = watched.informer:status().error
                return message and message:find("needs a socket", 1, true)
            end, "the error says why")
            watched:starts_with { "add a=1 initial" }
            assert.has_error(function()
                cluster.sim:certificate { how = "expired" }
            end)
            assert.has_error(function()
                cluster.sim:tls { how = "stall" }
            end)
        end)
    end
end)
