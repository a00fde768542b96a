-- Everything that must end a wait does so at any moment: events, timers, stops and signals.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local scheduler = require "kubelua.scheduler"
local Sim = require "kubelua.sim"
local tasks = require "kubelua.tasks"

local function own_pid()
    local file = assert(io.open("/proc/self/stat"))
    local pid = file:read("*n")
    file:close()
    return string.format("%d", pid)
end

-- Not by os.execute: that ignores SIGINT while it runs.
local function interrupt()
    io.popen("kill -INT " .. own_pid()):close()
end

local function took(f, ...)
    local start = core.now()
    f(...)
    return core.now() - start
end

local sim, client, maps

local function add_map(name)
    assert(sim:apply { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = name, namespace = "default" } })
end

-- How long a run takes that calls f while it pulls events: outside of any handler, and before it
-- would wait.
local function run_through(f)
    local calls = 0
    assert(maps:index("x", function(map)
        if map.name == "trigger" then
            calls = calls + 1
            f()
        end
    end))
    assert(maps:wait_synced(10))
    while kubelua.step(0) > 0 do
    end
    add_map("trigger")
    assert.is_true(tasks.poller:wait(10))
    local seconds = took(kubelua.run, 10)
    assert.equal(1, calls)
    return seconds
end

before_each(function()
    sim = assert(Sim.new())
    client = assert(sim:connect())
    maps = assert(client:informer { "configmaps" })
end)

after_each(function()
    maps:stop()
    client:close()
    sim:close()
end)

describe("step", function()
    it("runs the handlers of events that wait, in one call", function()
        local names = {}
        local handler = maps:on { add = function(map) names[#names + 1] = map.name end }
        assert(maps:wait_synced(10))
        kubelua.step(0)
        while not handler:has_synced() do
            kubelua.step(1)
        end
        add_map("new")
        while handler:backlog() == 0 do
            tasks.poller:wait(10)
        end
        assert.equal(1, kubelua.step(0))
        assert.equal("new", names[#names])
    end)

    it("ends a turn at a yield", function()
        local turns = 0
        kubelua.spawn(function()
            for _ = 1, 3 do
                turns = turns + 1
                coroutine.yield()
            end
        end)
        for i = 1, 3 do
            kubelua.step(0)
            assert.equal(i, turns)
        end
        kubelua.step(0)
        assert.is_true(scheduler.is_idle())
    end)
end)

describe("a stop", function()
    it("before the run ends it", function()
        kubelua.spawn(kubelua.stop)
        kubelua.sleep(0.01) -- the stop comes while something else dispatches
        assert.is_true(took(kubelua.run, 10) < 5)
        assert.is_true(took(kubelua.run, 0.05) >= 0.05) -- only that one run is ended
    end)

    it("outside of any handler ends the round", function()
        assert.is_true(run_through(kubelua.stop) < 5)
    end)
end)

describe("a signal #signals", function()
    it("ends the run, and the next run is like any other", function()
        local signal
        kubelua.spawn(interrupt)
        signal = kubelua.run(10)
        assert.equal(2, signal)
        assert.is_nil(kubelua.run(0.01))
    end)

    it("is not lost where it comes between two waits", function()
        assert.is_true(run_through(interrupt) < 5)
    end)

    it("ends the second of two runs, too", function()
        for _ = 1, 2 do
            kubelua.spawn(interrupt)
            assert.equal(2, kubelua.run(10))
        end
    end)
end)

describe("times", function()
    it("may be absurdly large", function()
        local woken
        kubelua.spawn(function()
            kubelua.sleep(1e15)
            woken = true
        end)
        local ticker = kubelua.every(1e300, function() woken = true end)
        kubelua.spawn(function() kubelua.sleep(math.huge) end)
        assert.is_true(took(kubelua.run, 0.02) < 5)
        kubelua.spawn(kubelua.stop)
        kubelua.run(1e18)
        kubelua.spawn(function() end)
        kubelua.step(math.huge)
        assert.is_nil(woken)
        ticker:stop()
    end)

    it("do not exist for a ticker that was stopped before it began", function()
        local count = 0
        local ticker = kubelua.every(0.001, function() count = count + 1 end)
        ticker:stop()
        kubelua.run(0.02)
        assert.equal(0, count)
    end)

    it("of two wake-ups at once resume a task once", function()
        local resumed = 0
        local parked = tasks.task("spec", function()
            while true do
                tasks.park()
                resumed = resumed + 1
            end
        end)
        kubelua.step(0)
        tasks.wake(parked)
        tasks.wake(parked)
        kubelua.step(0)
        kubelua.step(0)
        assert.equal(1, resumed)
    end)
end)
