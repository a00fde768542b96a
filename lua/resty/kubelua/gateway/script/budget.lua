-- Runs functions of tenants' scripts within limits of time and memory (lua/src/budget.c), and with
-- string methods of their own. One script runs at a time in a worker: whatever waits is done
-- outside, by budget.pause, since other requests run meanwhile.
local core = require "kubelua.core"
local strings = require "resty.kubelua.gateway.script.strings"

local begin, finish, is_over = core.budget_begin, core.budget_end, core.budget_over
local error, pcall, type = error, pcall, type

local budget = {}

core.budget_own()

local MOST_PAUSES = 1000 -- of a call of a script: each might take some unmeasured time

-- ("x"):rep(3) finds its function here, whichever environment a script has.
local methods = assert(getmetatable(""))
local OWN = methods.__index

---What a call of a script needs, and what is left of its limits.
---@class resty.kubelua.gateway.ScriptRun
---@field script resty.kubelua.gateway.Script
---@field seconds number? of CPU time that were left at the last pause
---@field bytes number?
---@field pauses integer?
---@field over "time"|"memory"|nil the limit that was passed
---@field is_stopped boolean? the script has answered: it must not go on

local current ---@type resty.kubelua.gateway.ScriptRun?

local STOP = newproxy and newproxy(false) or {} -- has no fields for a script to find

local function enter(run)
    current = run
    methods.__index = strings
    begin(run.seconds, run.bytes)
end

local function leave(run)
    run.seconds, run.bytes, run.over = finish()
    methods.__index = OWN
    current = nil
end

---The run that is in progress.
---@return any
function budget.current()
    return current
end

---Calls a function within the limits of its script. As pcall, with one result.
---@param run resty.kubelua.gateway.ScriptRun
---@param f function
---@return boolean ok
---@return any result or the error
---@return number bytes of memory that are left
function budget.call(run, f, ...)
    local limits = run.script.limits
    current = run
    methods.__index = strings
    begin(limits.seconds, limits.bytes)
    local ok, result = pcall(f, ...)
    local _, bytes, over = finish()
    methods.__index = OWN
    current = nil
    if over then
        run.over = over
    end
    return ok, result, bytes
end

local function resume(run, ok, ...)
    enter(run)
    if not ok then
        error((...), 0)
    end
    return ...
end

---Calls a function that may wait, or that is not the script's, outside of the limits.
---@param f function
---@return any ...
function budget.pause(f, ...)
    local run = current
    leave(run)
    run.pauses = (run.pauses or 0) + 1
    if run.over or run.pauses > MOST_PAUSES then
        run.seconds = 0
        return resume(run, false, "too many calls that wait")
    end
    return resume(run, pcall(f, ...))
end

---Ends the script, whatever it would do with an error.
function budget.stop()
    current.is_stopped = true
    error(STOP, 0)
end

local function pass(ok, ...)
    if not ok and (is_over() or current.is_stopped) then
        error(STOP, 0)
    end
    return ok, ...
end

---pcall for scripts: what ends a script cannot be caught.
function budget.pcall(f, ...)
    return pass(pcall(f, ...))
end

---What a script's error says. No code of the script runs for it.
---@param run resty.kubelua.gateway.ScriptRun
---@param problem any
---@param limits resty.kubelua.gateway.ScriptLimits
---@return string
function budget.describe(run, problem, limits)
    if run.over == "time" or (run.pauses or 0) > MOST_PAUSES then
        return ("has run for more than %d ms"):format(limits.milliseconds)
    elseif run.over == "memory" then
        return ("has taken more than %d MB"):format(limits.megabytes)
    elseif type(problem) == "string" then
        return problem:sub(1, 1000)
    end
    return ("error with a %s, not a text"):format(type(problem))
end

return budget
