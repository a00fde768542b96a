-- A round of the loop that ends because memory was short for a call: the timer or the task that had
-- its turn has another one. spec/exhaust tries each allocation; here the calls themselves fail.
local core = require "kubelua.core"
local kubelua = require "kubelua"
local nginx = require "kubelua.nginx"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"

local MESSAGE = "not enough memory"

-- Lets the next call of a function in a table fail.
local function fail_once(functions, name)
    local real = functions[name]
    functions[name] = function()
        functions[name] = real
        error(MESSAGE, 0)
    end
end

local function step_without_memory()
    local ok, message = pcall(kubelua.step, 0)
    assert.is_false(ok)
    assert.equal(MESSAGE, message)
end

describe("a round without memory for a call", function()
    it("fires its timer in the next round, once", function()
        local fired, calls = 0, 0
        scheduler.at(core.now(), function()
            calls = calls + 1
            if calls == 1 then
                error(MESSAGE, 0)
            end
            fired = fired + 1
        end)
        step_without_memory()
        for _ = 1, 3 do
            kubelua.step(0)
        end
        assert.equal(1, fired)
    end)

    it("fires no timer again whose function is wrong", function()
        local calls = 0
        scheduler.at(core.now(), function()
            calls = calls + 1
            error("wrong", 0)
        end)
        assert.is_false((pcall(kubelua.step, 0)))
        kubelua.step(0)
        assert.equal(1, calls)
    end)

    local function assert_task_is_kept(functions)
        local runs, others = 0, 0
        kubelua.spawn(function() runs = runs + 1 end)
        kubelua.spawn(function() others = others + 1 end)
        fail_once(functions, "resume")
        step_without_memory()
        for _ = 1, 3 do
            kubelua.step(0)
        end
        assert.same({ 1, 1 }, { runs, others })
    end

    it("gives a task its turn in the next round if the turn could not begin", function()
        assert_task_is_kept(tasks)
    end)

    it("gives a task its turn in the next round if its coroutine was not resumed", function()
        assert_task_is_kept(nginx)
    end)

    it("resumes a task that was waiting, and not more often than it was woken", function()
        local turns = 0
        local task
        kubelua.spawn(function()
            task = tasks.task_here()
            while turns < 2 do
                tasks.park()
                turns = turns + 1
            end
        end)
        kubelua.step(0)
        tasks.wake(task)
        fail_once(nginx, "resume")
        step_without_memory()
        kubelua.step(0)
        kubelua.step(0)
        assert.equal(1, turns)
        task:cancel()
        kubelua.step(0)
    end)
end)
