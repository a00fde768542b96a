-- The end of a run, after a signal or kubelua.stop(). After a signal, the runs of controllers have
-- some time first. Then the tasks that wait are cancelled, and at last functions run that the
-- process needs before it ends, such as the release of a lease.
local core = require "kubelua.core"
local log = require "kubelua.log"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"

local ending = {
    -- Seconds that the end of a run may take: a signal ends the process within one second. Specs
    -- change it.
    LONGEST = 0.8,
    is_begun = false, -- no run of a controller may begin
}

-- Of the LONGEST seconds, cancelled tasks have this many to end.
local TO_CANCEL = 0.3

local hooks = {} -- functions, in the order in which they were added

---Registers a function. It runs as a task at the end of each run, after the other tasks were
---cancelled. It may wait and send requests. Cancelling and all such functions have 0.8 s together,
---and the programs of cancelled tasks their own grace.
---@param f fun()
---@return fun() remove unregisters it
function ending.on_end(f)
    local hook = { f = f }
    hooks[#hooks + 1] = hook
    return function()
        for i, each in ipairs(hooks) do
            if each == hook then
                table.remove(hooks, i)
                return
            end
        end
    end
end

-- Runs rounds until `is_done(task)` for each task, or the deadline.
local function run_until(deadline, list, is_done)
    local function is_over()
        for _, task in ipairs(list) do
            if not is_done(task) then
                return false
            end
        end
        return true
    end
    while not is_over() and core.now() < deadline do
        scheduler.round(deadline, is_over)
    end
end

-- Cancels the call that a task waits in. A task that serves then goes on in the next run.
local function end_call(task)
    local is_idle = task.is_resting or (task.serves and not task.has_begun)
    if not is_idle and not task.outlasts and not task.is_cancelled then
        task.is_ended = true
        task:cancel()
    end
end

local function has_ended(task)
    return task.is_over or task.is_resting or not task.is_cancelled
end

-- The time until which the last of the programs may take to end; 0: none is running.
local function programs_end_by(list)
    local latest = 0
    for _, task in ipairs(list) do
        if task.ends_by and not has_ended(task) then
            latest = math.max(latest, task.ends_by)
        end
    end
    return latest
end

local function cancel_tasks(list, deadline)
    for _, task in ipairs(list) do
        end_call(task)
    end
    repeat
        run_until(deadline, list, has_ended)
        deadline = programs_end_by(list)
    until core.now() >= deadline
end

local function call_hook(f)
    local ok, problem = trace.call(f)
    if not ok and problem ~= trace.CANCELED then
        log("error", "at the end of the run: %s", problem)
    end
end

local function run_hooks(deadline)
    local list = {}
    for i, hook in ipairs(hooks) do
        local task = tasks.task(running.name("at the end", hook.f), call_hook, hook.f)
        task.at_end = true
        list[i] = task
    end
    run_until(deadline, list, function(task)
        return task.is_over
    end)
end

local function is_at_end(task)
    return task.at_end
end

local function is_not_at_end(task)
    return not task.at_end
end

local function is_outlasting(task)
    return task.outlasts
end

local function run_end()
    local now = core.now()
    cancel_tasks(running.select(is_not_at_end), now + TO_CANCEL)
    scheduler.begin_hooks()
    run_hooks(math.max(now, core.now() - TO_CANCEL) + ending.LONGEST)
    cancel_tasks(running.select(is_at_end), core.now() + TO_CANCEL / 10)
end

local function is_run(task)
    return task.is_run
end

---Lets the runs of controllers go on, for so many seconds, while no new one begins.
---@param seconds number
---@param is_hurried fun(): boolean true: they have no more time
function ending.drain(seconds, is_hurried)
    ending.is_begun = true
    local deadline = core.now() + seconds
    local function is_over()
        return is_hurried() or #running.select(is_run) == 0
    end
    while not is_over() and core.now() < deadline do
        scheduler.round(deadline, is_over)
    end
end

---Cancels the tasks that wait, and runs the functions of on_end. Takes about 0.8 s at most, and the
---time that programs need.
function ending.finish()
    ending.is_begun = true
    scheduler.begin_end()
    local ok, problem = pcall(run_end)
    scheduler.finish_end()
    ending.is_begun = false
    for _, task in ipairs(running.select(is_outlasting)) do
        tasks.wake(task) -- a controller may begin runs again
    end
    if not ok then
        error(problem, 0)
    end
end

return ending
