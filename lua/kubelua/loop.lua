-- kubelua.step and kubelua.run: they decide when rounds of the loop run, and how a run ends.
-- scheduler.lua says what a round does; waiting.lua has the calls that wait.
--
-- A run ends after a signal or kubelua.stop(). After a signal, the runs of controllers have some
-- time first. Then the tasks that wait are cancelled, and at last functions run that the process
-- needs before it ends, such as the release of a lease.
local core = require "kubelua.core"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"
local options = require "kubelua.options"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local scripts = require "kubelua.script"
local tasks = require "kubelua.tasks"
local trace = require "kubelua.trace"
local waiting = require "kubelua.waiting"

local loop = {
    -- Seconds that the end of a run may take: a signal ends the process within one second. Specs
    -- change it.
    LONGEST_END = 0.8,
    is_ending = false, -- no run of a controller may begin
    begins = nil, ---@type fun()? # called when a run begins
    is_complete = nil, ---@type (fun(): boolean)? # of the command: a run also ends when it is true
    signal = nil, ---@type integer? # what ended the last run
    ended_at = nil, ---@type number? # when it had nothing left to do but its end
}

-- Of the LONGEST_END seconds, cancelled tasks have this many to end.
local TO_CANCEL = 0.3

local hooks = {} -- functions, in the order in which they were added

---Registers a function. It runs as a task at the end of each run, after the other tasks were
---cancelled. It may wait and send requests. Cancelling and all such functions have 0.8 s together,
---and the programs of cancelled tasks their own grace.
---@param f fun()
---@return fun() remove unregisters it
function loop.on_end(f)
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
    run_hooks(math.max(now, core.now() - TO_CANCEL) + loop.LONGEST_END)
    cancel_tasks(running.select(is_at_end), core.now() + TO_CANCEL / 10)
end

local function is_run(task)
    return task.is_run
end

-- Lets the runs of controllers go on, for so many seconds, while no new one begins. is_hurried():
-- they have no more time.
local function drain_runs(seconds, is_hurried)
    loop.is_ending = true
    local deadline = core.now() + seconds
    local function is_over()
        return is_hurried() or #running.select(is_run) == 0
    end
    while not is_over() and core.now() < deadline do
        scheduler.round(deadline, is_over)
    end
end

-- Cancels the tasks that wait, and runs the functions of on_end. Takes about 0.8 s at most, and the
-- time that programs need.
local function finish_run()
    loop.is_ending = true
    scheduler.begin_end()
    local ok, problem = pcall(run_end)
    scheduler.finish_end()
    loop.is_ending = false
    for _, task in ipairs(running.select(is_outlasting)) do
        tasks.wake(task) -- a controller may begin runs again
    end
    if not ok then
        error(problem, 0)
    end
end

-- The controllers that can never work, because their configuration or an option is wrong for good.
-- kubelua.run and the command end with a failure because of them; nothing else would tell.
local never_work = {} -- texts: "controller foo can never work: ..."

