-- How a controller starts, what it waits for, timeouts, resync, delay, and how it stops.
local definition = require "definition"
local eventually = require "eventually"
local kubelua = require "kubelua"
local scheduler = require "kubelua.scheduler"
local world = require "controller_world"

local w

before_each(function()
    w = world.new()
end)

after_each(function()
    w:close()
end)

local FOO = definition "foos.example.com"

describe("a controller starts", function()
    it("when all of its caches have synced, and not before", function()
        w:apply("a")
        local controller = w:controller { reads = { "foos.example.com" } }
        eventually(function()
            local foos = controller:status().sources[2]
            return controller:status().sources[1].has_synced and foos.error
        end, "the ConfigMaps are synced, and the Foos are missing")
        assert.equal("starting", controller:status().state)
        assert.is_false(controller:has_synced())
        assert.same({}, w.runs)
        local foos = controller:status().sources[2]
        assert.equal("foos.example.com", foos.name)
        assert.equal("unknown_kind", foos.code)
        assert.matches("example.com", foos.error)
        assert(w.cluster:apply(FOO))
        assert.same({ "web/a" }, w:noted())
        w:rest(controller)
        assert.equal("running", controller:status().state)
    end)

    it("by itself, and has_synced is true when each key was reconciled once", function()
        for i = 1, 20 do
            w:apply("a" .. i)
        end
        local holds = true
        local controller = w:controller { workers = 1, reconcile = function(object)
            w:note(object.key)
            while holds and #w.runs == 20 do
                kubelua.sleep(1)
            end
            return nil, "failed is handled, too"
        end }
        assert.is_false(controller:has_synced())
        w:noted(20)
        assert.is_false(controller:has_synced())
        holds = false
        w.cluster:advance(1)
        w:rest(controller)
        assert.is_true(controller:has_synced())
    end)

    it("and shares its caches with other controllers and handlers of its client", function()
        w:apply("a")
        local one, two = w:controller { name = "one" }, w:controller { name = "two" }
        w:noted(2)
        w:rest(one)
        w:rest(two)
        local lists = 0
        for _, request in ipairs(w.cluster:requests()) do
            if request.method == "GET" and request.target:find("/configmaps", 1, true)
                and not request.target:find("resourceVersion=[1-9]") then
                lists = lists + 1
            end
        end
        assert.equal(1, lists)
    end)

    it("and refuses at once options that can never work", function()
        assert.has_error(function()
            kubelua.controller { "configmaps", client = w.client, labels = "a in (",
                reconcile = print }
        end)
    end)
end)

describe("a timeout", function()
    it("cancels the run and what it spawned, which is a failure", function()
        local ends = {}
        w:apply("a")
        local controller = w:controller { timeout = 10, reconcile = function()
            kubelua.spawn(function()
                ends[#ends + 1] = select(2, pcall(kubelua.sleep, 100)) and "child"
                error("not logged", 0)
            end)
            w:note("began")
            kubelua.sleep(100)
            w:note("not reached")
        end }
        w:noted()
        w.cluster:advance(9.9)
        assert.same({}, controller:status().failures)
        assert.equal("web/a", controller:status().running[1].key)
        w.cluster:advance(0.1)
        w:logged("controller spec: web/a has run for 10 s %(option timeout%), and is cancelled")
        w:logged("warn controller spec: ConfigMap web/a: it was cancelled after 10 s %(attempt 1")
        assert.equal("timeout", controller:status().failures[1].code)
        assert.same({ "child" }, ends)
        w.cluster:advance(0.2)
        assert.same({ "began" }, w:noted())
    end)

    it("leaves the key in progress until the function has returned", function()
        w:apply("a")
        local waits = true
        local controller = w:controller { timeout = 10, reconcile = function()
            w:note("began")
            pcall(kubelua.sleep, 1000) -- until its time is over
            while waits do
                coroutine.yield() -- lets other tasks have their turn, but is no call that waits
            end
        end }
        w:noted()
        w.cluster:advance(20)
        w:apply("a", "2")
        eventually(function() return controller:status().queue.adds >= 2 end, "the event is queued")
        assert.equal(1, controller:status().queue.in_progress)
        assert.same({}, w.runs)
        waits = false
        assert.same({ "began" }, w:noted())
    end)
end)

describe("resync", function()
    it("runs every key again after this time, behind all other keys", function()
        w:apply("a")
        w:apply("b")
        local controller = w:controller { resync = 100 }
        w:noted(2)
        w:rest(controller)
        w.cluster:advance(99.9)
        assert.same({}, w.runs)
        w.cluster:advance(0.1)
        w:noted(2)
        w.cluster:advance(200)
        assert.equal(4, #w:noted(4))
    end)

    it("does not end a backoff", function()
        w:apply("a")
        w:controller { resync = 1, reconcile = function()
            w:note("run")
            return nil, "wait", "unavailable", 50
        end }
        w:noted()
        w.cluster:advance(49)
        assert.same({}, w.runs)
    end)
end)

describe("delay", function()
    it("makes one run of the events of a key within so many seconds", function()
        local controller = w:controller { delay = 5 }
        w:rest(controller)
        for i = 1, 4 do
            w:apply("a", tostring(i))
        end
        eventually(function() return controller:status().queue.adds == 4 end, "all are queued")
        assert.same({}, w.runs)
        w.cluster:advance(4.9)
        assert.same({}, w.runs)
        w.cluster:advance(0.1)
        assert.same({ "web/a" }, w:noted())
        w.cluster:advance(10)
        assert.same({}, w.runs)
    end)
end)

describe("stop", function()
    it("cancels runs, begins none any more, and ends when the last has returned", function()
        local problem
        w:apply("a")
        w:apply("b")
        local controller = w:controller { workers = 1, reconcile = function()
            w:note("began")
            local ok
            ok, problem = pcall(kubelua.sleep, 100)
            assert(not ok)
            coroutine.yield()
            w:note("ended")
        end }
        w:noted()
        controller:stop()
        controller:stop()
        assert.same({ "ended" }, w:noted())
        assert.matches("cancelled", tostring(problem))
        eventually(function() return controller:status().state == "stopped" end, "stopped")
        w:apply("a", "2")
        assert.is_nil(controller:enqueue("web/a"))
        assert.same({}, w.runs)
        assert.equal(0, w:count_logged("error"))
    end)

    it("ends the wait for a kind, too", function()
        local controller = w:controller { "foos.example.com" }
        eventually(function() return controller:status().sources[1].error end, "it is missed")
        controller:stop()
        eventually(scheduler.is_idle, "nothing is left to wait for", 5)
    end)

    it("may be called inside reconcile", function()
        w:apply("a")
        local controller
        controller = w:controller { reconcile = function()
            controller:stop()
            w:note("stopped itself")
        end }
        w:noted()
        eventually(function() return controller:status().state == "stopped" end, "stopped")
    end)
end)

describe("a server that is gone for a while", function()
    it("loses no event", function()
        w:apply("a")
        local controller = w:controller {}
        w:noted()
        w:rest(controller)
        w.cluster:refuse(true)
        w:apply("a", "2")
        w:apply("b")
        eventually(function() return controller:status().sources[1].error end, "it is noticed")
        w.cluster:refuse(false)
        local keys = w:noted(2)
        table.sort(keys)
        assert.same({ "web/a", "web/b" }, keys)
    end)
end)
