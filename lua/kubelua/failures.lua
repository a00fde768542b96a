-- The last failures that calls returned, by their messages: assert raises the message alone, and a
-- controller finds the code and the server's Retry-After again here.
local failures = {}

-- So many are remembered at least, and twice as many at most.
local FEW = 256

local recent, before, count = {}, {}, 0

---Remembers a failure, and returns it as it is: `return failures.note(nil, message, code)`.
---@param result nil
---@param message string
---@param code string?
---@param retry_after number?
---@return nil, string, string?, number?
function failures.note(result, message, code, retry_after)
    if count == FEW then
        recent, before, count = {}, recent, 0
    end
    count = count + 1
    recent[message] = { code = code, retry_after = retry_after }
    return result, message, code, retry_after
end

---What is known of an error, if it is the message of such a failure.
---@param problem any
---@return { code: string?, retry_after: number? }?
function failures.find(problem)
    return type(problem) == "string" and (recent[problem] or before[problem]) or nil
end

return failures
