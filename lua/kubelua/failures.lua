-- Remembers the last failures of calls by their messages. assert(call()) raises only the message; a
-- controller then finds here the code and the server's Retry-After.
local failures = {}

-- At least this many are remembered, and at most twice as many.
local FEW = 256

local recent, before, count = {}, {}, 0

local function remember_failure(message, code, retry_after)
    if count == FEW then
        recent, before, count = {}, recent, 0
    end
    count = count + 1
    recent[message] = { code = code, retry_after = retry_after }
end

---Remembers the results of a call, if they are a failure; returns them.
---@param ... any
---@return any ...
function failures.note(...)
    local result, message, code, retry_after = ...
    if result == nil and type(message) == "string" then
        remember_failure(message, code, type(retry_after) == "number" and retry_after or nil)
    end
    return ...
end

---Wraps a function so that its failures (nil, message, code, retry_after) are remembered.
---@generic F: function
---@param f F
---@return F
function failures.remembered(f)
    return function(...)
        return failures.note(f(...))
    end
end

---What is known about an error, if it is the message of such a failure; and that message. The
---assert of a test framework (luassert) puts the position in the script before it.
---@param problem any
---@return { code: string?, retry_after: number? }?, string?
function failures.find(problem)
    local message = type(problem) == "string" and problem or nil
    local known = message and (recent[message] or before[message])
    if message and not known then
        message = message:match("^[^\n]-:%d+: (.*)$")
        known = message and (recent[message] or before[message])
    end
    return known or nil, message
end

return failures
