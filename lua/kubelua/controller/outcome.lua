-- What a function of a controller returned or raised, as what becomes of its key.
local core = require "kubelua.core"
local failures = require "kubelua.failures"
local trace = require "kubelua.trace"

---@class kubelua.controller.Outcome
---@field result "done"|"after"|"paced"|"failed" see queue:done
---@field seconds number? of "after"; the server's Retry-After
---@field message string? why it failed; why it is done without success
---@field code string?
---@field is_bug boolean? the script raised an error, or returned what means nothing
---@field keeps boolean? of finalize: the finalizer stays
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

local function refuse(what, value)
    local kind = value == nil and "nil and what is no message" or "a " .. type(value)
    if type(value) == "number" then
        kind = "the number " .. tostring(value)
    end
    return { result = "failed", is_bug = true, keeps = true, message = what .. " returned " .. kind
        .. ", which means nothing: return nothing, true or an object (done), a number of seconds "
        .. "(again), false and a message (not before the next event), or nil and a message (failed)"
    }
end

local function of_number(what, seconds)
    if seconds ~= seconds or math.abs(seconds) == math.huge then
        return refuse(what, seconds)
    elseif seconds > 0 then
        return { result = "after", seconds = seconds, keeps = true }
    end
    return { result = "paced", keeps = true }
end

---What a function returned.
---@param what string of the function, for messages
---@param result any
---@param message any
---@param code any
---@param retry_after any
---@return kubelua.controller.Outcome
function outcome.of(what, result, message, code, retry_after)
    if result == nil and message ~= nil then
        if type(message) ~= "string" then
            return refuse(what, nil)
        end
        return outcome.failure(message, type(code) == "string" and code or nil, retry_after)
    elseif result == false then
        return { result = "done", keeps = true,
            message = message ~= nil and tostring(message) or nil }
    elseif result == nil or result == true or core.is_object(result) then
        return outcome.done
    elseif type(result) == "number" then
        return of_number(what, result)
    end
    return refuse(what, result)
end

-- What assert raises is the message; that of a test framework raises a table that says it.
local function text_of(problem)
    local meta = type(problem) == "table" and getmetatable(problem)
    if type(meta) == "table" and meta.__tostring then
        return tostring(problem)
    end
    return problem
end

-- What was raised: a failure that a call had returned, the end of the run, or a bug.
local function judge(problem)
    local has_text, text = pcall(text_of, problem)
    local known, message
    if has_text then
        known, message = failures.find(text)
    end
    if known then
        return outcome.failure(message, known.code, known.retry_after)
    elseif problem == trace.CANCELED then
        return { result = "failed", message = "cancelled", code = "canceled", keeps = true }
    end
    return nil
end

local function conclude(what, ok, ...)
    if ok then
        return outcome.of(what, ...)
    end
    local problem = ...
    if type(problem) == "table" then
        return problem
    end
    return { result = "failed", message = problem, code = "error", is_bug = true, keeps = true }
end

---Calls a function of the script; what came of it. Never raises.
---@param what string of the function, for messages
---@param f function
---@param ... any
---@return kubelua.controller.Outcome
function outcome.call(what, f, ...)
    return conclude(what, trace.judged(judge, f, ...))
end

return outcome