---Logs at once that a controller can never work, and remembers it.
---@param where string the line of the script: "foo.lua:5: ", or ""
---@param what string "controller foo"
---@param message string
function loop.add_hopeless(where, what, message)
    local text = what .. " can never work: " .. message
    never_work[#never_work + 1] = text
    log("error", "%s", where .. text)
end

---Forgets them: another script runs now, or again. Returns what restores them.
---@return fun()
function loop.forget_hopeless()
    local before = never_work
    never_work = {}
    return function() never_work = before end
end

---Says which controllers can never work; nil: all can.
---@return string?
function loop.tell_hopeless()
    return never_work[1] and table.concat(never_work, "; ")
end

local poller = tasks.poller
local is_finished = false -- true once the tasks that waited have been ended

local function refuse_nesting(name)
    if tasks.running then
        misuse(name .. " inside a handler; let the handler return, or use kubelua.sleep")
    end
end

---Runs one round: dispatches what is pending, and waits for it at most that long.
---@param seconds number? default 0
---@return integer count how many handlers ran
function loop.step(seconds)
    refuse_nesting("kubelua.step")
    if seconds and seconds ~= 0 then
        tasks.refuse_host("kubelua.step with a time")
        nginx.refuse_wait("kubelua.step with a time")
    end
    waiting.end_if_given_up()
    return scheduler.round(waiting.deadline_of(seconds, "kubelua.step") or core.now())
end

-- True if the runs of controllers have no more time: another signal came, or kubelua.stop().
local function is_hurried()
    return waiting.stopping or poller:caught_second()
end

-- Ends the tasks that wait, and runs the hooks of the end. First logs what a signal interrupted,
-- and gives the runs of controllers some time.
local function end_run(signal, grace)
    is_finished = true
    if signal and grace > 0 and not waiting.stopping and running.tell_grace(signal, grace) then
        poller:catch_again()
        drain_runs(grace, is_hurried)
    end
    if signal then
        running.tell(signal)
    end
    finish_run()
end

-- True if the run must end, or has done all that the command line asks for.
local function is_complete()
    return waiting.must_end() or loop.is_complete ~= nil and loop.is_complete()
end

-- Runs rounds until `is_over()` is true, or the deadline. Returns the signal that ended it, if one
-- did.
local function run_rounds(deadline, is_over, grace)
    if loop.begins then
        loop.begins()
    end
    waiting.has_run, is_finished = true, false
    poller:catch()
    local ok, problem = pcall(function()
        repeat
            scheduler.round(deadline, is_over)
        until is_over() or core.now() >= deadline
        loop.ended_at = core.now()
        if waiting.must_end() then
            end_run(poller:caught(), grace)
        end
    end)
    local signal = poller:release()
    loop.signal, waiting.stopping = signal, false
    if not ok then
        error(problem, 0)
    elseif signal and not is_finished then -- it came after the last round
        end_run(signal, grace)
    end
    return signal
end

---What kubelua.run takes.
---@class kubelua.RunOptions
---@field seconds? number default: for ever
---@field grace? number seconds that runs of controllers have after SIGINT or SIGTERM, before they
---are cancelled (25)

local RUN = { seconds = "number", grace = "number" }

-- The seconds, and the grace.
local function read_run_options(given)
    if type(given) ~= "table" then
        return given, waiting.grace
    end
    options.check("kubelua.run", given, RUN)
    local grace = given.grace or waiting.grace
    waiting.deadline_of(grace, "kubelua.run: grace")
    return given.seconds, grace
end

---Dispatches until kubelua.stop(), SIGINT, SIGTERM, or until the seconds are over. A kubelua.stop()
---that was called earlier also counts: a handler may call it while the script waits for something
---else. Raises instead of waiting for ever if nothing is left to run because a controller can never
---work.
---@param given (number|kubelua.RunOptions)? how many seconds; default: for ever
---@return integer? signal the number of the signal that ended it
function loop.run(given)
    refuse_nesting("kubelua.run")
    nginx.refuse("kubelua.run", nginx.STEP)
    local seconds, grace = read_run_options(given)
    local till = waiting.deadline_of(seconds, "kubelua.run") or math.huge
    local leave = tasks.mains[coroutine.running()]
    if leave then -- a script under test: the test dispatches
        return leave(given)
    end
    tasks.refuse_host("kubelua.run")
    local deadline = math.min(till, waiting.ends_at)
    local is_told, problem = deadline < math.huge, nil
    local signal = run_rounds(deadline, function()
        problem = not seconds and scheduler.is_idle() and loop.tell_hopeless() or nil
        if problem then
            return true
        end
        if not is_told and scheduler.is_idle() then
            is_told = true
            log("warn", "kubelua.run: no handler, timer or spawned function is left; it waits "
                .. "until it is stopped")
        end
        return is_complete()
    end, grace)
    if problem then
        misuse("kubelua.run: nothing is left to run: %s", problem)
    end
    return signal
end

---The same for the command line, which also ends when nothing is left to wait for.
---@return integer? signal
function loop.run_until_idle()
    return run_rounds(waiting.ends_at, function()
        return is_complete() or scheduler.is_idle()
    end, waiting.grace)
end

---When a call of kubelua.run that begins now ends at the latest, and its grace.
---@param given (number|kubelua.RunOptions)? what it gets
---@return number till, number grace
function loop.plan(given)
    local seconds, grace = read_run_options(given)
    return waiting.deadline_of(seconds, "kubelua.run") or math.huge, grace
end

---The same for a script that can be replaced: it goes on while there is nothing to do, and also
---returns when `is_wanted()`. True: the run has ended, or its time is over.
---@param till number
---@param grace number
---@param is_wanted fun(): boolean
---@return boolean is_over, integer? signal
function loop.run_until(till, grace, is_wanted)
    local deadline, is_over = math.min(till, waiting.ends_at), false
    local signal = run_rounds(deadline, function()
        is_over = waiting.must_end()
        return is_over or is_wanted()
    end, grace)
    return is_over or signal ~= nil or core.now() >= deadline, signal
end

---The same for a server, which works on other threads: it goes on while the loop has nothing to do.
---@param seconds number? default: for ever
---@return integer? signal
function loop.serve(seconds)
    return run_rounds(waiting.deadline_of(seconds, "serve") or math.huge, waiting.must_end,
        waiting.grace)
end

---Ends kubelua.run once the handler that calls it returns.
function loop.stop()
    waiting.stopping, waiting.stopped_by = true, scripts.here()
    poller:wake()
end

---Ends the tasks that still wait, before the process ends; does nothing if a run has done it.
function loop.finish()
    if not is_finished then
        end_run(poller:caught(), waiting.grace)
    end
end

---A descriptor that is readable when step() has work; KubeLua owns it.
---@return integer
function loop.fd()
    return poller:fd()
end

return loop
