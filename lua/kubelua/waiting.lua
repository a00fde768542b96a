-- Calls that wait: in a task by yielding, elsewhere by dispatching meanwhile. loop.lua, which
-- completes this table, has the runs.
local core = require "kubelua.core"
local ending = require "kubelua.ending"
local misuse = require "kubelua.misuse"
local scheduler = require "kubelua.scheduler"

local loop = {
    has_run = false, -- whether kubelua.run was called, for the command line
    -- For the command line too: when run() ends at the latest, and whether that moment, or a
    -- signal, also ends a script that waits outside of it. Such a wait then raises loop.ENDED.
    ends_at = math.huge,
    ends_waits = false,
    ENDED = setmetatable({}, { __tostring = function() return "the run has ended" end }),
    -- The message of what a script waits for outside of tasks, where the end comes first.
    CANCELED = "the run was stopped",
    on_end = ending.on_end,
    stopping = false, -- kubelua.stop() was called
}

local poller = scheduler.poller
local signalled = false -- whether a signal came while the script waited

local function check_seconds(seconds, name)
    if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
        misuse(name .. ": the time must be a number of seconds, from 0")
    end
end

---Seconds from now, on the clock of the machine.
---@param seconds number?
---@param name string of the call, for messages
---@return number?
function loop.deadline_of(seconds, name)
    if seconds == nil then
        return nil
    end
    check_seconds(seconds, name)
    return core.now() + seconds
end

---True if a run, and what a script waits for outside of tasks, is to end.
---@return boolean
function loop.must_end()
    return loop.stopping or poller:caught() ~= nil
end

-- Runs rounds until `condition()` is true, the time is over, or the run is to end.
local function dispatch(deadline, condition)
    local function is_over()
        return condition() or loop.must_end()
    end
    while not condition() do
        if core.now() >= deadline or loop.must_end() then
            return false
        end
        scheduler.round(deadline, is_over)
    end
    return true
end

-- The same outside of run(); true as the second result: the end came first. The command line ends a
-- script there too: the third result is what has to be raised.
local function dispatch_outside(deadline, condition)
    if not loop.ends_waits then
        local result = dispatch(deadline, condition)
        return result, not result and loop.must_end()
    end
    local catches = poller:catch()
    local ok, result = pcall(dispatch, math.min(deadline, loop.ends_at), condition)
    signalled = catches and poller:caught() or signalled
    if catches and not signalled then
        poller:release() -- a signal that came stays caught: the next one ends the process
    end
    if signalled or loop.stopping or core.now() >= loop.ends_at then
        return false, true, loop.ENDED
    elseif not ok then
        error(result, 0)
    end
    return result
end

local function raise_end(problem)
    if problem then
        error(problem, 0)
    end
end

-- Has a task go on at that time, if nothing else wakes it before; others have their turn first.
local function wake_at(task, at)
    return scheduler.at(at, function()
        scheduler.wake(task)
    end)
end

---Waits until `condition()` is true or the time is over: in a task by yielding, elsewhere by
---dispatching meanwhile. Returns whether it became true, and whether the end came first. Raises in
---a task that is cancelled.
---@param name string of the call, for messages
---@param seconds number?
---@param condition fun(): boolean looked at once a round; what makes it true wakes the poller
---@return boolean, boolean?
function loop.wait(name, seconds, condition)
    local task = scheduler.current(name)
    local deadline = loop.deadline_of(seconds, name) or math.huge
    if not task then
        local result, is_ended, problem = dispatch_outside(deadline, condition)
        raise_end(problem)
        return result, is_ended
    end
    local timer = deadline < math.huge and wake_at(task, deadline)
    while not task.is_cancelled and not condition() and core.now() < deadline do
        scheduler.suspend_for(condition)
    end
    if timer then
        timer.cancelled = true
    end
    scheduler.end_if_cancelled()
    return condition()
end

-- By the clock of the task.
local function await_in_task(task, seconds, condition)
    local clock = task.clock
    local deadline = clock:now() + (seconds or math.huge)
    local timer = seconds and clock:at(deadline, function()
        scheduler.wake(task)
    end)
    while not task.is_cancelled and not condition() and clock:now() < deadline do
        scheduler.suspend()
    end
    if timer then
        timer.cancelled = true
    end
    return condition()
end

---The same where what makes the condition true wakes the task that waits: it costs nothing while
---others run. `clear` is called in any case, before it raises or returns.
---@param name string
---@param seconds number? on the clock of the task
---@param condition fun(): boolean
---@param clear fun()
---@return boolean, boolean?
function loop.await(name, seconds, condition, clear)
    local task = scheduler.current(name)
    if seconds then
        check_seconds(seconds, name)
    end
    if task then
        local result = await_in_task(task, seconds, condition)
        clear()
        scheduler.end_if_cancelled()
        return result
    end
    local result, is_ended, problem = dispatch_outside(
        core.now() + (seconds or math.huge), condition)
    clear()
    raise_end(problem)
    return result, is_ended
end

-- The wait of a task, on its own clock; 0 seconds let the others have their turn.
local function sleep_in_task(task, seconds)
    local clock = task.clock
    local timer = clock:at(clock:now() + seconds, function()
        scheduler.wake(task)
    end)
    scheduler.suspend()
    timer.cancelled = true
    scheduler.end_if_cancelled()
end

---Waits: alone in a handler or spawned coroutine, dispatching meanwhile elsewhere. 0 seconds let
---the others have their turn.
---@param seconds number
function loop.sleep(seconds)
    if seconds == nil then
        misuse("kubelua.sleep: how many seconds?")
    end
    local task = scheduler.current("kubelua.sleep")
    local deadline = loop.deadline_of(seconds, "kubelua.sleep")
    if task then
        return sleep_in_task(task, seconds)
    end
    if seconds == 0 then
        scheduler.round(deadline)
    elseif scheduler.clock.stands then
        misuse("kubelua.sleep: the clock stands until the test calls cluster:advance, which it can "
            .. "not while the script itself waits; sleep in kubelua.spawn")
    end
    local _, _, problem = dispatch_outside(deadline, function()
        return false
    end)
    raise_end(problem)
end

return loop
