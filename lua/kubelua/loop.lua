-- When the loop runs: step, run and the calls that wait. What it runs is in scheduler.lua.
local core = require "kubelua.core"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"

local loop = {
    has_run = false, -- whether kubelua.run was called, for the command line
    -- For the command line too: when run() ends at the latest, and whether that moment, or a
    -- signal, also ends a script that waits outside of it. Such a wait then raises loop.ENDED.
    ends_at = math.huge,
    ends_waits = false,
    ENDED = setmetatable({}, { __tostring = function() return "the run has ended" end }),
}

local poller = scheduler.poller
local stopping = false
local signalled = false -- whether a signal came while the script waited

local function refuse_nesting(name)
    if scheduler.running then
        misuse(name .. " inside a handler; let the handler return, or use kubelua.sleep")
    end
end

local function check_seconds(seconds, name)
    if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
        misuse(name .. ": the time must be a number of seconds, from 0")
    end
end

local function deadline_of(seconds, name)
    if seconds == nil then
        return nil
    end
    check_seconds(seconds, name)
    return core.now() + seconds
end

---Dispatches what is pending, and waits for it at most that long.
---@param seconds number? default 0
---@return integer count of the handlers that ran
function loop.step(seconds)
    refuse_nesting("kubelua.step")
    return scheduler.round(deadline_of(seconds, "kubelua.step") or core.now())
end

local function must_end()
    return stopping or poller:caught()
end

-- Runs rounds until `is_over()`, or the time is over; the signal that ended it, if one did.
local function run(deadline, is_over)
    loop.has_run = true
    poller:catch()
    local ok, problem = pcall(function()
        repeat
            scheduler.round(deadline, is_over)
        until is_over() or core.now() >= deadline
    end)
    local signal = poller:release()
    stopping = false
    if signal then
        running.tell(signal)
    end
    if not ok then
        error(problem, 0)
    end
    return signal
end

---Dispatches until kubelua.stop(), SIGINT or SIGTERM, or the seconds are over. A stop that came
---before, from a handler that ran while something else waited, counts.
---@param seconds number? default: for ever
---@return integer? signal the number of the signal that ended it
function loop.run(seconds)
    refuse_nesting("kubelua.run")
    local deadline = math.min(deadline_of(seconds, "kubelua.run") or math.huge, loop.ends_at)
    local is_told = deadline < math.huge
    return run(deadline, function()
        if not is_told and scheduler.is_idle() then
            is_told = true
            log("warn", "kubelua.run: no handler, timer or spawned function is left; it waits "
                .. "until it is stopped")
        end
        return must_end()
    end)
end

---The same for the command line, which ends when nothing is left to wait for.
---@return integer? signal
function loop.run_until_idle()
    return run(loop.ends_at, function()
        return must_end() or scheduler.is_idle()
    end)
end

---The same for a server, whose work is not the loop's.
---@param seconds number? default: for ever
---@return integer? signal
function loop.serve(seconds)
    return run(deadline_of(seconds, "serve") or math.huge, must_end)
end

---Ends kubelua.run after the handler that calls it.
function loop.stop()
    stopping = true
    poller:wake()
end

-- Runs rounds until `condition()` is true, the time is over, or a signal that is caught has come.
local function dispatch(deadline, condition)
    local function is_over()
        return condition() or poller:caught()
    end
    while not condition() do
        if core.now() >= deadline or poller:caught() then
            return false
        end
        scheduler.round(deadline, is_over)
    end
    return true
end

-- The same outside of run(), where the command line ends a script too.
local function dispatch_outside(deadline, condition)
    if not loop.ends_waits then
        return dispatch(deadline, condition)
    end
    local catches = poller:catch()
    local ok, result = pcall(dispatch, math.min(deadline, loop.ends_at), condition)
    signalled = catches and poller:caught() or signalled
    if catches and not signalled then
        poller:release() -- a signal that came stays caught: the next one ends the process
    end
    if signalled or core.now() >= loop.ends_at then
        error(loop.ENDED, 0)
    elseif not ok then
        error(result, 0)
    end
    return result
end

-- Has a task go on at that time, if nothing else wakes it before; others have their turn first.
local function wake_at(task, at)
    return scheduler.at(at, function()
        scheduler.wake(task)
    end)
end

---Waits until `condition()` is true or the time is over: in a task by yielding, elsewhere by
---dispatching meanwhile. Returns whether it became true.
---@param name string of the call, for messages
---@param seconds number?
---@param condition fun(): boolean looked at once a round; what makes it true wakes the poller
---@return boolean
function loop.wait(name, seconds, condition)
    local task = scheduler.current(name)
    local deadline = deadline_of(seconds, name) or math.huge
    if not task then
        return dispatch_outside(deadline, condition)
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
    local deadline = deadline_of(seconds, "kubelua.sleep")
    if task then
        sleep_in_task(task, seconds)
        return
    end
    if seconds == 0 then
        scheduler.round(deadline)
    elseif scheduler.clock.stands then
        misuse("kubelua.sleep: the clock stands until the test calls cluster:advance, which it can "
            .. "not while the script itself waits; sleep in kubelua.spawn")
    end
    dispatch_outside(deadline, function()
        return false
    end)
end

---Readable when step() has work; belongs to KubeLua.
---@return integer
function loop.fd()
    return poller:fd()
end

return loop
