-- What kubelua.spawn returns: a function that runs beside all others, to be waited for or ended.
local log = require "kubelua.log"
local loop = require "kubelua.loop"
local misuse = require "kubelua.misuse"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local trace = require "kubelua.trace"

---@class kubelua.SpawnedTask
local Task = {}
Task.__index = Task

-- The field of its state: the coroutine (kubelua.Task), what came of it, and what waits for it. A
-- table as the key keeps it out of a script's way.
local STATE = {}

local function unpack_results(results)
    return (table.unpack or unpack)(results, 1, results.n)
end

-- An error that nothing waits for is logged, once; a wait that comes later still gets it.
local function tell(state, problem)
    state.results = { nil, problem, "error", n = 3 }
    if #state.waiting == 0 then
        scheduler.failures = scheduler.failures + 1
        log("error", "kubelua.spawn failed: %s", problem)
    end
end

local function keep(state, ok, ...)
    if ok then
        state.results = { n = select("#", ...), ... }
    elseif ... ~= trace.CANCELED then
        tell(state, (...))
    end
end

local function body(state, f, ...)
    scheduler.count()
    keep(state, trace.call(f, ...))
end

-- Without results, it was cancelled, or memory was short for keeping them.
local function results_without(ok, problem)
    if ok or problem == trace.CANCELED then
        return { nil, tostring(trace.CANCELED), "canceled", n = 3 }
    end
    return { nil, tostring(problem), "error", n = 3 }
end

local function finish(state, ok, problem)
    state.is_over = true
    for _, waiting in ipairs(state.waiting) do
        scheduler.wake(waiting)
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

local function remove(list, value)
    for i, each in ipairs(list) do
        if each == value then
            return table.remove(list, i)
        end
    end
end

---Waits until the function has returned, and returns what it returned. An error of it is
---nil, traceback, "error"; one that was cancelled is nil, message, "canceled".
---@param seconds number? then nil, message, "timeout", and it goes on; default: for ever
---@return any ...
function Task:wait(seconds)
    local state = state_of(self, "wait")
    scheduler.check_bound("task:wait", seconds)
    local waiting = scheduler.current("task:wait")
    if waiting and waiting == state.task then
        misuse("task:wait: a task cannot wait for itself")
    end
    if waiting then
        state.waiting[#state.waiting + 1] = waiting
    end
    local _, is_ended = loop.await("task:wait", seconds, function()
        return state.is_over
    end, function()
        remove(state.waiting, waiting)
    end)
    if state.is_over then
        return unpack_results(state.results)
    elseif is_ended then
        return nil, loop.CANCELED, "canceled"
    end
    return nil, state.task.what .. " has not ended after " .. seconds .. " s", "timeout"
end

---Ends it at the call that it waits in, which raises an error, as every later one does; that is not
---logged. One that has not begun never does.
function Task:cancel()
    local state = state_of(self, "cancel")
    if not state.is_over then
        state.task:cancel()
    end
end

local tasks = {}

---Runs a function in a coroutine of the loop, where calls that wait hold up nothing else.
---@param f function
---@param ... any what it is called with
---@return kubelua.SpawnedTask
function tasks.spawn(f, ...)
    if type(f) ~= "function" then
        misuse("kubelua.spawn: a function expected, not a " .. type(f))
    end
    local state = { is_over = false, results = nil, waiting = {} }
    state.task = scheduler.task(running.name("kubelua.spawn", f), body, state, f, ...)
    state.task.on_over = function(ok, problem)
        finish(state, ok, problem)
    end
    return setmetatable({ [STATE] = state }, Task)
end

return tasks
