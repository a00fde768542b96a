-- kubelua.spawn: runs a function in its own task. The result has wait and cancel.
local lines = require "kubelua.log_lines"
local misuse = require "kubelua.misuse"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

---@class kubelua.SpawnedTask
local Task = {}
Task.__index = Task

-- The key of the state: the task of the loop, its results, and the tasks that wait for it. The key
-- is a table, so no field of a script can collide with it.
local STATE = {}

local function unpack_results(results)
    return (table.unpack or unpack)(results, 1, results.n)
end

-- Keeps an error as the result. If nothing waits for it, it is also logged.
local function report_error(state, problem)
    state.results = { nil, problem, "error", n = 3 }
    if #state.waiting == 0 then
        tasks.failures = tasks.failures + 1
        lines.write("error", "kubelua.spawn failed: " .. problem,
            { msg = "kubelua.spawn failed", error = problem })
    end
end

local function keep_results(state, ok, ...)
    if ok then
        state.results = { n = select("#", ...), ... }
    elseif ... ~= trace.CANCELED then
        report_error(state, (...))
    end
end

local function run_function(state, f, ...)
    scheduler.count()
    keep_results(state, trace.call(f, ...))
end

-- The results if there are none: the task was cancelled, or memory was short.
local function results_without(ok, problem)
    if ok or problem == trace.CANCELED then
        return { nil, tostring(trace.CANCELED), "canceled", n = 3 }
    end
    return { nil, tostring(problem), "error", n = 3 }
end

local function finish_spawned(state, ok, problem)
    state.is_over = true
    for _, waiter in ipairs(state.waiting) do
        tasks.wake(waiter)
    end
    state.results = state.results or results_without(ok, problem)
end

local function state_of(task, call)
    local state = type(task) == "table" and task[STATE]
    if not state then
        misuse("task:%s: call it on what kubelua.spawn returned", call)
    end
    return state
end

local function remove_value(list, value)
    for i, each in ipairs(list) do
        if each == value then
            return table.remove(list, i)
        end
    end
end

---Waits until the function has returned, and returns its results. If it raised: nil, traceback,
---"error". If it was cancelled: nil, message, "canceled".
---@param seconds number? then nil, message, "timeout", and the function goes on; default: no limit
---@return any ...
function Task:wait(seconds)
    local state = state_of(self, "wait")
    scheduler.check_bound("task:wait", seconds)
    local waiter = tasks.current("task:wait")
    if waiter and waiter == state.task then
        misuse("task:wait: a task cannot wait for itself")
    end
    if waiter then
        state.waiting[#state.waiting + 1] = waiter
    end
    local _, is_ended = waiting.await("task:wait", seconds, function()
        return state.is_over
    end, function()
        remove_value(state.waiting, waiter)
    end)
    if state.is_over then
        return unpack_results(state.results)
    elseif is_ended then
        return nil, waiting.CANCELED, "canceled"
    end
    return nil, state.task.what .. " has not ended after " .. seconds .. " s", "timeout"
end

---Cancels the function: the call that it waits in raises an error, as every later call does; the
---error is not logged. A function that has not begun never does.
function Task:cancel()
    local state = state_of(self, "cancel")
    if not state.is_over then
        state.task:cancel()
    end
end

local script_tasks = {}

---Runs a function in a task of the loop. Its calls that wait suspend only this task.
---@param f function
---@param ... any its arguments
---@return kubelua.SpawnedTask
function script_tasks.spawn(f, ...)
    if type(f) ~= "function" then
        misuse("kubelua.spawn: a function expected, not a " .. type(f))
    end
    local state = { is_over = false, results = nil, waiting = {} }
    state.task = tasks.task(running.name("kubelua.spawn", f), run_function, state, f, ...)
    state.task.is_spawned = true
    state.task.on_over = function(ok, problem)
        finish_spawned(state, ok, problem)
    end
    return setmetatable({ [STATE] = state }, Task)
end

return script_tasks
