-- Controllers with a leader: which one reconciles, and what happens when a lease is gained and
-- lost.
local requests = require "kubelua.requests"
local loop = require "kubelua.loop"
local eventually = require "eventually"
local kubelua = require "kubelua"
local world = require "controller_world"

local LONGEST, FINISH = loop.LONGEST_END, requests.FINISH

local w

before_each(function()
    w = world.new { now = "2026-01-01T00:00:00Z" }
end)

after_each(function()
    loop.LONGEST_END, requests.FINISH = LONGEST, FINISH
    w.cluster:heal()
    w:close()
end)

local function start(identity, options)
    options = options or {}
    options.name = identity
    options.client = assert(w.cluster:connect())
    options.leader = { name = "spec", identity = identity }
    options.reconcile = options.reconcile or function(object, run)
        run.memo.count = (run.memo.count or 0) + 1
        w:note(identity .. " " .. object.name .. " " .. run.memo.count)
    end
    return w:controller(options)
end

-- Lets time pass until a controller is in a state.
local function until_state(controller, state)
    eventually(function()
        w.cluster:advance(0.5)
        return controller:status().state == state
    end, function() return controller:status().name .. " is " .. state end)
end

local function sorted(list)
    table.sort(list)
    return list
end

describe("a controller with a leader", function()
    it("reconciles while it holds the Lease; another one stands by with full caches", function()
        w:apply("a")
        local one = start("one")
        until_state(one, "running")
        assert.same({ "one a 1" }, w:noted())
        local two = start("two")
        until_state(two, "standby")
        w:apply("b")
        assert.same({ "one b 1" }, w:noted())
        assert.equal("one", two:status().leader.holder)
        assert.is_false(two:has_synced())
        eventually(function() return two:status().queue.waiting == 2 end, "its queue is full")
        assert.equal(0, two:status().queue.in_progress)
    end)

    it("runs all keys when it gains the Lease, which is released at a clean end", function()
        w:apply("a")
        local one = start("one")
        until_state(one, "running")
        w:noted()
        local two = start("two")
        until_state(two, "standby")
        w:apply("b")
        w:noted()
        local before = w.cluster:now()
        one:stop()
        until_state(two, "running")
        assert.is_true(w.cluster:now() - before < 10, "the Lease was released")
        assert.same({ "two a 1", "two b 1" }, sorted(w:noted(2)))
        assert.is_true(two:has_synced())
    end)

    it("cancels its runs when it loses the Lease, and runs their keys when it gains it", function()
        w:apply("a")
        local one = start("one", { timeout = math.huge, reconcile = function(_, run)
            w:note("began")
            local ok = pcall(kubelua.sleep, 1000)
            w:note(ok and "slept" or "cancelled")
            run.client:patch("configmaps", "web/a", { data = { value = "not written" } })
        end })
        until_state(one, "running")
        assert.same({ "began" }, w:noted())
        w.cluster:refuse(true)
        until_state(one, "standby")
        assert.same({ "cancelled" }, w:noted())
        w.cluster:refuse(false)
        w.runs = {}
        until_state(one, "running")
        assert.same({ "began" }, w:noted())
        assert.same({}, one:status().failures)
        assert.equal(0, w:count_logged("attempt"))
        assert.equal("1", w.cluster:get("configmaps", "web/a").data.value)
    end)

    it("has empty memos after it has lost the Lease", function()
        w:apply("a")
        local one = start("one")
        until_state(one, "running")
        w:noted()
        w:apply("a", "2")
        assert.same({ "one a 2" }, w:noted())
        w.cluster:refuse(true)
        until_state(one, "standby")
        w:apply("a", "3")
        w.cluster:refuse(false)
        until_state(one, "running")
        assert.equal("one a 1", w:noted()[1])
    end)

    it("raises for wrong options at once", function()
        local ok, problem = pcall(kubelua.controller, { "configmaps", client = w.client,
            reconcile = print, leader = { name = "spec", leese = 5 } })
        assert.is_false(ok)
        assert.matches("do you mean 'lease'", problem)
    end)
end)

