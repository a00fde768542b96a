-- The outcome of a run: what a function of the script returned or raised, and what the queue does
-- with the key then.
local core = require "kubelua.core"
local failures = require "kubelua.failures"
local scopes = require "kubelua.scope"
local trace = require "kubelua.trace"

---@class kubelua.controller.Outcome
---@field result "done"|"after"|"paced"|"failed" see queue:done
---@field seconds number? of "after"; of "failed": the server's Retry-After
---@field message string? why it failed, or why it is done without success
---@field code string?
---@field is_bug boolean? the script raised an error, or returned a wrong value
---@field keeps boolean? of finalize: the finalizer is not removed
local outcome = {}

---@type kubelua.controller.Outcome
outcome.done = { result = "done" }

---@param message string
---@param code string?
---@param retry_after any
---@return kubelua.controller.Outcome
function outcome.failure(message, code, retry_after)
    local seconds = tonumber(retry_after)
    if seconds and (seconds ~= seconds or seconds < 0) then
        seconds = nil
    end
    return { result = "failed", message = message, code = code, seconds = seconds, keeps = true }
end

local function refuse_result(what, value)
    local kind = value == nil and "nil without a message" or "a " .. type(value)
    if type(value) == "number" then
        kind = "the number " .. tostring(value)
    end
    return { result = "failed", is_bug = true, keeps = true, message = what .. " returned " .. kind
        .. ", which has no meaning: return nothing, true or an object (done), a number of seconds "
        .. "(run again then), false and a message (not before the next event), or nil and a "
        .. "message (failed)"
    }
end

local function read_number(what, seconds)
    if seconds ~= seconds or math.abs(seconds) == math.huge then
        return refuse_result(what, seconds)
    elseif seconds > 0 then
        return { result = "after", seconds = seconds, keeps = true }
    end
    return { result = "paced", keeps = true }
end

---The outcome of what a function returned.
---@param what string of the function, for messages
---@param result any
---@param message any
---@param code any
---@param retry_after any
---@return kubelua.controller.Outcome
function outcome.of(what, result, message, code, retry_after)
    if result == nil and message ~= nil then
        if type(message) ~= "string" then
            return refuse_result(what, nil)
        end
        local known = failures.find(message)
        return outcome.failure(known and failures.tell(known) or message,
            type(code) == "string" and code or nil, retry_after)
    elseif result == false then
        return { result = "done", keeps = true,
            message = message ~= nil and tostring(message) or nil }
    elseif result == nil or result == true or core.is_object(result) then
        return outcome.done
    elseif type(result) == "number" then
        return read_number(what, result)
    end
    return refuse_result(what, result)
end

-- assert raises the message; the assert of a test framework raises a table with the message.
local function read_text(problem)
    local meta = type(problem) == "table" and getmetatable(problem)
    if type(meta) == "table" and meta.__tostring then
        return tostring(problem)
    end
    return problem
end

-- The outcome of a raised value: a failure that a call had returned, or the end of the run. nil: a
-- bug.
local function judge_error(problem)
    local has_text, text = pcall(read_text, problem)
    local known = has_text and failures.find(text)
    if known then
        return outcome.failure(failures.tell(known), known.code, known.retry_after)
    elseif problem == trace.CANCELED then
        return { result = "failed", message = "cancelled", code = "canceled", keeps = true }
    end
    return nil
end

local call_judged = trace.judged(judge_error)

local function make_outcome(what, ok, ...)
    if ok then
        return outcome.of(what, ...)
    end
    local problem = ...
    if type(problem) == "table" then
        return problem
    end
    return { result = "failed", message = problem, code = "error", is_bug = true, keeps = true }
end

---Calls a function of the script, and returns its outcome. Never raises.
---@param what string the name of the function, for messages
---@param f function
---@param ... any
---@return kubelua.controller.Outcome
function outcome.call(what, f, ...)
    scopes.here().within = f
    return make_outcome(what, call_judged(f, ...))
end

return outcome
