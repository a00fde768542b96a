-- Calls that wait: in a task by yielding, elsewhere by running rounds of the loop meanwhile.
local core = require "kubelua.core"
local misuse = require "kubelua.misuse"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"

local waiting = {
    has_run = false, -- true once kubelua.run was called; for the command line
    -- Set by the command line: kubelua.run ends at `ends_at` at the latest. If `ends_waits`, that
    -- time, or a signal, also ends a script that waits outside of kubelua.run: the call raises
    -- waiting.ENDED.
    ends_at = math.huge,
    ends_waits = false,
    grace = 25, -- seconds that runs of controllers have after a signal; the command line sets it
    ENDED = setmetatable({}, { __tostring = function() return "the run has ended" end }),
    -- The message of a call outside of tasks that the end of the run interrupted.
    CANCELED = "the run was stopped",
    stopping = false, -- kubelua.stop() was called
    stopped_by = nil, ---@type kubelua.Script?
    -- Set while a script starts that can be replaced: true if its start is given up, because there
    -- is a newer one.
    is_given_up = nil, ---@type (fun(): boolean)?
}

local poller = tasks.poller
local signalled = false -- true once a signal came while the script waited

local function check_seconds(seconds, name)
    if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
        misuse(name .. ": the time must be a number of seconds, from 0")
    end
end

---The time that is so many seconds from now, on the machine's clock.
---@param seconds number?
---@param name string of the call, for messages
---@return number?
function waiting.deadline_of(seconds, name)
    if seconds == nil then
        return nil
    end
    check_seconds(seconds, name)
    return core.now() + seconds
end

---True if the run must end, and with it a wait outside of tasks.
---@return boolean
function waiting.must_end()
    return waiting.stopping or poller:caught() ~= nil
end

local function is_given_up()
    return waiting.is_given_up ~= nil and waiting.is_given_up()
end

---Raises outside of tasks if the start of the script is given up.
function waiting.end_if_given_up()
    if is_given_up() and not tasks.task_here() then
        error(waiting.ENDED, 0)
    end
end

-- Runs rounds until `condition()` is true, the deadline, or the end of the run.
local function run_rounds_until(deadline, condition)
    local function is_over()
        return condition() or waiting.must_end() or is_given_up()
    end
    while not condition() do
        if core.now() >= deadline or waiting.must_end() or is_given_up() then
            return false
        end
        scheduler.round(deadline, is_over)
    end
    return true
end

-- The same outside of kubelua.run. The second result is true if the end of the run came first. The
-- third is the error to raise, if the command line ends the script here.
local function run_rounds_outside(deadline, condition)
    if not waiting.ends_waits then
        local result = run_rounds_until(deadline, condition)
        return result, not result and waiting.must_end()
    end
    local catches = poller:catch()
    local ok, result = pcall(run_rounds_until, math.min(deadline, waiting.ends_at), condition)
    if catches then
        poller:release_unless_caught()
    end
    signalled = poller:caught() or signalled -- another call may have caught it
    if signalled or waiting.stopping or core.now() >= waiting.ends_at or is_given_up() then
        return false, true, waiting.ENDED
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

-- Wakes a task at that time, if nothing else does earlier.
local function wake_at(task, at)
    return scheduler.at(at, function()
        tasks.wake(task)
    end)
end

---Waits until `condition()` is true, or the time is over: in a task by yielding, elsewhere by
---running rounds. Returns true if the condition became true, and true as the second result if the
---end of the run came first. Raises in a cancelled task.
---@param name string of the call, for messages
---@param seconds number?
---@param condition fun(): boolean asked once a round; an event that makes it true wakes the poller
---@return boolean, boolean?
function waiting.wait(name, seconds, condition)
    local task = tasks.current(name)
    local deadline = waiting.deadline_of(seconds, name) or math.huge
    if not task then
        local result, is_ended, problem = run_rounds_outside(deadline, condition)
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
    tasks.end_if_cancelled()
    return condition()
end

-- Uses the clock of the task.
local function await_in_task(task, seconds, condition)
    local clock = task.clock
    local deadline = clock:now() + (seconds or math.huge)
    local timer = seconds and clock:at(deadline, function()
        tasks.wake(task)
    end)
    while not task.is_cancelled and not condition() and clock:now() < deadline do
        tasks.suspend()
    end
    if timer then
        timer.cancelled = true
    end
    return condition()
end

---The same, if the event that makes the condition true wakes the waiting task itself: then the wait
---costs nothing while others run. `clear` is always called, before it raises or returns.
---@param name string
---@param seconds number? on the clock of the task
---@param condition fun(): boolean
---@param clear fun()
---@return boolean, boolean?
function waiting.await(name, seconds, condition, clear)
    local task = tasks.current(name)
    if seconds then
        check_seconds(seconds, name)
    end
    if task then
        local result = await_in_task(task, seconds, condition)
        clear()
        tasks.end_if_cancelled()
        return result
    end
    local result, is_ended, problem = run_rounds_outside(
        core.now() + (seconds or math.huge), condition)
    clear()
    raise_end(problem)
    return result, is_ended
end

-- Sleeps on the clock of the task. 0 seconds: the other tasks have their turn.
local function sleep_in_task(task, seconds)
    local clock = task.clock
    local timer = clock:at(clock:now() + seconds, function()
        tasks.wake(task)
    end)
    tasks.suspend()
    timer.cancelled = true
    tasks.end_if_cancelled()
end

---Waits: in a task, only that task; elsewhere it runs rounds meanwhile. 0 seconds: the other tasks
---have their turn.
---@param seconds number
function waiting.sleep(seconds)
    if seconds == nil then
        misuse("kubelua.sleep: how many seconds?")
    end
    local task = tasks.current("kubelua.sleep")
    local deadline = waiting.deadline_of(seconds, "kubelua.sleep")
    if task then
        return sleep_in_task(task, seconds)
    end
    if seconds == 0 then
        scheduler.round(deadline)
    elseif tasks.clock.pass then
        return tasks.clock:pass(seconds)
    elseif tasks.clock.stands then
        misuse("kubelua.sleep: only cluster:advance of the test moves the clock, and the test "
            .. "cannot call it while the script itself waits; sleep inside kubelua.spawn")
    end
    local _, _, problem = run_rounds_outside(deadline, function()
        return false
    end)
    raise_end(problem)
end

return waiting
