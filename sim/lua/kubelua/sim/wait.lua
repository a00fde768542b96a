-- cluster:eventually and cluster:wait: wait for a state of a simulated cluster; if it does not
-- come, the message says what there was instead.
local conditions = require "kubelua.verbs.conditions"
local core = require "kubelua.core"
local waiting = require "kubelua.waiting"

---@class kubelua.Sim
local methods = {}

local PAUSE = 0.005

local function check_seconds(call, seconds)
    if seconds ~= nil and type(seconds) ~= "number" then
        error(call .. ": how many seconds? A number expected, not a " .. type(seconds), 3)
    end
end

---Waits until `condition()` returns a true value, and returns it. Dispatches events meanwhile.
---@param condition fun(): any
---@param seconds number? of real time; default 10
---@return any, string?, string? the value, or nil, message, "timeout"
function methods.eventually(_, condition, seconds)
    if type(condition) ~= "function" then
        error("eventually: a function expected, not a " .. type(condition), 2)
    end
    check_seconds("eventually", seconds)
    local till = core.now() + (seconds or 10)
    local value = condition()
    while not value do
        if core.now() >= till then
            return nil, "it did not happen within " .. (seconds or 10) .. " s", "timeout"
        end
        waiting.sleep(PAUSE)
        value = condition()
    end
    return value
end

---Waits until an object meets a condition.
---@param resource string|table
---@param ... any key ("namespace/name", or "name"), kubelua.WaitCondition (default: it exists),
---seconds of real time (default: 10); of an object: condition, seconds
---@return any, string?, string? the object (true if it is gone), or nil, message, "timeout"
---@overload fun(self, resource: string, key: string, condition: any, seconds: number?): any
function methods:wait(resource, ...)
    local is_object = type(resource) ~= "string"
    local key = not is_object and ... or nil
    local condition, seconds = select(is_object and 1 or 2, ...)
    if is_object and type(resource) ~= "table" and not core.is_object(resource)
        or not is_object and type(key) ~= "string" then
        error("wait: write wait(\"pods\", \"namespace/name\", condition, seconds)", 2)
    end
    check_seconds("wait", seconds)
    local holds = conditions.reader("wait", condition)
    local what = is_object and resource.kind .. " " .. resource.metadata.name
        or resource .. " " .. key
    local last, absent, why
    local is_served = false -- false: the kind is unknown so far, so nothing of it can be gone
    local value, message, code = self:eventually(function()
        local problem_code
        last, absent, problem_code = self:get(resource, key)
        if not last and problem_code ~= "not_found" and problem_code ~= "unknown_kind" then
            error("wait: " .. tostring(absent), 0)
        end
        is_served = is_served or last ~= nil or problem_code == "not_found"
        local met
        met, why = holds(last)
        return is_served and met and (last or true)
    end, seconds)
    if value then
        return value
    end
    return nil, conditions.tell(what, message, last, why, tostring(absent)), code
end

return methods