describe("the end of a run", function()
    it("cancels what runs, releases the Lease, and loses no key", function()
        w:apply("a")
        local holds = true
        local one = start("one", { reconcile = function()
            w:note("began")
            if holds then
                kubelua.sleep(1000)
            end
            w:note("ended")
        end })
        until_state(one, "running")
        assert.same({ "began" }, w:noted())
        holds = false
        kubelua.stop()
        kubelua.run(5)
        assert.equal("", w.cluster:get("leases", "default/spec").spec.holderIdentity or "")
        assert.equal(0, one:status().queue.in_progress)
        assert.equal("standby", one:status().state)
        assert.same({}, w.runs)
        until_state(one, "running") -- the script runs the loop again
        assert.same({ "began", "ended" }, w:noted(2))
        assert.equal(0, w:count_logged("attempt"))
    end)

    local function holder()
        return w.cluster:get("leases", "default/spec").spec.holderIdentity or ""
    end

    local function patch_late(run)
        assert(run:patch { data = { value = "late" } })
    end

    -- A leader whose write waits at the server as its run ends; `during` is called in that end.
    -- `reconcile` sends the write; default: patch_late.
    local function end_with_a_write(during, reconcile)
        local problem
        reconcile = reconcile or patch_late
        w:apply("a")
        w.cluster:delay { verb = "patch", resource = "configmaps", before = 3600 }
        local one = start("one", { timeout = math.huge, reconcile = function(_, run)
            w:note("began")
            reconcile(run)
        end })
        until_state(one, "running")
        assert.same({ "began" }, w:noted())
        eventually(function() return w.cluster:faults()[1].hits == 1 end, "it was sent")
        loop.LONGEST_END = 60
        local remove = loop.on_end(function()
            local ok, why = pcall(during, one)
            problem = not ok and why or nil
        end)
        kubelua.stop()
        kubelua.run(5)
        remove()
        assert.is_nil(problem)
        return one
    end

    it("releases the Lease after a write that was sent, not ahead of it", function()
        requests.FINISH = 60
        local one = end_with_a_write(function(controller)
            assert.equal("one", holder())
            assert.equal(1, controller:status().queue.in_progress)
            w.cluster:heal()
        end)
        assert.equal("", holder())
        local map = w.cluster:get("configmaps", "web/a")
        assert.equal("late", map.data.value)
        local lease = w.cluster:get("leases", "default/spec")
        assert.is_true(tonumber(lease.resource_version) > tonumber(map.resource_version))
        assert.equal(0, one:status().queue.in_progress)
        assert.equal(0, w:count_logged("not released"))
    end)

    it("releases the Lease after a write of a task that a run has spawned", function()
        requests.FINISH = 60
        local one = end_with_a_write(function()
            for _ = 1, 20 do -- a release that does not wait is sent meanwhile
                collectgarbage() -- only the release itself keeps its task
                kubelua.sleep(0.01)
            end
            assert.equal("one", holder())
            w.cluster:heal()
        end, function(run) kubelua.spawn(patch_late, run) end)
        assert.equal("", holder())
        assert.equal("late", w.cluster:get("configmaps", "web/a").data.value)
        assert.equal("standby", one:status().state)
        assert.equal(0, w:count_logged("not released"))
    end)

    it("releases no Lease while a write that was sent may still take effect", function()
        local one = end_with_a_write(function() end)
        assert.equal("one", holder())
        assert.equal(0, one:status().queue.in_progress)
        assert.equal(1, w:count_logged("not released"))
        w.cluster:heal()
        until_state(one, "running") -- once it has expired
    end)

    it("releases no Lease after a 504: that write may still take effect", function()
        w:apply("a")
        w.cluster:fail { verb = "patch", resource = "configmaps", status = 504, count = 0 }
        local one = start("one", { reconcile = function(_, run)
            local _, _, code = run:patch { data = { value = "late" } }
            w:note(code)
        end })
        until_state(one, "running")
        assert.same({ "unavailable" }, w:noted())
        kubelua.stop()
        kubelua.run(5)
        assert.equal("one", holder())
    end)
end)
