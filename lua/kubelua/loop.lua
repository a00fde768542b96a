-- When the loop runs: step and run. What it runs is in scheduler.lua, and calls that wait are in
-- waiting.lua.
local core = require "kubelua.core"
local ending = require "kubelua.ending"
local log = require "kubelua.log"
local loop = require "kubelua.waiting"
local misuse = require "kubelua.misuse"
local nginx = require "kubelua.nginx"
local running = require "kubelua.running"
local scheduler = require "kubelua.scheduler"

local poller = scheduler.poller
local is_finished = false -- what waited in tasks has been ended

local function refuse_nesting(name)
    if scheduler.running then
        misuse(name .. " inside a handler; let the handler return, or use kubelua.sleep")
    end
end

---Dispatches what is pending, and waits for it at most that long.
---@param seconds number? default 0
---@return integer count of the handlers that ran
function loop.step(seconds)
    refuse_nesting("kubelua.step")
    if seconds and seconds ~= 0 then
        nginx.refuse_wait("kubelua.step with a time")
    end
    return scheduler.round(loop.deadline_of(seconds, "kubelua.step") or core.now())
end

-- Ends what waits, and what runs at the end of a run; a signal is told before.
local function finish(signal)
    is_finished = true
    if signal then
        running.tell(signal)
    end
    ending.finish()
end

-- Runs rounds until `is_over()`, or the time is over; the signal that ended it, if one did.
local function run(deadline, is_over)
    loop.has_run, is_finished = true, false
    poller:catch()
    local ok, problem = pcall(function()
        repeat
            scheduler.round(deadline, is_over)
        until is_over() or core.now() >= deadline
        if loop.must_end() then
            finish(poller:caught())
        end
    end)
    local signal = poller:release()
    loop.stopping = false
    if not ok then
        error(problem, 0)
    elseif signal and not is_finished then -- it came last of all
        finish(signal)
    end
    return signal
end

---Dispatches until kubelua.stop(), SIGINT or SIGTERM, or the seconds are over. A stop that came
---before, from a handler that ran while something else waited, counts.
---@param seconds number? default: for ever
---@return integer? signal the number of the signal that ended it
function loop.run(seconds)
    refuse_nesting("kubelua.run")
    nginx.refuse("kubelua.run", nginx.STEP)
    local deadline = math.min(loop.deadline_of(seconds, "kubelua.run") or math.huge, loop.ends_at)
    local is_told = deadline < math.huge
    return run(deadline, function()
        if not is_told and scheduler.is_idle() then
            is_told = true
            log("warn", "kubelua.run: no handler, timer or spawned function is left; it waits "
                .. "until it is stopped")
        end
        return loop.must_end()
    end)
end

---The same for the command line, which ends when nothing is left to wait for.
---@return integer? signal
function loop.run_until_idle()
    return run(loop.ends_at, function()
        return loop.must_end() or scheduler.is_idle()
    end)
end

---The same for a server, whose work is not the loop's.
---@param seconds number? default: for ever
---@return integer? signal
function loop.serve(seconds)
    return run(loop.deadline_of(seconds, "serve") or math.huge, loop.must_end)
end

---Ends kubelua.run after the handler that calls it.
function loop.stop()
    loop.stopping = true
    poller:wake()
end

---Ends what still waits, before the process does; nothing where a run has done that.
function loop.finish()
    if not is_finished then
        finish(poller:caught())
    end
end

---Readable when step() has work; belongs to KubeLua.
---@return integer
function loop.fd()
    return poller:fd()
end

return loop
