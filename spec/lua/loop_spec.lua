-- The loop without a client: timers, coroutines, misuse, and the descriptor for other loops.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local timers = require "kubelua.timers"

describe("timers", function()
    it("fire in the order of their times, then of their arrival", function()
        local heap, fired = timers.new(), {}
        for i, at in ipairs { 5, 1, 3, 1, 2, 3 } do
            heap:add(at, function() fired[#fired + 1] = at .. ":" .. i end)
        end
        local timer = heap:due(10)
        while timer do
            timer.fire()
            timer = heap:due(10)
        end
        assert.same({ "1:2", "1:4", "2:5", "3:3", "3:6", "5:1" }, fired)
    end)

    it("fire when they are due, and not if they are cancelled", function()
        local heap = timers.new()
        local timer = heap:add(5, function() end)
        assert.is_nil(heap:due(4))
        timer.cancelled = true
        assert.is_nil(heap:first())
        assert.is_nil(heap:due(9))
    end)

    it("are removed by the thousand when they are cancelled", function()
        local heap, fired = timers.new(), {}
        for at = 10, 1, -1 do
            heap:add(at, function() fired[#fired + 1] = at end)
        end
        for _ = 1, 10000 do
            heap:add(3600, function() end).cancelled = true
        end
        assert.is_true(#heap <= 100)
        local timer = heap:due(10)
        while timer do
            timer.fire()
            timer = heap:due(10)
        end
        assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, fired)
    end)

    it("keep their order when there are many", function()
        local heap = timers.new()
        math.randomseed(7)
        for _ = 1, 500 do
            heap:add(math.random(1, 100), function() end)
        end
        local last, count = 0, 0
        local timer = heap:due(100)
        while timer do
            assert.is_true(timer.at >= last)
            last, count = timer.at, count + 1
            timer = heap:due(100)
        end
        assert.equal(500, count)
    end)
end)

describe("the loop", function()
    it("runs a spawned function, with its arguments", function()
        local got
        kubelua.spawn(function(...) got = { ... } end, 1, "two")
        kubelua.step(1)
        assert.same({ 1, "two" }, got)
    end)

    it("runs other tasks while one sleeps", function()
        local order = {}
        kubelua.spawn(function()
            kubelua.sleep(0.02)
            order[#order + 1] = "slept"
            kubelua.stop()
        end)
        kubelua.spawn(function() order[#order + 1] = "quick" end)
        kubelua.run(5)
        assert.same({ "quick", "slept" }, order)
    end)

    it("lets other tasks have their turn in a sleep of 0 seconds", function()
        local done = false
        kubelua.spawn(function()
            while not done do
                kubelua.sleep(0)
            end
        end)
        kubelua.spawn(function() done = true end)
        kubelua.run(0.05)
        assert.is_true(done)
        done = false
        kubelua.spawn(function() done = true end)
        kubelua.sleep(0)
        assert.is_true(done)
    end)

    it("reports an error that is not a string by its content, with its traceback", function()
        local trace = require "kubelua.trace"
        local _, message = trace.call(function() error({ code = 1 }) end)
        assert.matches('^{"code":1}\n', message)
        assert.matches("loop_spec.lua:%d+: in function", message)
        local printable = setmetatable({}, { __tostring = function() return "by itself" end })
        local within = {}
        within.within = within
        for expected, problem in pairs {
            ["^by itself"] = printable, ["^true"] = true,
            ["^{ print = function: "] = { print = print }, ["^{ within = table: "] = within,
            ["without a text"] = setmetatable({}, { __tostring = function() error("no") end }),
        } do
            _, message = trace.call(error, problem)
            assert.matches(expected, message)
        end
        _, message = trace.call(error)
        assert.matches("^nil", message)
    end)

    it("shows the script's part of a traceback, whatever names the script uses", function()
        local trace = require "kubelua.trace"
        local function protected(depth) -- a name that KubeLua itself uses
            return depth == 0 and error("meant") or (protected(depth - 1) and 1)
        end
        for _, depth in ipairs { 1, 5, 100 } do
            local _, message = coroutine.wrap(trace.call)(protected, depth)
            local lines = select(2, message:gsub("\n", ""))
            assert.is_true(lines <= depth + 3 and lines <= 24, message)
            assert.not_matches("busted", message, 1, true)
            assert.not_matches("pcall", message, 1, true)
            assert.matches("loop_spec.lua:%d+: in [^\n]+$", message)
        end
    end)

    it("resumes a task that yields by itself", function()
        local order = {}
        kubelua.log("info", "the warning that follows is meant")
        kubelua.spawn(function()
            order[#order + 1] = "before"
            coroutine.yield()
            order[#order + 1] = "after"
            kubelua.stop()
        end)
        kubelua.spawn(function() order[#order + 1] = "other" end)
        kubelua.run(5)
        assert.same({ "before", "other", "after" }, order)
    end)

    it("dispatches while sleep blocks outside of it", function()
        local ran = false
        kubelua.spawn(function() ran = true end)
        kubelua.sleep(0.01)
        assert.is_true(ran)
    end)

    it("calls a function again and again, until it is stopped", function()
        local count, ticker = 0, nil
        ticker = kubelua.every(0.002, function()
            count = count + 1
            if count == 3 then
                ticker:stop()
                kubelua.stop()
            end
        end)
        kubelua.run(5)
        kubelua.step(0.02)
        assert.equal(3, count)
    end)

    it("goes on after an error in a task", function()
        local after = false
        kubelua.log("info", "the error that follows is meant")
        kubelua.spawn(function() error("meant: in spawn") end)
        kubelua.spawn(function() after = true end)
        kubelua.step(1)
        assert.is_true(after)
    end)

    it("ends a run when the seconds are over", function()
        local start = core.now()
        kubelua.run(0.03)
        local took = core.now() - start
        assert.is_true(took >= 0.03 and took < 1)
    end)

    it("refuses to run inside of itself", function()
        local message
        kubelua.spawn(function()
            local _, problem = pcall(kubelua.run, 1)
            message = problem
        end)
        kubelua.step(1)
        assert.matches("inside a handler", message)
    end)

    it("refuses to wait in a coroutine that it did not make", function()
        local message
        kubelua.spawn(function()
            coroutine.wrap(function()
                local _, problem = pcall(kubelua.sleep, 1)
                message = problem
            end)()
        end)
        kubelua.step(1)
        assert.matches("coroutine of your own", message)
    end)

    it("refuses to wait in a function that C called, and is not woken by that later", function()
        local message, took
        kubelua.spawn(function()
            local _, problem = pcall(table.sort, { 2, 1 }, function(a, b)
                kubelua.sleep(0.01)
                return a < b
            end)
            local from = core.now()
            kubelua.sleep(0.1)
            message, took = problem, core.now() - from
            kubelua.stop()
        end)
        kubelua.run(5)
        assert.matches("which cannot wait", message)
        assert.is_true(took >= 0.1)
    end)

    it("raises for times that are not valid", function()
        assert.has_error(function() kubelua.sleep(-1) end)
        assert.has_error(function() kubelua.sleep() end)
        assert.has_error(function() kubelua.run("x") end)
        assert.has_error(function() kubelua.step(0 / 0) end)
        assert.has_error(function() kubelua.every(0, print) end)
        assert.has_error(function() kubelua.spawn(1) end)
    end)

    it("has a descriptor that is readable when there is work", function()
        assert.is_true(kubelua.fd() >= 0)
        kubelua.step()
        local poller = require("kubelua.tasks").poller
        assert.is_false(poller:wait(0))
        kubelua.spawn(function() end)
        assert.is_true(poller:wait(0))
        kubelua.step()
        assert.is_false(poller:wait(0))
        kubelua.every(0.01, function() end):stop()
        kubelua.spawn(function() kubelua.sleep(0.01) end)
        kubelua.step()
        assert.is_true(poller:wait(1))
        kubelua.step()
    end)
end)
