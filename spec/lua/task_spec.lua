-- kubelua.spawn: tasks that are awaited and cancelled; and scopes: the tasks of one piece of
-- work, such as a run of a controller.
local kubelua = require "kubelua"
local core = require "kubelua.core"
local scheduler = require "kubelua.scheduler"
local scopes = require "kubelua.scope"
local tasks = require "kubelua.tasks"

local function settle()
    while scheduler.has_ready() do
        kubelua.step(0)
    end
end

-- The lines that f logs, as text.
local function logged(f)
    local lines, real = {}, core.log
    core.log = function(level, message)
        lines[#lines + 1] = level .. " " .. message
    end
    local ok, problem = pcall(f)
    core.log = real
    assert(ok, problem)
    return table.concat(lines, "\n")
end

describe("a wait for a task", function()
    it("that is dropped before its turn has none", function()
        local has_run = false
        local task = tasks.task("dropped", function() has_run = true end)
        tasks.drop(task)
        settle()
        assert.is_false(has_run)
    end)

    it("returns all results of the function, nils too, before and after it ends", function()
        local task = kubelua.spawn(function(...)
            kubelua.sleep(0)
            return nil, ..., nil
        end, 1)
        local function count(...)
            return select("#", ...), ...
        end
        local many = { count(task:wait()) }
        assert.equal(3, many[1])
        assert.equal(1, many[3])
        assert.equal(3, (count(task:wait(0))))
    end)

    it("lets other tasks run, also when many wait for one", function()
        local order, task = {}, nil
        for i = 1, 3 do
            kubelua.spawn(function()
                local result = i .. task:wait()
                order[#order + 1] = result
            end)
        end
        task = kubelua.spawn(function()
            kubelua.sleep(0.001)
            return "x"
        end)
        assert.equal("x", task:wait(5))
        settle()
        assert.same({ "1x", "2x", "3x" }, order)
        assert.is_true(scheduler.is_idle())
    end)

    it("returns nil, the traceback and \"error\" if the function raised, which is not logged",
        function()
            local results
            local log = logged(function()
                local task = kubelua.spawn(function()
                    kubelua.sleep(0.001)
                    error("meant")
                end)
                kubelua.spawn(function() results = { task:wait() } end)
                results = { task:wait() }
            end)
            assert.equal("", log)
            assert.is_nil(results[1])
            assert.matches("meant\nstack traceback:", results[2])
            assert.equal("error", results[3])
        end)

    it("that begins after the error still gets it; the error was logged once", function()
        local task
        local log = logged(function()
            task = kubelua.spawn(error, "meant")
            settle()
        end)
        assert.matches("^error kubelua.spawn failed: meant", log)
        assert.equal("", logged(function()
            assert.equal("error", select(3, task:wait()))
        end))
    end)

    it("ends when its time is over, and the task goes on", function()
        local go, done
        local task = kubelua.spawn(function()
            while not go do
                kubelua.sleep(0.001)
            end
            done = true
        end)
        local value, message, code = task:wait(0.001)
        assert.is_nil(value)
        assert.matches("has not ended after 0.001 s", message)
        assert.equal("timeout", code)
        code = kubelua.spawn(function()
            return (select(3, task:wait(0)))
        end):wait()
        assert.equal("timeout", code)
        go = true
        task:wait()
        assert.is_true(done)
    end)

    it("for itself raises, and so does one for a value that is no task", function()
        local task, message
        task = kubelua.spawn(function()
            message = select(2, pcall(task.wait, task))
        end)
        task:wait()
        assert.matches("cannot wait for itself", message)
        assert.has_error(function() task.wait({}) end)
        assert.has_error(function() task:wait("x") end)
    end)
end)

describe("a task that is cancelled", function()
    it("raises at the call that it waits in, and at every later one, without a log line", function()
        local raised, task = {}, nil
        local log = logged(function()
            task = kubelua.spawn(function()
                raised[1] = select(2, pcall(kubelua.sleep, 3600))
                raised[2] = select(2, pcall(kubelua.sleep, 3600))
                raised[3] = select(2, pcall(kubelua.spawn(function() end).wait))
                kubelua.sleep(0)
                raised[4] = "went on"
            end)
            settle()
            task:cancel()
            settle()
        end)
        assert.equal("", log)
        assert.equal("the task was cancelled", tostring(raised[1]))
        assert.equal(raised[1], raised[2])
        assert.is_nil(raised[4])
        local value, message, code = task:wait()
        assert.is_nil(value)
        assert.equal("the task was cancelled", message)
        assert.equal("canceled", code)
    end)

    it("wakes what waits for it", function()
        local code
        local task = kubelua.spawn(kubelua.sleep, 3600)
        kubelua.spawn(function() code = select(3, task:wait()) end)
        settle()
        task:cancel()
        settle()
        assert.equal("canceled", code)
        assert.is_true(scheduler.is_idle())
    end)

    it("before it has begun never begins", function()
        local began = false
        local task = kubelua.spawn(function() began = true end)
        task:cancel()
        assert.equal("canceled", select(3, task:wait()))
        assert.is_false(began)
    end)

    it("by itself goes on until its next wait", function()
        local order, task = {}, nil
        task = kubelua.spawn(function()
            task:cancel()
            order[1] = "on"
            kubelua.sleep(0)
            order[2] = "further"
        end)
        settle()
        assert.same({ "on" }, order)
    end)

    it("still returns the results of its function, if that returned", function()
        local task = kubelua.spawn(function()
            pcall(kubelua.sleep, 3600)
            return "cleared up"
        end)
        settle()
        task:cancel()
        assert.equal("cleared up", task:wait())
        task:cancel() -- everything it had is freed
        assert.equal("cleared up", task:wait())
    end)

    it("leaves no timer and no wait behind", function()
        local sleeper = kubelua.spawn(kubelua.sleep, 3600)
        local waiter = kubelua.spawn(function() sleeper:wait(3600) end)
        settle()
        waiter:cancel()
        settle()
        sleeper:cancel()
        settle()
        assert.is_true(scheduler.is_idle())
    end)

    it("and catches every error in a loop is slowed down, then abandoned", function()
        local turns, calls = 0, 0
        local task = kubelua.spawn(function()
            while true do
                pcall(kubelua.sleep, 1)
                calls = calls + 1
            end
        end)
        settle()
        local log = logged(function()
            task:cancel()
            local other = kubelua.spawn(function()
                while calls < 100 do
                    turns = turns + 1
                    coroutine.yield()
                end
            end)
            task:wait()
            other:wait()
        end)
        assert.matches("catches that error again and again", log)
        assert.is_true(turns >= 50)
        assert.equal("canceled", select(3, task:wait()))
    end)

    it("that nothing can wake is collected with all that it refers to", function()
        local weak = setmetatable({}, { __mode = "k" })
        do
            local big = {}
            weak[big] = true
            local task
            task = kubelua.spawn(function() -- luacheck: ignore 311
                kubelua.sleep(3600)
                return big, task
            end)
            settle()
            task:cancel()
            settle()
        end
        collectgarbage()
        collectgarbage()
        assert.is_nil(next(weak))
    end)
end)

describe("a scope", function()
    it("is inherited by the tasks that its tasks make", function()
        local scope, seen = scopes.new(), {}
        local task = tasks.task("spec", function()
            seen.outer = tasks.scope_here()
            kubelua.spawn(function()
                seen.inner = tasks.scope_here()
            end)
        end)
        tasks.join_scope(task, scope)
        assert.is_nil(tasks.scope_here())
        settle()
        assert.equal(scope, seen.outer)
        assert.equal(scope, seen.inner)
        assert.is_true(scope:is_empty()) -- the tasks have ended
    end)

    it("cancels its tasks, and the tasks that join later", function()
        local scope, ended, began = scopes.new(), 0, 0
        local outer
        local function wait()
            local ok = pcall(kubelua.sleep, 3600)
            ended = ended + (ok and 0 or 1)
            kubelua.spawn(function() began = began + 1 end)
            kubelua.sleep(3600)
            began = began + 1
        end
        outer = tasks.task("spec", function()
            kubelua.spawn(wait)
            wait()
        end)
        tasks.join_scope(outer, scope)
        settle()
        scope:cancel()
        settle()
        assert.equal(2, ended)
        assert.equal(0, began)
        assert.is_true(scope:is_empty())
        assert.is_true(scheduler.is_idle())
    end)
end)
