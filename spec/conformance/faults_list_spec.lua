-- Informers under ordered faults of lists (docs/FAULTS.md), and of a cluster that is set back to an
-- earlier state: they sync in the end, and handlers see each object exactly once.
local conformance = require "conformance"

local HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>\n"

-- A fault of the first list, in pages of two or as a stream of events (`streaming`).
local FAULTS = {
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

local function describe_fault(it, cluster, sentence, fault, options)
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
        for _, row in ipairs(FAULTS) do
            describe_fault(it, cluster, row[1], row[2], row)
        end
        describe_restore(it, cluster)
    end
end)
