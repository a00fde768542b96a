-- kubelua.step and kubelua.run: they decide when rounds of the loop run. scheduler.lua says what a
-- round does; waiting.lua has the calls that wait.
local core = require "kubelua.core"
local ending = require "kubelua.ending"
local hopeless = require "kubelua.hopeless"
local log = require "kubelua.log"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"
local options = require "kubelua.options"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"
local tasks = require "kubelua.tasks"
local waiting = require "kubelua.waiting"

local loop = {}

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
        ending.drain(grace, is_hurried)
    end
    if signal then
        running.tell(signal)
    end
    ending.finish()
end

-- Runs rounds until `is_over()` is true, or the deadline. Returns the signal that ended it, if one
-- did.
local function run_rounds(deadline, is_over, grace)
    waiting.has_run, is_finished = true, false
    poller:catch()
    local ok, problem = pcall(function()
        repeat
            scheduler.round(deadline, is_over)
        until is_over() or core.now() >= deadline
        if waiting.must_end() then
            end_run(poller:caught(), grace)
        end
    end)
    local signal = poller:release()
    waiting.stopping = false
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
    local leave = tasks.mains[coroutine.running()]
    if leave then -- a script under test: the test dispatches
        return leave()
    end
    tasks.refuse_host("kubelua.run")
    local till = waiting.deadline_of(seconds, "kubelua.run") or math.huge
    local deadline = math.min(till, waiting.ends_at)
    local is_told, problem = deadline < math.huge, nil
    local signal = run_rounds(deadline, function()
        problem = not seconds and scheduler.is_idle() and hopeless.tell() or nil
        if problem then
            return true
        end
        if not is_told and scheduler.is_idle() then
            is_told = true
            log("warn", "kubelua.run: no handler, timer or spawned function is left; it waits "
                .. "until it is stopped")
        end
        return waiting.must_end()
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
        return waiting.must_end() or scheduler.is_idle()
    end, waiting.grace)
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
    waiting.stopping = true
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
